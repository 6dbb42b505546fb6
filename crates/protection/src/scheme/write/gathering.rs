//! Writes that wait to become durable, in the order in which they came.
//!
//! Where writes are coalesced, the first of those that wait takes others with it into its tuple. A write is not taken before
//! it has its line to itself, and those that come after it are not taken before it.

use crate::planted::{Bug, Planted};
use crate::verbs::Fault;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Line, LineAddr};

/// How a write ended, once it has.
pub(super) type Fate = Rc<Cell<Option<Result<(), Fault>>>>;

/// A write that waits to become durable.
pub(super) struct Waiting {
    /// Where.
    pub line: LineAddr,
    /// What.
    pub plaintext: Line,
    /// Whether it has its line to itself, so that another write's tuple may take it.
    pub ready: Rc<Cell<bool>>,
    /// How it ended, once it has.
    pub fate: Fate,
}

impl Waiting {
    /// It ended so.
    pub(super) fn ends(&self, outcome: Result<(), Fault>) {
        self.fate.set(Some(outcome));
    }
}

/// All that wait.
#[derive(Default)]
pub(crate) struct Gathering(VecDeque<Waiting>);

impl Gathering {
    /// A write begins to wait. Returns what says that it has its line, and what will say how it ended.
    pub(super) fn enter(&mut self, line: LineAddr, plaintext: &Line) -> (Rc<Cell<bool>>, Fate) {
        let (ready, fate) = (Rc::default(), Fate::default());
        self.0.push_back(Waiting { line, plaintext: *plaintext, ready: Rc::clone(&ready), fate: fate.clone() });
        (ready, fate)
    }

    /// The writes of the next tuple, of which there may be so many.
    pub(super) fn take(&mut self, most: usize, planted: Planted) -> Vec<Waiting> {
        let unready = planted.has(Bug::UnreadyGathered);
        let ready = self.0.iter().take(most).take_while(|waiting| waiting.ready.get() || unready).count();
        self.0.drain(..ready).collect()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tuple_takes_more_lines_than_it_may_nor_any_behind_one_that_is_not_ready() {
        let mut gathering = Gathering::default();
        let ready: Vec<_> = (0..6).map(|line| gathering.enter(LineAddr(line), &[0; 64]).0).collect();
        ready.iter().enumerate().for_each(|(number, ready)| ready.set(number != 4));
        let mut taken = || gathering.take(3, Planted::NONE).iter().map(|waiting| waiting.line.0).collect::<Vec<_>>();
        assert_eq!(taken(), [0, 1, 2]);
        assert_eq!(taken(), [3], "the fifth has no line of its own yet, and the sixth came after it");
        ready[4].set(true);
        assert_eq!(taken(), [4, 5]);
        assert!(gathering.is_empty());
    }
}
