//! Writes of a program that memory must hold after a loss of power, computed from the program and the bus traffic,
//! without the code of recovery.
//!
//! With a battery, all stores that the persist buffer or the caches have accepted are durable. At the controller, a
//! write is durable with its tuple. The chip sends the line of data and completes the tuple with a new root, since the
//! line has a new version. Lines that a renewal re-encrypts have their versions already and change no root. So each
//! line of data in a tuple that set a root is a write, in program order. The number of durable writes is at least that
//! of the returned ones and at most that of the begun ones.

use super::history::History;
use super::revival::Contents;
use super::states::{DeadMemory, WritesInMemory};
use protection::execution::Operation;
use protection::verbs::Role;
use std::collections::BTreeSet;

/// Returns the content of a history's lines after a loss of power without tampering. An attacker must not undo even a durable write
/// that has not returned.
pub fn contents(history: &History, dead: &DeadMemory) -> Contents {
    if let Some(accepted) = &dead.accepted {
        return history.content_with(accepted.iter().copied());
    }
    let WritesInMemory { least, most } = dead.progress;
    let durable = in_tuples(&history.changes.operations[..dead.point]).clamp(least, most);
    history.content_with(history.writes[..durable].iter().map(|write| (write.line, write.content)))
}

/// Counts the lines of data in tuples that have set a root.
fn in_tuples(operations: &[Operation]) -> usize {
    let (mut durable, mut open) = (0, BTreeSet::new());
    for operation in operations {
        match operation {
            Operation::Persist(Role::Data, slot, _) => drop(open.insert(*slot)),
            Operation::Complete(completion) => {
                durable += if completion.reaches_a_root() { open.len() } else { 0 };
                open.clear();
            }
            _ => {}
        }
    }
    durable
}

#[cfg(test)]
mod tests {
    use super::super::revival::Revival;
    use super::super::states::Arrivals;
    use super::super::workload::all;
    use super::*;
    use protection::planted::PlantedBug;

    /// Recovery does not use the operations before the loss, and `contents` does not use the lines that recovery reads.
    #[test]
    fn recovery_without_tampering_returns_the_content_that_the_bus_trace_shows_as_durable() {
        let (mut lost, mut later) = (0, 0);
        for (number, name) in ["plp-sp", "plp-pipelined", "plp-coalesced", "plp-sp-dbmf"].into_iter().enumerate() {
            for workload in all().into_iter().skip(number).step_by(7) {
                let history = History::of(&catalogue::design(name).unwrap(), &workload, 1, PlantedBug::NONE);
                for dead in history.left(Arrivals::Any(4)) {
                    let found = Revival::of(&history, &dead).contents(&history);
                    assert_eq!(found, Some(contents(&history, &dead)), "{name}, {workload}, at {}", dead.point);
                    let durable = in_tuples(&history.changes.operations[..dead.point]);
                    assert!((dead.progress.least..=dead.progress.most).contains(&durable), "{name}, {workload}");
                    lost += usize::from(durable < dead.progress.most);
                    later += usize::from(durable > dead.progress.least);
                }
            }
        }
        assert!(lost > 100 && later > 100, "{lost} and {later}");
    }
}
