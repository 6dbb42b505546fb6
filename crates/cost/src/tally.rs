//! What a machine that drains does, counted as its scheme asks for it.

use crate::operations::{Moved, Operations};
use protection::execution::{Keep, Operation, Piece};
use protection::verbs::{Purpose, Role};
use std::cell::Cell;
use units::{LINE_BYTES, Time};

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// What an operation of a scheme adds, where `moved` is what a line of data takes along from its entry of the buffer.
pub fn work(operation: &Operation, moved: Operations) -> Operations {
    let none = Operations::default();
    match operation {
        Operation::Fetch(..) => Operations { fetched_lines: 1, ..none },
        Operation::Store(Role::Data, ..) | Operation::Persist(Role::Data, ..) => moved,
        Operation::Store(..) | Operation::Persist(..) => {
            Operations { moved: Moved { from_controller_bits: LINE_BITS, ..none.moved }, ..none }
        }
        Operation::PersistPart(.., bits) => {
            Operations { moved: Moved { from_controller_bits: (*bits).into(), ..none.moved }, ..none }
        }
        // One pad for a line, however many blocks. The blocks of a tag are the tag's.
        Operation::Pad(_, blocks) if blocks.purpose != Purpose::Tag => Operations { pads: 1, ..none },
        Operation::Mac | Operation::Hash => Operations { hashed_lines: 1, ..none },
        _ => none,
    }
}

/// Counts operations, and keeps nothing else of them.
pub(crate) struct Tally {
    moved: Operations,
    counted: Cell<Operations>,
}

impl Tally {
    /// Nothing so far, where a line of data takes this along from its entry.
    pub fn new(moved: Operations) -> Tally {
        Tally { moved, counted: Cell::default() }
    }

    /// What was counted; asking forgets it.
    pub fn take(&self) -> Operations {
        self.counted.take()
    }
}

impl Keep for Tally {
    fn operation(&self, operation: impl FnOnce() -> Operation) {
        self.counted.set(self.counted.get() + work(&operation(), self.moved));
    }

    fn span(&self, _: Time, _: Time, _: impl FnOnce() -> Piece) {}
}
