//! Which of a program's writes a dead memory has to hold: what the program and the bus say of that, whatever recovery makes of it.
//!
//! A buffer or caches with a battery have all that they accepted. Behind the controller a write is durable with its tuple: the chip
//! sends the line of data and completes the tuple, and by a new root, since the line's version is a new one. What a renewal encrypts
//! again has its versions already, and changes no root. So the lines of data in tuples that have set a root are writes, in the
//! order of the program, as many as that. No fewer than had returned can be durable, and no more than had begun.

use super::history::History;
use super::revival::Contents;
use super::states::DeadMemory;
use protection::execution::Operation;
use protection::verbs::Role;
use std::collections::BTreeSet;

/// What the lines of a history hold when power has failed, if nobody tampers. Also a write that is durable and has not returned is
/// not an attacker's to undo.
pub fn contents(history: &History, dead: &DeadMemory) -> Contents {
    if let Some(accepted) = &dead.accepted {
        return history.content_with(accepted.iter().copied());
    }
    let (returned, begun) = dead.progress;
    let durable = in_tuples(&history.changes.operations[..dead.point]).clamp(returned, begun);
    history.content_with(history.writes[..durable].iter().map(|write| (write.line, write.content)))
}

/// How many lines of data were in tuples that have set a root.
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
    use protection::planted::Planted;

    /// Recovery knows nothing of what was asked of memory before the loss, and this nothing of what recovery reads.
    #[test]
    fn what_recovery_finds_in_a_memory_that_nobody_touched_is_what_the_bus_says_was_durable() {
        let (mut lost, mut ahead) = (0, 0);
        for (number, name) in ["plp-sp", "plp-pipelined", "plp-coalesced", "plp-sp-dbmf"].into_iter().enumerate() {
            for workload in all().into_iter().skip(number).step_by(7) {
                let history = History::of(&catalogue::design(name).unwrap(), &workload, 1, Planted::NONE);
                for dead in history.left(Arrivals::Any(4)) {
                    let found = Revival::of(&history, &dead).contents(&history);
                    assert_eq!(found, Some(contents(&history, &dead)), "{name}, {workload}, at {}", dead.point);
                    let durable = in_tuples(&history.changes.operations[..dead.point]);
                    assert!((dead.progress.0..=dead.progress.1).contains(&durable), "{name}, {workload}");
                    lost += usize::from(durable < dead.progress.1);
                    ahead += usize::from(durable > dead.progress.0);
                }
            }
        }
        assert!(lost > 100 && ahead > 100, "{lost} and {ahead}");
    }
}
