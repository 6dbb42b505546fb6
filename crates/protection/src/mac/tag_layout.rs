//! Layout of tags in memory: their place and the size of their entries.
//!
//! In a separate region, the length of a tag's entry is a power of two, at least 8 bytes, so that no tag crosses a
//! line. A tag that is stored with its line has 8 or 16 bytes.

use crypto::Tag;
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use units::{LINE_BYTES, Line, LineAddr};

/// Bytes of the smallest entry of a tag.
const LEAST_BYTES: usize = 8;

/// Place of the tags in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum TagLocation {
    /// In a separate region, accessed through a tag cache. A line holds as many tags as fit: eight of up to 64
    /// bits.
    #[default]
    Region,
    /// Each tag with its line, in spare bits of ECC modules (Saileshwar et al., "Synergy", HPCA 2018). The memory
    /// transfers the tag with the line, without additional time.
    Ecc,
    /// Each tag behind its line in ordinary memory. The slot is 8 or 16 bytes longer and crosses a line boundary of the
    /// channel, so the channel transfers two lines.
    #[serde(rename = "beside")]
    Inline,
}

impl TagLocation {
    /// Returns the bits of the longest tag that fits this place.
    pub fn room_bits(self) -> u32 {
        match self {
            TagLocation::Region => Tag::BITS,
            TagLocation::Ecc => u64::BITS,
            TagLocation::Inline => u128::BITS,
        }
    }
}

/// Layout of the tags of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TagLayout {
    /// Place of the tags.
    pub location: TagLocation,
    /// Lines of data under each tag.
    pub lines: u64,
    /// Bytes of each tag's entry.
    pub bytes: usize,
}

impl TagLayout {
    /// Maximum number of tags in a tag line, for tags of the shortest length.
    pub const MOST_PER_LINE: u64 = (LINE_BYTES / LEAST_BYTES) as u64;

    /// Layout of tags of `bits` bits, each over `lines` lines.
    pub fn of(bits: u32, location: TagLocation, lines: u64) -> TagLayout {
        let bytes = (bits.div_ceil(8) as usize).next_power_of_two().max(LEAST_BYTES);
        TagLayout { location, lines, bytes }
    }

    /// Returns the number of tags in a tag line.
    pub fn per_line(&self) -> u64 {
        1 << self.per_line_log2()
    }

    /// Returns the logarithm of `per_line`. Every access needs it, and a shift is faster than a division.
    fn per_line_log2(&self) -> u32 {
        LINE_BYTES.trailing_zeros() - self.bytes.trailing_zeros()
    }

    /// The index of the line that holds a data line's tag, and the tag's position in it.
    pub fn entry_of(&self, line: LineAddr) -> (u64, usize) {
        let tag = line.0 / self.lines;
        (tag >> self.per_line_log2(), (tag & (self.per_line() - 1)) as usize)
    }

    /// Returns the tag at a position in a tag line.
    #[inline]
    pub fn entry(&self, tags: &Line, position: usize) -> Tag {
        Tag::from_bytes(&tags[position * self.bytes..(position + 1) * self.bytes])
    }

    /// Puts a tag into a tag line.
    #[inline]
    pub fn set_entry(&self, tags: &mut Line, position: usize, tag: Tag) {
        let entry = &mut tags[position * self.bytes..(position + 1) * self.bytes];
        match <&mut [u8; LEAST_BYTES]>::try_from(&mut *entry) {
            Ok(entry) => *entry = tag.low_word().to_le_bytes(),
            Err(_) => entry.copy_from_slice(&tag.to_bytes()[..self.bytes]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_tag_occupies_the_next_power_of_two_of_bytes() {
        let found = |bits| {
            let tag_layout = TagLayout::of(bits, TagLocation::Region, 1);
            (tag_layout.bytes, tag_layout.per_line())
        };
        let expected = [(1, (8, 8)), (56, (8, 8)), (64, (8, 8)), (65, (16, 4)), (128, (16, 4)), (160, (32, 2))];
        let longer = [(256, (32, 2)), (257, (64, 1)), (512, (64, 1))];
        for (bits, room) in expected.into_iter().chain(longer) {
            assert_eq!(found(bits), room, "{bits}");
        }
    }

    #[test]
    fn tag_entries_in_a_tag_line_do_not_overlap() {
        for bits in [64, 128, 256, 512] {
            let tag_layout = TagLayout::of(bits, TagLocation::Region, 2);
            let mut line = [0xee; LINE_BYTES];
            let tag = |position: usize| Tag::ones(bits) ^ (position as u64).into();
            let positions = tag_layout.per_line() as usize;
            (0..positions).for_each(|position| tag_layout.set_entry(&mut line, position, tag(position)));
            for position in 0..positions {
                assert_eq!(tag_layout.entry(&line, position), tag(position));
                assert_eq!(line[position * LINE_BYTES / positions], !(position as u8));
                // Each tag covers two lines.
                let data = LineAddr(2 * (3 * positions as u64 + position as u64) + 1);
                assert_eq!(tag_layout.entry_of(data), (3, position));
            }
        }
    }
}
