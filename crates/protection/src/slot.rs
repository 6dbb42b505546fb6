//! Slots: what memory is made of, what each is for, and what it holds.

use enum_map::Enum;
use serde::Serialize;
use std::fmt;
use units::{Line, LineAddr, ZERO_LINE};

/// A place in memory that holds one line: of data, which [`Placement`](crate::placement::Placement) puts there, or of
/// metadata, above all data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Slot(pub u64);

impl Slot {
    /// The address by which the machine's caches and its network know a line of metadata. No line of data has it.
    pub fn on_chip(self) -> LineAddr {
        LineAddr(self.0)
    }

    /// The slot of the line of metadata that they know by this address.
    pub fn of_metadata(address: LineAddr) -> Slot {
        Slot(address.0)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// What a slot is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The program's data, encrypted or not.
    Data,
    /// Encryption counters.
    Counter,
    /// Authentication tags of data lines.
    Tag,
    /// A node of the integrity tree; level 0 stands directly above the counters.
    Node(u8),
    /// Owners of pages.
    Owner,
    /// Bitmaps of lines whose words were re-ordered.
    Bitmap,
    /// Records of chunks: where each line of a chunk lies, and what it is encrypted under.
    Record,
    /// Encrypted contexts of secure processes that are outside the chip.
    Context,
}

/// What slots are for, whatever their level in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Enum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The program's data.
    Data,
    /// Encryption counters.
    Counters,
    /// Authentication tags.
    Tags,
    /// Nodes of the integrity tree.
    Nodes,
    /// Owners of pages.
    Owners,
    /// Bitmaps of re-ordered lines.
    Bitmaps,
    /// Records of chunks.
    Records,
    /// Encrypted contexts.
    Contexts,
}

impl Kind {
    /// Caches of metadata, where each kind has its own.
    pub const CACHES: usize = 4;

    /// Which of them lines of this kind go through. Owners are looked up by page, as counters are, and share their cache; data,
    /// records and contexts go through none.
    pub fn cache(self) -> usize {
        match self {
            Kind::Data | Kind::Records | Kind::Contexts | Kind::Counters | Kind::Owners => 0,
            Kind::Tags => 1,
            Kind::Nodes => 2,
            Kind::Bitmaps => 3,
        }
    }
}

impl Role {
    /// Its kind.
    pub fn kind(self) -> Kind {
        match self {
            Role::Data => Kind::Data,
            Role::Counter => Kind::Counters,
            Role::Tag => Kind::Tags,
            Role::Node(_) => Kind::Nodes,
            Role::Owner => Kind::Owners,
            Role::Bitmap => Kind::Bitmaps,
            Role::Record => Kind::Records,
            Role::Context => Kind::Contexts,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Data => f.write_str("data"),
            Role::Counter => f.write_str("counter"),
            Role::Tag => f.write_str("tag"),
            Role::Node(level) => write!(f, "tree level {level}"),
            Role::Owner => f.write_str("owner"),
            Role::Bitmap => f.write_str("bitmap"),
            Role::Record => f.write_str("record"),
            Role::Context => f.write_str("context"),
        }
    }
}

/// Some bits of a line, which go to memory while it keeps the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// A one for each bit that goes there.
    mask: Line,
    /// What these bits are; the others are zeros.
    content: Line,
}

impl Part {
    /// The bits of a line that have a one in the mask.
    pub fn of(mut line: Line, mask: Line) -> Part {
        line.iter_mut().zip(mask).for_each(|(byte, mask)| *byte &= mask);
        Part { mask, content: line }
    }

    /// How many bits they are.
    pub fn bits(&self) -> u32 {
        self.mask.iter().map(|byte| byte.count_ones()).sum()
    }

    /// What a slot holds once these bits are there.
    pub fn over(&self, stored: Untrusted) -> Untrusted {
        let mut line = stored.examine();
        for (byte, (mask, content)) in line.iter_mut().zip(self.mask.iter().zip(self.content)) {
            *byte = *byte & !mask | content;
        }
        Untrusted::with(line, stored.beside())
    }
}

/// What memory answered: an attacker may have written it. A slot that nothing was ever written to is blank.
///
/// Each line has 128 spare bits, where a design that wants to keeps the line's tag, as far as what holds them has room: ECC
/// modules for 64. They move with the line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Untrusted {
    line: Option<Line>,
    /// From the lowest up; apart, so that a line in flight takes no more room than its bytes do.
    beside: [u64; 2],
}

impl Untrusted {
    /// What a slot holds that nothing was ever written to.
    pub(crate) const BLANK: Untrusted = Untrusted { line: None, beside: [0; 2] };

    /// A line with its spare bits.
    pub fn with(line: Line, beside: u128) -> Untrusted {
        Untrusted { line: Some(line), beside: [beside as u64, (beside >> 64) as u64] }
    }

    /// The bytes, for a checker or a cipher to work on. A blank slot reads as zeros.
    pub fn examine(&self) -> Line {
        self.line.unwrap_or(ZERO_LINE)
    }

    /// The line's spare bits; zero where a design has no use for them.
    pub fn beside(&self) -> u128 {
        let [low, high] = self.beside;
        u128::from(low) | u128::from(high) << 64
    }

    /// Whether nothing was ever written there.
    pub fn is_blank(&self) -> bool {
        self.line.is_none()
    }
}

impl From<Line> for Untrusted {
    /// A line whose spare bits are zero.
    fn from(line: Line) -> Untrusted {
        Untrusted::with(line, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_changes_its_own_bits_and_no_others_and_nothing_beside_the_line() {
        let mut mask = [0; 64];
        (mask[3], mask[4]) = (0b1100_0000, 0b0000_0001);
        let part = Part::of([0xff; 64], mask);
        assert_eq!(part.bits(), 3);
        let merged = part.over(Untrusted::with([0x12; 64], 7));
        let mut expected = [0x12; 64];
        (expected[3], expected[4]) = (0xd2, 0x13);
        assert_eq!((merged.examine(), merged.beside()), (expected, 7));
        assert_eq!(Part::of([0; 64], mask).over([0xff; 64].into()).examine()[3..5], [0x3f, 0xfe]);
    }
}
