//! Number of instructions that a core may still execute.

use std::cell::Cell;
use std::rc::Rc;

/// Instructions that the whole program may still execute, on all cores, and an earlier pause of this core.
pub(super) struct Allowance {
    left: Rc<Cell<u64>>,
    pause: u64,
}

impl Allowance {
    /// Creates an allowance without a pause.
    pub fn new(left: Rc<Cell<u64>>) -> Allowance {
        Allowance { left, pause: u64::MAX }
    }

    /// Number of instructions that the whole program may still execute.
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
