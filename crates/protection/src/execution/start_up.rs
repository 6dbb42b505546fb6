//! What a memory without time starts with: a content for each line, and which lines the chip has yet to put there.
//!
//! A line is put into memory once: by its first read, as if booting had done it, or by its first write. What an attacker makes
//! of the slot changes nothing about that; nor does it bring the first content back.

use crate::verbs::Slot;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use units::random::Random;
use units::{Line, LineAddr};

/// The content that a machine starts with.
#[derive(Clone)]
pub(super) struct StartUp {
    seed: u64,
    there: RefCell<FxHashSet<Slot>>,
}

impl StartUp {
    /// A content drawn from `seed`, of which nothing is in memory yet.
    pub fn new(seed: u64) -> StartUp {
        StartUp { seed, there: RefCell::default() }
    }

    /// What a line starts with.
    pub fn content(&self, line: LineAddr) -> Line {
        Random::for_purpose(self.seed, line.0).line()
    }

    /// Whether the line in a slot has yet to be put into memory.
    pub fn awaits(&self, slot: Slot) -> bool {
        !self.there.borrow().contains(&slot)
    }

    /// The chip puts the line in a slot into memory.
    pub fn enter(&self, slot: Slot) {
        self.there.borrow_mut().insert(slot);
    }
}
