//! Instructions that a program may hand out to a core.

use std::cell::Cell;
use std::rc::Rc;

/// Instructions left of the whole program, on all cores, and a pause of this core before.
pub(super) struct Allowance {
    left: Rc<Cell<u64>>,
    pause: u64,
}

impl Allowance {
    /// Creates an allowance without a pause.
    pub fn new(left: Rc<Cell<u64>>) -> Allowance {
        Allowance { left, pause: u64::MAX }
    }

    /// Instructions that the whole program may still hand out.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Subtracts instructions from the allowance.
    pub fn use_up(&self, instructions: u64) {
        self.left.set(self.left.get() - instructions);
    }

    /// Pauses this core after this many instructions, counted from the beginning.
    pub fn pause_at(&mut self, instructions: u64) {
        self.pause = instructions;
    }

    /// True if this core pauses after this many instructions.
    pub fn pauses_at(&self, instructions: u64) -> bool {
        instructions >= self.pause
    }
}
