//! Slots of memory, with their contents.

pub use crate::kind::{Kind, MetadataCacheKind, Role};

use serde::Serialize;
use std::fmt;
use units::{Line, LineAddr, ZERO_LINE};

/// A place in memory that holds one line: of data, in the slot that [`Placement`](crate::placement::Placement) gives,
/// or of metadata, above all data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Slot(pub u64);

impl Slot {
    /// Address of a metadata line in the machine's caches and its network. Lines of data have other addresses.
    pub fn on_chip(self) -> LineAddr {
        LineAddr(self.0)
    }

    /// Returns the slot of the metadata line with this address on the chip.
    pub fn of_metadata(address: LineAddr) -> Slot {
        Slot(address.0)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Some bits of a line, written to memory while it keeps the other bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Mask with a one for each bit that is written.
    mask: Line,
    /// Values of these bits; the other bits are zero.
    content: Line,
}

impl Part {
    /// Returns the bits of a line that have a one in the mask.
    pub fn of(mut line: Line, mask: Line) -> Part {
        line.iter_mut().zip(mask).for_each(|(byte, mask)| *byte &= mask);
        Part { mask, content: line }
    }

    /// Number of bits that are written.
    pub fn bits(&self) -> u32 {
        self.mask.iter().map(|byte| byte.count_ones()).sum()
    }

    /// Returns the content of a slot that holds `stored`, after these bits are written.
    pub fn over(&self, stored: Untrusted) -> Untrusted {
        let mut line = stored.examine();
        for (byte, (mask, content)) in line.iter_mut().zip(self.mask.iter().zip(self.content)) {
            *byte = *byte & !mask | content;
        }
        Untrusted::with(line, stored.spare_bits())
    }
}

/// Content that memory returned: an attacker may have written it. A slot that was never written to is blank.
///
/// Each line has up to 128 spare bits, which the memory transfers with the line. A design may store the line's tag in
/// the spare bits, as far as the memory has room for them: ECC modules have room for 64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Untrusted {
    line: Option<Line>,
    /// Spare bits, the lowest word first. Two words have a smaller alignment than one 128-bit number, so this value is
    /// smaller.
    spare_bits: [u64; 2],
}

impl Untrusted {
    /// Content of a slot that was never written to.
    pub const BLANK: Untrusted = Untrusted { line: None, spare_bits: [0; 2] };

    /// Returns a line with its spare bits.
    pub fn with(line: Line, spare_bits: u128) -> Untrusted {
        Untrusted { line: Some(line), spare_bits: [spare_bits as u64, (spare_bits >> 64) as u64] }
    }

    /// Returns the bytes, for a checker or a cipher to process. A blank slot reads as zeros.
    pub fn examine(&self) -> Line {
        self.line.unwrap_or(ZERO_LINE)
    }

    /// Returns the line's spare bits; zero if a design does not use them.
    pub fn spare_bits(&self) -> u128 {
        let [low, high] = self.spare_bits;
        u128::from(low) | u128::from(high) << 64
    }

    /// Returns whether the slot was never written to.
    pub fn is_blank(&self) -> bool {
        self.line.is_none()
    }
}

impl From<Line> for Untrusted {
    /// Returns a line with spare bits of zero.
    fn from(line: Line) -> Untrusted {
        Untrusted::with(line, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tampering_with_a_part_of_a_slot_changes_only_its_bits_and_no_spare_bits() {
        let mut mask = [0; 64];
        (mask[3], mask[4]) = (0b1100_0000, 0b0000_0001);
        let part = Part::of([0xff; 64], mask);
        assert_eq!(part.bits(), 3);
        let merged = part.over(Untrusted::with([0x12; 64], 7));
        let mut expected = [0x12; 64];
        (expected[3], expected[4]) = (0xd2, 0x13);
        assert_eq!((merged.examine(), merged.spare_bits()), (expected, 7));
        assert_eq!(Part::of([0; 64], mask).over([0xff; 64].into()).examine()[3..5], [0x3f, 0xfe]);
    }
}
