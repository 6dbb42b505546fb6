//! Split counters: one major for the line and a minor for each position (Yan et al., ISCA 2006).
//!
//! ```text
//! bit 0        64                                        512 - MAC bits   512
//!     | major  | minor 0 | minor 1 | ...       | minor n-1 | MAC          |
//!     | 64 bit |                                           |              |
//!
//!              n   minor   MAC
//! sc64         64   7 bit    0     the leaf of a Bonsai tree (Rogers et al., MICRO 2007), tags elsewhere
//! sc64-mac     64   6 bit   64     the other layout that the literature calls SC-64, with its MAC in the line
//! sc128       128   3 bit   64     the 128-ary baseline of Morphable Counters (Saileshwar et al., MICRO 2018)
//! vault32      32  12 bit   64     the second level of VAULT (Taassori et al., ASPLOS 2018)
//! vault16      16  24 bit   64     its third level and above
//! ```
//! The effective counter is `major << minor bits | minor`. A minor at its maximum overflows at the next write: the
//! major advances, all minors return to zero, and all lines of the group are renewed. So no effective counter repeats.

use super::{Age, COUNTER_BITS, Increment, WRITES_LEFT, bits};
use crate::planted::{Bug, PlantedBug};
use units::{LINE_BYTES, Line, ZERO_LINE};

const MAJOR_BITS: u32 = 64;

/// Shape of a line of split counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    positions: usize,
    minor_bits: u32,
    mac_bits: u32,
}

impl Split {
    /// SC-64 with 7-bit minors and its tags elsewhere.
    pub const SC64: Split = Split::new(64, 7, 0);
    /// SC-64 with 6-bit minors and a 64-bit MAC.
    pub const SC64_MAC: Split = Split::new(64, 6, 64);
    /// SC-128, with 3-bit minors and a 64-bit MAC.
    pub const SC128: Split = Split::new(128, 3, 64);
    /// VAULT with 32 counters to a line.
    pub const VAULT32: Split = Split::new(32, 12, 64);
    /// VAULT with 16 counters to a line.
    pub const VAULT16: Split = Split::new(16, 24, 64);

    /// Returns a shape with `positions` minors of `minor_bits` each, a 64-bit major and a MAC of `mac_bits`.
    ///
    /// # Panics
    /// If they do not fill a line exactly, or are too wide for a nonce or a word.
    pub const fn new(positions: usize, minor_bits: u32, mac_bits: u32) -> Split {
        let bits = MAJOR_BITS as usize + positions * minor_bits as usize + mac_bits as usize;
        assert!(bits == LINE_BYTES * 8, "the fields must fill a line exactly");
        assert!(positions > 0 && 0 < minor_bits && minor_bits < 64 && mac_bits <= 64);
        Split { positions, minor_bits, mac_bits }
    }

    /// Bits of each minor.
    pub fn minor_bits(&self) -> u32 {
        self.minor_bits
    }

    pub(super) fn positions(&self) -> usize {
        self.positions
    }

    /// First bit of the MAC, and its length in bits.
    pub(super) fn mac_field(&self) -> (usize, u32) {
        (LINE_BYTES * 8 - self.mac_bits as usize, self.mac_bits)
    }

    /// First bit of the minor of a position, and its length in bits.
    pub(super) fn field(&self, position: usize) -> (usize, u32) {
        (self.minor_at(position), self.minor_bits)
    }

    fn minor_at(&self, position: usize) -> usize {
        MAJOR_BITS as usize + position * self.minor_bits as usize
    }

    /// The greatest major with effective counters that fit a nonce.
    fn major_max(&self) -> u64 {
        bits::max(MAJOR_BITS.min(COUNTER_BITS - self.minor_bits))
    }

    /// The effective counter. A major that no honest write produces is truncated to its valid bits.
    pub(super) fn read(&self, line: &Line, position: usize, planted: PlantedBug) -> u128 {
        let major = bits::get(line, 0, MAJOR_BITS) & self.major_max();
        let major = if planted.has(Bug::MajorCutShort) { major & bits::max(32) } else { major };
        let minor = bits::get(line, self.minor_at(position), self.minor_bits);
        u128::from(major) << self.minor_bits | u128::from(minor)
    }

    /// Writes of one position that advance a wide minor by the same share of its range as one write of a 7-bit minor.
    pub(super) fn burst(&self) -> u64 {
        1 << self.minor_bits.saturating_sub(Split::SC64.minor_bits)
    }

    /// Result of `writes` writes of a position. The writes end at an overflow.
    pub(super) fn after(&self, line: &Line, position: usize, writes: u64, planted: PlantedBug) -> Increment {
        let major = bits::get(line, 0, MAJOR_BITS);
        let minor = bits::get(line, self.minor_at(position), self.minor_bits);
        let mut next = *line;
        if minor + writes <= bits::max(self.minor_bits) || planted.has(Bug::MinorWraps) {
            let minor = (minor + writes) & bits::max(self.minor_bits);
            bits::set(&mut next, self.minor_at(position), self.minor_bits, minor);
            return Increment::Advanced(next);
        }
        if major >= self.major_max() {
            return Increment::Exhausted;
        }
        bits::set(&mut next, 0, MAJOR_BITS, major + u64::from(!planted.has(Bug::MajorNotAdvanced)));
        if !planted.has(Bug::MinorsNotReset) {
            for position in 0..self.positions {
                bits::set(&mut next, self.minor_at(position), self.minor_bits, 0);
            }
        }
        Increment::Renewed(next, 0..self.positions)
    }

    pub(super) fn aged(&self, age: Age) -> Line {
        let mut line = ZERO_LINE;
        if age == Age::BeforeExhaustion {
            bits::set(&mut line, 0, MAJOR_BITS, self.major_max());
        }
        for position in 0..self.positions {
            let minor = bits::max(self.minor_bits).saturating_sub(WRITES_LEFT);
            bits::set(&mut line, self.minor_at(position), self.minor_bits, minor);
        }
        line
    }
}
