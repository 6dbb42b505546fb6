//! Encryption counters: they number the versions of lines, and are packed into counter lines.
//!
//! # Contract
//! * A *counter line* has a counter for each of its *positions*: data lines, which then form a *group*
//!   ([`Counters::group`], [`Counters::position`]), or the children of a tree node. The other functions work for both.
//! * The version of a position is its *effective* counter, one number of at most 72 bits. [`Counters::advance`]
//!   increases the counter of one position and keeps the counters of all other positions, though it may change the
//!   encoding of the line. Or it changes no bit and reports [`Overflow`].
//! * After [`Overflow::Renew`], [`Counters::renew`] gives the written position a value that it never had. Each other
//!   position of the reported range keeps its value or gets a value that it never had, and positions outside the range
//!   keep their values. All lines of the range must then be re-encrypted. Most organisations continue to count upward.
//!   One organisation draws its values at random, so that a value can only repeat by chance.
//! * Some organisations leave room for a MAC in the line. Counter operations keep the MAC, and MAC operations keep the
//!   counters.
//! * Any 512 bits are a valid counter line: an attacker controls memory, and a design may not verify it.

mod bits;
mod monolithic;
mod morphable;
mod page;
mod random;
mod split;
mod steady;

use crate::planted::{Bug, PlantedBug};
use crate::slot::Part;
use crypto::COUNTER_BITS;
use serde::{Deserialize, Serialize};
pub use split::Split;
use std::ops::Range;
pub use steady::Steady;
use units::{Line, LineAddr, ZERO_LINE};

/// Effective counter of one line: the number of its writes or more, below 2^[`COUNTER_BITS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Counter(pub u128);

/// A counter cannot advance. The counter line is unchanged.
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

/// States of counters late in a long life, which a test cannot reach by writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    /// A few writes before the next renewal. Counters that are never renewed are new.
    BeforeRenewal,
    /// A few writes before the counter is exhausted.
    BeforeExhaustion,
}

/// Age of counters when a machine begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartingAge {
    /// All counters are zero.
    #[default]
    New,
    /// The counters of a moment drawn uniformly from a long life, separately for each group ([`Steady`]).
    Steady,
}

/// Maximum number of writes of one position before the event of its [`Age`].
pub const WRITES_LEFT: u64 = 8;

/// Result of one more write of a position.
enum Increment {
    /// The new line. All other positions keep their effective counters.
    Advanced(Line),
    /// The new line after a renewal, with the renewed positions.
    Renewed(Line, Range<usize>),
    /// No new line: the counter is at its full width.
    Exhausted,
}

/// Organisation of the counters in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterOrganisation {
    /// No counters at all.
    None,
    /// Eight 56-bit counters and a 56-bit MAC.
    Monolithic,
    /// A major counter and a minor one for each position.
    Split(Split),
    /// 128 counters, in one of two formats that depends on their values.
    Morphable,
    /// A number drawn for a page, and a mark for each of its lines.
    Page,
    /// Eight 64-bit counters that begin with a random number each.
    Random,
}

/// The encryption counters of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    organisation: CounterOrganisation,
    planted: PlantedBug,
}

impl Counters {
    /// Returns the counters of an organisation.
    pub fn new(organisation: CounterOrganisation, planted: PlantedBug) -> Counters {
        Counters { organisation, planted }
    }

    /// Returns true if a renewal draws counters at random. Drawn counters do not repeat, except by chance, but need not
    /// increase.
    pub fn are_drawn(&self) -> bool {
        matches!(self.organisation, CounterOrganisation::Page)
    }

    /// Returns true if counters are ever renewed. Counters that share no bits are never renewed.
    pub fn are_renewed(&self) -> bool {
        !matches!(
            self.organisation,
            CounterOrganisation::None | CounterOrganisation::Monolithic | CounterOrganisation::Random
        )
    }

    /// Returns true unless the design has no counters.
    pub fn exist(&self) -> bool {
        self.organisation != CounterOrganisation::None
    }

    /// Returns true if the chip must decode a counter line to read a counter. The position and width of a morphable
    /// minor depend on the other minors in use, and the major must be added (EMCC, section V). All other organisations
    /// have fields at fixed positions, and a split counter is its major and minor side by side, without an addition.
    pub fn are_coded(&self) -> bool {
        matches!(self.organisation, CounterOrganisation::Morphable)
    }

    /// Number of positions of a counter line: lines in a group, or children of a node; 1 for a design without
    /// counters.
    pub fn lines_per_group(&self) -> u64 {
        match &self.organisation {
            CounterOrganisation::None => 1,
            CounterOrganisation::Monolithic => monolithic::POSITIONS as u64,
            CounterOrganisation::Split(split) => split.positions() as u64,
            CounterOrganisation::Morphable => morphable::POSITIONS as u64,
            CounterOrganisation::Page => page::POSITIONS as u64,
            CounterOrganisation::Random => random::POSITIONS as u64,
        }
    }

    /// The group of a line, which is also the index of its counter line.
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
            CounterOrganisation::None => 0,
            CounterOrganisation::Monolithic => monolithic::read(counters, position),
            CounterOrganisation::Split(split) => split.read(counters, position, self.planted),
            CounterOrganisation::Morphable => morphable::read(counters, position),
            CounterOrganisation::Page => page::read(counters, position),
            CounterOrganisation::Random => random::read(counters, position),
        })
    }

    /// The bits of a counter line that only this position uses, with this counter as their content. `None` if the
    /// positions share other fields than a major.
    pub fn part(&self, position: usize, counter: Counter) -> Option<Part> {
        let (start, width) = match &self.organisation {
            CounterOrganisation::Monolithic => monolithic::field(position),
            CounterOrganisation::Split(split) => split.field(position),
            _ => return None,
        };
        let (mut mask, mut content) = (ZERO_LINE, ZERO_LINE);
        bits::set(&mut mask, start, width, bits::max(width));
        bits::set(&mut content, start, width, counter.0 as u64 & bits::max(width));
        Some(Part::of(content, mask))
    }

    /// Advances the counter at a position.
    ///
    /// # Errors
    /// If the write must change the counters of other positions, or is not possible at all. The line is then unchanged.
    pub fn advance(&self, counters: &mut Line, position: usize) -> Result<Counter, Overflow> {
        self.advance_drawing(counters, position, || 0)
    }

    /// Like [`Counters::advance`]. A counter that begins with a random number calls `draw` for it.
    ///
    /// # Errors
    /// The errors of [`Counters::advance`].
    pub fn advance_drawing(
        &self,
        counters: &mut Line,
        position: usize,
        draw: impl FnOnce() -> u64,
    ) -> Result<Counter, Overflow> {
        if self.planted.has(Bug::CounterNotAdvanced) {
            return Ok(self.read(counters, position));
        }
        let begins = self.organisation == CounterOrganisation::Random && self.read(counters, position).0 == 0;
        match self.next(counters, position, if begins { draw() } else { 0 }) {
            Increment::Advanced(next) => *counters = next,
            Increment::Renewed(_, positions) => return Err(Overflow::Renew { positions }),
            Increment::Exhausted => return Err(Overflow::Exhausted),
        }
        Ok(self.read(counters, position))
    }

    /// The counter line after an overflow at the position `written`. Organisations that draw their counters use the
    /// random number `drawn`.
    pub fn renew(&self, counters: &Line, written: usize, overflow: &Overflow, drawn: u64) -> Line {
        match (overflow, self.next(counters, written, drawn)) {
            (Overflow::Exhausted, _) | (_, Increment::Exhausted) => *counters,
            (Overflow::Renew { .. }, Increment::Renewed(next, _) | Increment::Advanced(next)) => next,
        }
    }

    /// A counter line of this age that honest writes can produce.
    pub fn aged(&self, age: Age) -> Line {
        match &self.organisation {
            CounterOrganisation::None => units::ZERO_LINE,
            CounterOrganisation::Monolithic => monolithic::aged(age),
            CounterOrganisation::Split(split) => split.aged(age),
            CounterOrganisation::Morphable => morphable::aged(age),
            CounterOrganisation::Page => page::aged(age),
            CounterOrganisation::Random => random::aged(age),
        }
    }

    /// A counter line after a burst of writes to one position and the renewal that may follow.
    fn lived_on(&self, counters: &Line, position: usize, drawn: u64) -> Line {
        match self.burst(counters, position, drawn) {
            Increment::Advanced(next) | Increment::Renewed(next, _) => next,
            Increment::Exhausted => *counters,
        }
    }

    /// Result of a burst of writes to one position. A burst is one write. For wider minors, it is the number of writes
    /// that advances the minor by about the same share of its range as one write advances a 7-bit minor.
    fn burst(&self, counters: &Line, position: usize, drawn: u64) -> Increment {
        match &self.organisation {
            CounterOrganisation::Split(split) => split.after(counters, position, split.burst(), self.planted),
            _ => self.next(counters, position, drawn),
        }
    }

    fn next(&self, counters: &Line, position: usize, drawn: u64) -> Increment {
        match &self.organisation {
            CounterOrganisation::None => Increment::Advanced(*counters),
            CounterOrganisation::Monolithic => monolithic::next(counters, position, self.planted),
            CounterOrganisation::Split(split) => split.after(counters, position, 1, self.planted),
            CounterOrganisation::Morphable => morphable::next(counters, position, self.planted),
            CounterOrganisation::Page => page::next(counters, position, drawn, self.planted),
            CounterOrganisation::Random => random::next(counters, position, drawn, self.planted),
        }
    }

    /// Bits of the MAC in a counter line; 0 if the organisation has no room for one.
    pub fn embedded_mac_bits(&self) -> u32 {
        self.mac_field().1
    }

    /// The MAC in a counter line; 0 if the line has no room for one.
    pub fn embedded_mac(&self, counters: &Line) -> u64 {
        match self.mac_field() {
            (_, 0) => 0,
            (start, width) => bits::get(counters, start, width),
        }
    }

    /// Changes the MAC in a counter line, truncated to the room for it.
    pub fn set_embedded_mac(&self, counters: &mut Line, mac: u64) {
        match self.mac_field() {
            (_, 0) => {}
            (start, width) => bits::set(counters, start, width, mac & bits::max(width)),
        }
    }

    /// First bit of the MAC in a counter line, and its length in bits.
    fn mac_field(&self) -> (usize, u32) {
        match &self.organisation {
            CounterOrganisation::None | CounterOrganisation::Page | CounterOrganisation::Random => (0, 0),
            CounterOrganisation::Monolithic => monolithic::MAC_FIELD,
            CounterOrganisation::Split(split) => split.mac_field(),
            CounterOrganisation::Morphable => morphable::MAC_FIELD,
        }
    }
}
