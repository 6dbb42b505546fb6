//! Encryption counters: how the versions of lines are numbered and packed.
//!
//! # Contract
//! A *line of counters* has a counter for each of its *positions*: data lines, which then form a *group*
//! ([`Counters::group`], [`Counters::position`]), or the children of a tree node. The other functions here do not know
//! which.
//! * What counts is the *effective* counter of a position, one number of at most 72 bits. [`Counters::advance`] changes that
//!   of one position to a greater one and no other, though it may write the line another way. Or it changes nothing and
//!   reports [`Overflow`].
//! * After [`Overflow::Renew`], [`Counters::renew`] gives the written position a value that it never had, every other
//!   position of the reported range a value that it never had or the one that it has, and changes none outside. All of the
//!   range must then be re-encrypted. Most organisations count on; one draws its values, and never had them but by chance.
//! * Some organisations leave room for a MAC in the line. Counters never touch it, nor it the counters.
//! * Any 512 bits are a line of counters: memory is the attacker's, and a design may have nothing that checks it.

mod bits;
mod monolithic;
mod morphable;
mod page;
mod random;
mod split;
mod steady;

use crate::planted::{Bug, Planted};
use crate::slot::Part;
use crypto::COUNTER_BITS;
use serde::{Deserialize, Serialize};
pub use split::Split;
use std::ops::Range;
pub use steady::Steady;
use units::{Line, LineAddr, ZERO_LINE};

/// The effective counter of one line: how often it was written, or more. Below 2^[`COUNTER_BITS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Counter(pub u128);

/// A counter has come to an end; nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// These positions must be renewed and re-encrypted together.
    Renew {
        /// The written position is among them.
        positions: Range<usize>,
    },
    /// The counter is at its full width: memory needs a new key.
    Exhausted,
}

/// Where a long life brings counters: states that no test can wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    /// A few writes before the next renewal. Where nothing is ever renewed, new.
    BeforeRenewal,
    /// A few writes before the full width.
    BeforeExhaustion,
}

/// How old counters are when a machine begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartingAge {
    /// Never written.
    #[default]
    New,
    /// At a moment drawn evenly from a long life, for each group by itself ([`Steady`]).
    Steady,
}

/// Writes of one position that are left at most before what its [`Age`] says.
pub const WRITES_LEFT: u64 = 8;

/// What one more write of a position makes of a line of counters.
enum Next {
    /// This line, in which no other position has another effective counter.
    Advanced(Line),
    /// This line, in which these positions are renewed.
    Renewed(Line, Range<usize>),
    /// Nothing: the counter is at its full width.
    Exhausted,
}

/// How counters are organised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Organisation {
    /// No counters at all.
    None,
    /// Eight 56-bit counters and a 56-bit MAC.
    Monolithic,
    /// A major counter and a minor one for each position.
    Split(Split),
    /// 128 counters in whichever of two formats suits them.
    Morphable,
    /// A number drawn for a page, and a mark for each of its lines.
    Page,
    /// Eight 64-bit counters that begin with a random number each.
    Random,
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

    /// Whether a renewal draws counters at random: then they never come back, but need not rise.
    pub fn are_drawn(&self) -> bool {
        matches!(self.organisation, Organisation::Page)
    }

    /// Whether there are renewals: of counters that share nothing there are none.
    pub fn are_renewed(&self) -> bool {
        !matches!(self.organisation, Organisation::None | Organisation::Monolithic | Organisation::Random)
    }

    /// Whether there are any.
    pub fn exist(&self) -> bool {
        self.organisation != Organisation::None
    }

    /// Whether a counter must be decoded before it is known. Where a morphable minor lies and how wide it is depends
    /// on which others are in use, and then majors are added (EMCC, section V). All others are cut out at a fixed
    /// position, and a split one is its major and its minor side by side, with nothing to add.
    pub fn are_coded(&self) -> bool {
        matches!(self.organisation, Organisation::Morphable)
    }

    /// Positions that a line of counters counts for, which is lines in a group and children of a node; without counters
    /// every line stands for itself.
    pub fn lines_per_group(&self) -> u64 {
        match &self.organisation {
            Organisation::None => 1,
            Organisation::Monolithic => monolithic::POSITIONS as u64,
            Organisation::Split(split) => split.positions() as u64,
            Organisation::Morphable => morphable::POSITIONS as u64,
            Organisation::Page => page::POSITIONS as u64,
            Organisation::Random => random::POSITIONS as u64,
        }
    }

    /// The group of a line: also the index of its line of counters.
    pub fn group(&self, line: LineAddr) -> u64 {
        (line.0 + u64::from(self.planted.has(Bug::GroupOffByOne))) / self.lines_per_group()
    }

    /// The position of a line in its group.
    pub fn position(&self, line: LineAddr) -> usize {
        let positions = self.lines_per_group();
        (line.0 % if self.planted.has(Bug::PositionTruncated) { positions / 2 } else { positions }) as usize
    }

    /// The lines at some positions of a group.
    pub fn lines(&self, group: u64, positions: &Range<usize>) -> impl Iterator<Item = LineAddr> + use<> {
        let first = group * self.lines_per_group();
        positions.clone().map(move |position| LineAddr(first + position as u64))
    }

    /// The counter at a position.
    pub fn read(&self, counters: &Line, position: usize) -> Counter {
        Counter(match &self.organisation {
            Organisation::None => 0,
            Organisation::Monolithic => monolithic::read(counters, position),
            Organisation::Split(split) => split.read(counters, position, self.planted),
            Organisation::Morphable => morphable::read(counters, position),
            Organisation::Page => page::read(counters, position),
            Organisation::Random => random::read(counters, position),
        })
    }

    /// The bits of a line of counters that one position alone has, when its counter is this; nothing of organisations whose
    /// positions share more than a major.
    pub fn part(&self, position: usize, counter: Counter) -> Option<Part> {
        let (start, width) = match &self.organisation {
            Organisation::Monolithic => monolithic::field(position),
            Organisation::Split(split) => split.field(position),
            _ => return None,
        };
        let (mut mask, mut content) = (ZERO_LINE, ZERO_LINE);
        bits::set(&mut mask, start, width, bits::max(width));
        bits::set(&mut content, start, width, counter.0 as u64 & bits::max(width));
        Some(Part::of(content, mask))
    }

    /// Moves the counter at a position on.
    ///
    /// # Errors
    /// If that cannot be done without changing the counters of others, or not at all; then nothing changes.
    pub fn advance(&self, counters: &mut Line, position: usize) -> Result<Counter, Overflow> {
        self.advance_drawing(counters, position, || 0)
    }

    /// The same, where a counter that begins with a random number `draw`s it.
    ///
    /// # Errors
    /// As [`Counters::advance`].
    pub fn advance_drawing(
        &self,
        counters: &mut Line,
        position: usize,
        draw: impl FnOnce() -> u64,
    ) -> Result<Counter, Overflow> {
        if self.planted.has(Bug::CounterStandsStill) {
            return Ok(self.read(counters, position));
        }
        let begins = self.organisation == Organisation::Random && self.read(counters, position).0 == 0;
        match self.next(counters, position, if begins { draw() } else { 0 }) {
            Next::Advanced(next) => *counters = next,
            Next::Renewed(_, positions) => return Err(Overflow::Renew { positions }),
            Next::Exhausted => return Err(Overflow::Exhausted),
        }
        Ok(self.read(counters, position))
    }

    /// The line of counters that follows an overflow at the position `written`. `drawn` is a random number, for those that
    /// do not count on.
    pub fn renew(&self, counters: &Line, written: usize, overflow: &Overflow, drawn: u64) -> Line {
        match (overflow, self.next(counters, written, drawn)) {
            (Overflow::Exhausted, _) | (_, Next::Exhausted) => *counters,
            (Overflow::Renew { .. }, Next::Renewed(next, _) | Next::Advanced(next)) => next,
        }
    }

    /// The line of counters that writes of an honest life can bring about, at this age.
    pub fn aged(&self, age: Age) -> Line {
        match &self.organisation {
            Organisation::None => units::ZERO_LINE,
            Organisation::Monolithic => monolithic::aged(age),
            Organisation::Split(split) => split.aged(age),
            Organisation::Morphable => morphable::aged(age),
            Organisation::Page => page::aged(age),
            Organisation::Random => random::aged(age),
        }
    }

    /// A line of counters after some more writes of one position and the renewal that may follow.
    fn lived_on(&self, counters: &Line, position: usize, drawn: u64) -> Line {
        match self.burst(counters, position, drawn) {
            Next::Advanced(next) | Next::Renewed(next, _) => next,
            Next::Exhausted => *counters,
        }
    }

    /// What some more writes of one position make of a line of counters: one, but where minors are wide as many as bring
    /// them on by about as much of their range.
    fn burst(&self, counters: &Line, position: usize, drawn: u64) -> Next {
        match &self.organisation {
            Organisation::Split(split) => split.after(counters, position, split.burst(), self.planted),
            _ => self.next(counters, position, drawn),
        }
    }

    fn next(&self, counters: &Line, position: usize, drawn: u64) -> Next {
        match &self.organisation {
            Organisation::None => Next::Advanced(*counters),
            Organisation::Monolithic => monolithic::next(counters, position, self.planted),
            Organisation::Split(split) => split.after(counters, position, 1, self.planted),
            Organisation::Morphable => morphable::next(counters, position, self.planted),
            Organisation::Page => page::next(counters, position, drawn, self.planted),
            Organisation::Random => random::next(counters, position, drawn, self.planted),
        }
    }

    /// Bits of the MAC that the organisation leaves room for in a line of counters; 0 if it does not.
    pub fn embedded_mac_bits(&self) -> u32 {
        self.mac_field().1
    }

    /// The MAC in a line of counters; 0 if there is no room for one.
    pub fn embedded_mac(&self, counters: &Line) -> u64 {
        match self.mac_field() {
            (_, 0) => 0,
            (start, width) => bits::get(counters, start, width),
        }
    }

    /// Changes the MAC in a line of counters; cuts it to the room there is.
    pub fn set_embedded_mac(&self, counters: &mut Line, mac: u64) {
        match self.mac_field() {
            (_, 0) => {}
            (start, width) => bits::set(counters, start, width, mac & bits::max(width)),
        }
    }

    /// Where the MAC begins in a line of counters, and its length in bits.
    fn mac_field(&self) -> (usize, u32) {
        match &self.organisation {
            Organisation::None | Organisation::Page | Organisation::Random => (0, 0),
            Organisation::Monolithic => monolithic::MAC_FIELD,
            Organisation::Split(split) => split.mac_field(),
            Organisation::Morphable => morphable::MAC_FIELD,
        }
    }
}
