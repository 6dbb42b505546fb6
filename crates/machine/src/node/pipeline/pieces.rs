//! Counts the pieces of a store that was cut at the boundaries of short lines as one store. The store is complete with
//! its last piece.

use crate::node::interface::Touch;
use crate::node::lines::Cutter;
use std::collections::VecDeque;

/// Number of pieces of each announced store of the program; `1` for an uncut store.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Pieces(VecDeque<u8>);

impl Pieces {
    /// Announces that stores among these touches will be cut.
    pub(in crate::node) fn expect(&mut self, touches: &[Touch]) {
        self.0.extend(touches.iter().filter(|touch| touch.store).map(Cutter::pieces));
    }

    /// Counts the next piece. Returns true if it is the last or only one of its store.
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
