//! Stores that were cut at the ends of short lines, counted as the one that the program has: when its last piece comes.

use crate::node::interface::Touch;
use crate::node::lines::Cutter;
use std::collections::VecDeque;

/// Into how many stores of the queue each store of the program was cut, where they are.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Pieces(VecDeque<u8>);

impl Pieces {
    /// Stores among these touches are about to be cut.
    pub(in crate::node) fn expect(&mut self, touches: &[Touch]) {
        self.0.extend(touches.iter().filter(|touch| touch.store).map(Cutter::pieces));
    }

    /// The next piece comes: whether it is the last or only one of its store.
    pub(in crate::node) fn is_whole(&mut self) -> bool {
        match self.0.front_mut() {
            Some(pieces) if *pieces > 1 => {
                *pieces -= 1;
                false
            }
            _ => {
                self.0.pop_front();
                true
            }
        }
    }
}
