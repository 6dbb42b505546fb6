//! Table of the contexts that are outside the chip, by their numbers.
//!
//! The paper encrypts a context, but does not mention a replay of an old context by the operating system. An old
//! context, together with the memory of its time, which matches its root, would roll the whole process back. So each
//! context leaves the chip under a new number. The processor keeps the numbers of the contexts outside, and a context
//! can return only once.

use crate::error::ContextError;
use crate::planted::{Bug, PlantedContextBug};
use std::collections::BTreeSet;

/// Numbers of the contexts outside, and the next one.
#[derive(Clone)]
pub(crate) struct OutsideTable {
    numbers: BTreeSet<u64>,
    entries: usize,
    next: u64,
    planted: PlantedContextBug,
}

impl OutsideTable {
    /// Returns an empty table with this many entries.
    pub fn new(entries: usize, planted: PlantedContextBug) -> OutsideTable {
        OutsideTable { numbers: BTreeSet::new(), entries, next: 0, planted }
    }

    /// Numbers in the table.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.numbers.iter().copied()
    }

    /// Takes an entry for a context that leaves, and returns its number.
    pub fn enter(&mut self) -> Result<u64, ContextError> {
        if self.numbers.len() >= self.entries {
            let forgets = self.planted.has(Bug::TableForgets) && self.numbers.pop_first().is_some();
            if !forgets {
                return Err(ContextError::TableFull { entries: self.entries });
            }
        }
        let mut number = self.next;
        if self.planted.has(Bug::NumberReused) {
            number = (0..self.next).find(|number| !self.numbers.contains(number)).unwrap_or(number);
        }
        if number == self.next {
            self.next = number.checked_add(1).ok_or(ContextError::NumbersExhausted)?;
        }
        self.numbers.insert(number);
        Ok(number)
    }

    /// Frees the entry of a context that returns.
    pub fn remove(&mut self, number: u64) -> Result<(), ContextError> {
        if self.planted.has(Bug::OtherNumberTaken) {
            let known = self.numbers.contains(&number) && self.numbers.pop_first().is_some();
            return if known { Ok(()) } else { Err(ContextError::NotOutside { number }) };
        }
        let keeps = self.planted.has(Bug::AcceptedTwice) && self.numbers.contains(&number);
        let known = keeps || self.numbers.remove(&number) || self.planted.has(Bug::NumberUnchecked);
        if known { Ok(()) } else { Err(ContextError::NotOutside { number }) }
    }

    /// Frees the entry of a context for good: an import of it is refused from then on.
    pub fn forget(&mut self, number: u64) -> Result<(), ContextError> {
        if self.numbers.remove(&number) { Ok(()) } else { Err(ContextError::NotOutside { number }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_exported_contexts_refuses_new_ones_when_its_numbers_are_exhausted() {
        let mut table = OutsideTable::new(4, PlantedContextBug::NONE);
        table.next = u64::MAX - 1;
        assert_eq!(table.enter(), Ok(u64::MAX - 1));
        for _ in 0..2 {
            assert_eq!(table.enter(), Err(ContextError::NumbersExhausted));
        }
        assert!(table.numbers().eq([u64::MAX - 1]));
    }
}
