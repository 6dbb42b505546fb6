//! Observers of a memory that is behind what a persist buffer has: blocked until it is not, or warned.

use crate::buffered::{Powered, schemes};
use casemate_protection::execution::run_now;
use casemate_protection::scheme::{Observers, PersistBuffer, Sight};

/// Lines with a store each, of which the first have left.
const LINES: [u64; 4] = [3, 4, 900, 901];

impl Powered {
    fn admits(&self, observers: Observers) -> Sight {
        run_now(PersistBuffer::of(&self.scheme).admit(&self.verbs, observers))
    }

    /// Whether a copy of memory and registers, as they are now, has every store.
    fn memory_has_all(&self) -> bool {
        let (copy, refused) = self.revived(&self.image(), &self.memory().registers());
        refused.is_none() && LINES.iter().all(|line| copy.read(*line) == Ok([*line as u8; 64]))
    }
}

#[test]
fn an_observer_is_blocked_until_memory_by_itself_has_every_store_and_the_machine_goes_on() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        LINES.iter().for_each(|line| machine.accept(*line, *line as u8));
        machine.drain(LINES[0]);
        assert!(!machine.memory_has_all(), "{:?}", parts.persistence);
        assert_eq!(machine.admits(Observers::Blocked), Sight::Consistent, "{:?}", parts.persistence);
        assert!(machine.memory_has_all(), "{:?}", parts.persistence);
        // Another application goes on over the same lines, and then power fails.
        LINES.iter().for_each(|line| machine.accept(*line, 77));
        let (after, refused) = machine.after_a_loss();
        assert_eq!((refused, after.read(LINES[2])), (None, Ok([77; 64])), "{:?}", parts.persistence);
        assert_eq!(after.memory().ledger().reuse(), None, "{:?}", parts.persistence);
    }
}

#[test]
fn an_observer_is_warned_exactly_as_long_as_memory_by_itself_lacks_stores() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        LINES.iter().for_each(|line| machine.accept(*line, *line as u8));
        for left in 0..=LINES.len() {
            let entries = LINES.len() - left;
            let expected = if entries == 0 { Sight::Consistent } else { Sight::Behind { entries } };
            assert_eq!(machine.admits(Observers::Warned), expected, "{:?}", parts.persistence);
            assert_eq!(machine.memory_has_all(), expected == Sight::Consistent, "{:?}", parts.persistence);
            LINES.get(left).into_iter().for_each(|line| machine.drain(*line));
        }
    }
}
