//! Lines of 32 and 64 bytes: how a private cache divides memory.
//!
//! Memory, its protection and everything beyond L2 know lines of 64 bytes only. A cache near the core may have shorter
//! ones, as those of 2005 had. So inside a node an access names a *half* of a line, and each cache takes from that number
//! as much as it distinguishes: its tags are keyed by `half >> shift`, where the shift is 1 for whole lines. A miss
//! asks the next level for whatever contains the half and fills only what the cache above has room for.

use crate::node::interface::{Step, Touch};
use units::{Bytes, LINE_BYTES, LineAddr};

/// Bytes of half a line, the shortest line that a cache may have.
pub(super) const HALF_BYTES: u64 = LINE_BYTES as u64 / 2;

/// The number of a half line in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Half(pub(super) u64);

impl Half {
    /// The half with the byte at `offset` of `line`.
    #[inline]
    pub(super) fn of(line: LineAddr, offset: u8) -> Half {
        Half(line.0 * 2 + u64::from(offset) / HALF_BYTES)
    }

    /// The half with the byte at that address.
    pub(super) fn at(address: u64) -> Half {
        Half(address / HALF_BYTES)
    }

    /// Where a touch begins.
    #[inline]
    pub(super) fn touched(touch: &Touch) -> Half {
        Half::of(touch.line, touch.offset)
    }

    /// The line that it is half of.
    #[inline]
    pub(super) fn line(self) -> LineAddr {
        LineAddr(self.0 / 2)
    }
}

/// Some halves of a line: bit 0 the lower, bit 1 the upper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Halves(u8);

impl Halves {
    pub(super) const NONE: Halves = Halves(0);

    pub(super) fn overlap(self, other: Halves) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn add(&mut self, other: Halves) {
        self.0 |= other.0;
    }

    pub(super) fn without(self, other: Halves) -> Halves {
        Halves(self.0 & !other.0)
    }

    /// Takes `other` away; returns whether any of it was there.
    pub(super) fn remove(&mut self, other: Halves) -> bool {
        let overlap = self.overlap(other);
        *self = self.without(other);
        overlap
    }
}

/// How long the lines of a cache are.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSize {
    shift: u32,
}

impl LineSize {
    /// Of a size that `NodeConfig::check` accepts: 32 or 64 bytes.
    pub(super) fn new(bytes: Bytes) -> LineSize {
        LineSize { shift: (bytes.0 / HALF_BYTES).trailing_zeros() }
    }

    /// The key of the cache's line with `half`.
    #[inline]
    pub(super) fn key(self, half: Half) -> u64 {
        half.0 >> self.shift
    }

    /// The first half of the cache's line with that key.
    pub(super) fn first(self, key: u64) -> Half {
        Half(key << self.shift)
    }

    /// Bytes of a line.
    pub(super) fn bytes(self) -> u64 {
        HALF_BYTES << self.shift
    }

    /// The halves that the cache's line with `half` has.
    #[inline]
    pub(super) fn covered(self, half: Half) -> Halves {
        if self.shift == 0 { Halves(1 << (half.0 & 1)) } else { Halves(0b11) }
    }

    /// The cache's lines within a line of memory, by their first halves.
    pub(super) fn within(self, line: LineAddr) -> impl Iterator<Item = Half> + use<> {
        (0..2u64).step_by(1 << self.shift).map(move |half| Half(line.0 * 2 + half))
    }

    /// Those of them that have any of `halves`.
    pub(super) fn some_of(self, line: LineAddr, halves: Halves) -> impl Iterator<Item = Half> + use<> {
        self.within(line).filter(move |half| halves.overlap(self.covered(*half)))
    }
}

/// Cuts touches at the ends of the first-level data cache's lines, if those are shorter than memory's.
#[derive(Clone, Debug)]
pub(super) struct Cutter {
    cuts: bool,
    pieces: Vec<Touch>,
}

impl Cutter {
    pub(super) fn new(size: LineSize) -> Cutter {
        Cutter { cuts: size.shift == 0, pieces: Vec::new() }
    }

    /// The step with no touch beyond the end of a line of the cache.
    #[inline]
    pub(super) fn cut<'a>(&'a mut self, step: Step<'a>) -> Step<'a> {
        if !self.cuts {
            return step;
        }
        self.pieces.clear();
        let half = HALF_BYTES as u8;
        for touch in step.touches {
            let lower = half.saturating_sub(touch.offset).min(touch.bytes);
            if lower > 0 {
                self.pieces.push(Touch { bytes: lower, ..*touch });
            }
            if lower < touch.bytes || touch.bytes == 0 {
                self.pieces.push(Touch { offset: touch.offset + lower, bytes: touch.bytes - lower, ..*touch });
            }
        }
        Step { touches: &self.pieces, ..step }
    }
}
