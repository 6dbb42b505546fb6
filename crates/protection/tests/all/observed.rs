//! Observers of a memory that lacks stores of the persist buffer: they are blocked until the buffer is drained, or
//! warned.

use crate::buffered::{Powered, schemes};
use casemate_protection::execution::run_now;
use casemate_protection::scheme::{ObservedState, Observers, PersistBufferHandle};
use casemate_protection::verbs::Untrusted;
use units::LineAddr;

/// Lines with one store each. The tests drain the first of them before an observer arrives.
const LINES: [u64; 4] = [3, 4, 900, 901];

impl Powered {
    fn admits(&self, observers: Observers) -> ObservedState {
        run_now(PersistBufferHandle::of(&self.scheme).admit(&self.recorded.verbs(), observers))
    }

    /// Returns true if a copy of memory and registers has every store.
    fn memory_has_all(&self) -> bool {
        let (copy, refused) = self.revived(&self.image(), &self.memory().registers());
        refused.is_none() && LINES.iter().all(|line| copy.read(*line) == Ok([*line as u8; 64]))
    }
}

#[test]
fn an_observer_is_blocked_until_all_persist_buffer_entries_are_drained() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        LINES.iter().for_each(|line| machine.accept(*line, *line as u8));
        machine.drain(LINES[0]);
        assert!(!machine.memory_has_all(), "{:?}", parts.persistence);
        assert_eq!(machine.admits(Observers::Blocked), ObservedState::Consistent, "{:?}", parts.persistence);
        assert!(machine.memory_has_all(), "{:?}", parts.persistence);
        // Another application writes the same lines, and then power fails.
        LINES.iter().for_each(|line| machine.accept(*line, 77));
        let (after, refused) = machine.after_a_loss();
        assert_eq!((refused, after.read(LINES[2])), (None, Ok([77; 64])), "{:?}", parts.persistence);
        assert_eq!(after.memory().ledger().reuse(), None, "{:?}", parts.persistence);
    }
}

#[test]
fn an_observer_is_warned_exactly_while_the_persist_buffer_has_entries() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        LINES.iter().for_each(|line| machine.accept(*line, *line as u8));
        for left in 0..=LINES.len() {
            let entries = LINES.len() - left;
            let expected = if entries == 0 { ObservedState::Consistent } else { ObservedState::Behind { entries } };
            assert_eq!(machine.admits(Observers::Warned), expected, "{:?}", parts.persistence);
            assert_eq!(machine.memory_has_all(), expected == ObservedState::Consistent, "{:?}", parts.persistence);
            LINES.get(left).into_iter().for_each(|line| machine.drain(*line));
        }
    }
}

/// The entry cannot leave because memory was forged. Memory stays behind, and the observer is warned.
#[test]
fn an_observer_is_warned_if_tampering_prevents_the_persist_buffer_drain() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        machine.accept(LINES[2], 1);
        machine.drain(LINES[2]);
        run_now(machine.scheme.flush(&machine.recorded.verbs()));
        let wiped = machine.image().into_iter().map(|(slot, _)| slot);
        wiped.for_each(|slot| machine.memory().media.borrow_mut().store(slot, Untrusted::with([7; 64], 7)));
        run_now(PersistBufferHandle::of(&machine.scheme).accept(
            &machine.recorded.verbs(),
            LineAddr(LINES[3]),
            &[2; 64],
        ));
        let sight = machine.admits(Observers::Blocked);
        assert!(matches!(sight, ObservedState::Behind { .. }), "{sight:?}: {:?}", parts.persistence);
        assert!(machine.memory().take_fault().is_some(), "{:?}", parts.persistence);
    }
}
