//! Start-up content of a memory without time: a content for each line, and the set of lines that are already in memory.
//!
//! A line is put into memory once: by its first read, as if booting had done it, or by its first write. An attacker's
//! change of the slot does not alter this, and does not restore the first content.

use crate::verbs::Slot;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use units::random::Random;
use units::{Line, LineAddr};

/// The start-up content of a machine.
#[derive(Clone)]
pub(super) struct StartUp {
    seed: u64,
    there: RefCell<FxHashSet<Slot>>,
}

impl StartUp {
    /// Returns a start-up content drawn from `seed`; memory holds no line of it yet.
    pub fn new(seed: u64) -> StartUp {
        StartUp { seed, there: RefCell::default() }
    }

    /// Returns the start-up content of a line.
    pub fn content(&self, line: LineAddr) -> Line {
        Random::for_purpose(self.seed, line.0).line()
    }

    /// Returns whether the line in a slot has yet to be put into memory.
    pub fn awaits(&self, slot: Slot) -> bool {
        !self.there.borrow().contains(&slot)
    }

    /// Notes that the chip puts the line in a slot into memory.
    pub fn enter(&self, slot: Slot) {
        self.there.borrow_mut().insert(slot);
    }
}
