//! The instructions that a thread may execute before it looks at the ring again, and those that it has executed.

use wire::ring::{Phase, Ring};

/// Instructions that a thread has drawn, and its clock: the number of instructions that it has executed, plus its
/// creator's.
pub struct Quota {
    phase: Phase,
    /// Drawn instructions that are left; negative if the last block has exceeded them.
    left: i64,
    /// Clock of the thread when no drawn instruction is left.
    end: i64,
}

impl Quota {
    /// No drawn instructions, at clock zero.
    pub fn new() -> Quota {
        Quota { phase: Phase::Outside, left: 0, end: 0 }
    }

    /// Returns true if the thread has executed all drawn instructions.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.left <= 0
    }

    /// Counts instructions that the thread has executed.
    #[inline]
    pub fn spend(&mut self, instructions: u16) {
        self.left -= i64::from(instructions);
    }

    /// The clock of the thread.
    pub fn clock(&self) -> u64 {
        (self.end - self.left).max(0) as u64
    }

    /// Puts the clock forward to a clock of another thread.
    pub fn set_clock(&mut self, clock: u64) {
        self.end = (clock as i64).saturating_add(self.left);
    }

    /// Treatment of the instructions.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Adds drawn instructions. Those that a thread has executed beyond the last ones count if the treatment is equal.
    pub fn add(&mut self, count: u64, phase: Phase) {
        let clock = self.clock();
        self.left = if self.phase == phase { self.left + count as i64 } else { count as i64 };
        self.phase = phase;
        self.set_clock(clock);
    }

    /// Gives the remaining drawn instructions back, so that the next block draws again.
    pub fn give_back(&mut self, ring: &Ring) {
        if self.left > 0 && matches!(self.phase, Phase::Pass | Phase::Record) {
            ring.give_back(self.left as u64);
        }
        let clock = self.clock();
        self.left = 0;
        self.set_clock(clock);
    }

    /// Lets the thread execute instructions for ever, unrecorded.
    pub fn finish(&mut self) {
        let clock = self.clock();
        (self.phase, self.left) = (Phase::Done, i64::MAX >> 1);
        self.set_clock(clock);
    }
}
