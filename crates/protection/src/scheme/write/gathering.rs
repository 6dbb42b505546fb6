//! Writes that wait to become durable, in the order of their arrival.
//!
//! If writes are coalesced, the tuple of the first waiting write includes later writes. A tuple includes a write only
//! after the write holds the lock of its line, and never includes a later write before an earlier one.

use crate::planted::{Bug, PlantedBug};
use crate::verbs::Fault;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Line, LineAddr};

/// Outcome of a write, once the write has ended.
pub(super) type Fate = Rc<Cell<Option<Result<(), Fault>>>>;

/// A write that waits to become durable.
pub(super) struct GatheredWrite {
    /// Address of the line.
    pub line: LineAddr,
    /// Plaintext to be written.
    pub plaintext: Line,
    /// True once the write holds the lock of its line, so that the tuple of another write may include it.
    pub ready: Rc<Cell<bool>>,
    /// Outcome of the write, once it has ended.
    pub fate: Fate,
}

impl GatheredWrite {
    /// Sets the outcome of the write.
    pub(super) fn ends(&self, outcome: Result<(), Fault>) {
        self.fate.set(Some(outcome));
    }
}

/// Queue of all waiting writes.
#[derive(Default)]
pub(crate) struct Gathering(VecDeque<GatheredWrite>);

impl Gathering {
    /// Adds a write to the queue. Returns its `ready` flag, for the caller to set, and the cell of its outcome.
    pub(super) fn enter(&mut self, line: LineAddr, plaintext: &Line) -> (Rc<Cell<bool>>, Fate) {
        let (ready, fate) = (Rc::default(), Fate::default());
        self.0.push_back(GatheredWrite { line, plaintext: *plaintext, ready: Rc::clone(&ready), fate: fate.clone() });
        (ready, fate)
    }

    /// Removes the writes of the next tuple, at most `most` of them.
    pub(super) fn take(&mut self, most: usize, planted: PlantedBug) -> Vec<GatheredWrite> {
        let unready = planted.has(Bug::UnreadyGathered);
        let ready = self.0.iter().take(most).take_while(|waiting| waiting.ready.get() || unready).count();
        self.0.drain(..ready).collect()
    }

    /// Returns true if no write waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coalesced_tuple_gathers_at_most_its_limit_of_ready_lines_in_order() {
        let mut gathering = Gathering::default();
        let ready: Vec<_> = (0..6).map(|line| gathering.enter(LineAddr(line), &[0; 64]).0).collect();
        ready.iter().enumerate().for_each(|(number, ready)| ready.set(number != 4));
        let mut taken = || gathering.take(3, PlantedBug::NONE).iter().map(|waiting| waiting.line.0).collect::<Vec<_>>();
        assert_eq!(taken(), [0, 1, 2]);
        assert_eq!(taken(), [3], "the fifth has no line of its own yet, and the sixth came after it");
        ready[4].set(true);
        assert_eq!(taken(), [4, 5]);
        assert!(gathering.is_empty());
    }
}
