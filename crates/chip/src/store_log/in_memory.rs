//! Lines that memory had before a loss of power, apart from stores: lines that it has returned, lines that the kernel
//! has changed, and lines that it booted with zeros.

use rustc_hash::FxHashSet;
use units::LineAddr;

/// A line in memory before the loss.
#[derive(Clone, Copy, Debug)]
pub struct LineInMemory {
    /// True if memory certainly has a change from outside, or later content.
    pub is_changed: bool,
    /// True if memory had the line: a program has read it there, or memory has a change from outside.
    pub is_there: bool,
    /// True if memory may still have the zeros with which it booted the line before the recording showed its content.
    /// The program has never seen these zeros.
    pub is_guessed: bool,
}

/// Lines that memory had, each for a reason.
#[derive(Default)]
pub(crate) struct LinesInMemory {
    changed: FxHashSet<LineAddr>,
    returned: FxHashSet<LineAddr>,
    guessed: FxHashSet<LineAddr>,
}

impl LinesInMemory {
    /// Notes that memory has accepted a change of a line from outside.
    pub fn changed(&mut self, line: LineAddr) {
        self.changed.insert(line);
    }

    /// Notes that a line is no longer persistent: the account does not contain later stores to it.
    pub fn no_longer_persistent(&mut self, line: LineAddr) {
        self.changed.remove(&line);
    }

    /// Notes that memory has returned a line.
    pub fn returned(&mut self, line: LineAddr) {
        self.returned.insert(line);
    }

    /// Notes that memory boots with zeros for a line that no program has shown.
    pub fn guessed(&mut self, line: LineAddr) {
        self.guessed.insert(line);
    }

    /// Returns the state of a line.
    pub fn of(&self, line: LineAddr) -> LineInMemory {
        let is_changed = self.changed.contains(&line);
        let is_there = is_changed || self.returned.contains(&line);
        let is_guessed = !is_changed && self.guessed.contains(&line);
        LineInMemory { is_changed, is_there, is_guessed }
    }
}
