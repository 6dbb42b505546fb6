//! Encryption counters: how versions of lines are numbered and packed.
//!
//! # Contract
//! * Lines that share a line of counters form a *group*; [`Counters::group`] and [`Counters::position`] say which.
//! * [`Counters::advance`] either moves one counter to a value that its line never had, or changes nothing and reports
//!   [`Overflow`]. After an overflow, [`Counters::renew`] gives every line of the group a value that it never had, so
//!   the whole group must be re-encrypted.

mod split64;

use crate::planted::{Bug, Planted};
use units::{Line, LineAddr};

/// The version of one line, in two parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Counter {
    /// Shared by the group.
    pub major: u64,
    /// The line's own.
    pub minor: u8,
}

/// The counter is at its end: the group must be renewed and re-encrypted first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

/// How counters are organised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Organisation {
    /// No counters at all.
    None,
    /// SC-64, the classic leaf of a Bonsai tree: a 64-bit major and sixty-four 7-bit minors in one line.
    Split64,
}

/// The counter part of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    organisation: Organisation,
    planted: Planted,
}

impl Counters {
    /// Counters organised so.
    pub fn new(organisation: Organisation, planted: Planted) -> Counters {
        Counters { organisation, planted }
    }

    /// Whether there are any.
    pub fn exist(&self) -> bool {
        self.organisation != Organisation::None
    }

    /// Lines in a group; without counters every line stands for itself.
    pub fn lines_per_group(&self) -> u64 {
        match self.organisation {
            Organisation::None => 1,
            Organisation::Split64 => split64::LINES,
        }
    }

    /// The group of a line: also the index of its line of counters.
    pub fn group(&self, line: LineAddr) -> u64 {
        line.0 / self.lines_per_group()
    }

    /// The position of a line in its group.
    pub fn position(&self, line: LineAddr) -> usize {
        (line.0 % self.lines_per_group()) as usize
    }

    /// All lines of a group.
    pub fn lines(&self, group: u64) -> impl Iterator<Item = LineAddr> + use<> {
        let first = group * self.lines_per_group();
        (first..first + self.lines_per_group()).map(LineAddr)
    }

    /// The counter at a position.
    pub fn read(&self, counters: &Line, position: usize) -> Counter {
        match self.organisation {
            Organisation::None => Counter::default(),
            Organisation::Split64 => split64::read(counters, position),
        }
    }

    /// Moves the counter at a position on by one.
    pub fn advance(&self, counters: &mut Line, position: usize) -> Result<Counter, Overflow> {
        if self.planted.has(Bug::CounterStandsStill) {
            return Ok(self.read(counters, position));
        }
        match self.organisation {
            Organisation::None => Ok(Counter::default()),
            Organisation::Split64 => split64::advance(counters, position, self.planted),
        }
    }

    /// The counters of the group after an overflow.
    pub fn renew(&self, counters: &Line) -> Line {
        match self.organisation {
            Organisation::None => *counters,
            Organisation::Split64 => split64::renew(counters, self.planted),
        }
    }
}
