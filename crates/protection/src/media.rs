//! The memory chips: bytes in slots, within an attacker's reach. A slot that was never written to is blank.
//!
//! Each slot holds a line, and may also hold 64 or 128 *spare bits*. The memory's [`Shape`] defines the place of the
//! spare bits: in ECC modules, which are wider and transfer the bits with the line; or behind the line in ordinary
//! memory. Behind the line, spare bits shift all later lines, so that lines no longer begin at the boundaries of the
//! channel's lines.
//!
//! ```text
//! behind the line:   | line 0 |t| line 1 |t| line 2 |t| ...      slots
//!                    | 0      | 1      | 2      | 3 ...          what the channel moves at once
//! ```

use crate::probe::Content;
use crate::slot::{Slot, Untrusted};
use machine::dram::Burst;
use machine::sparse::{Cells, Sparse};
use units::{LINE_BYTES, Line, LineAddr, LineLength, PhysAddr, WORD_BYTES, ZERO_LINE};

/// Map from slots to the lines that the memory's channels transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of slots in memory.
    pub slots: u64,
    /// Number of slots, from the first, that hold data.
    pub data: u64,
    /// Bytes of spare bits behind each group of data slots in ordinary memory; zero if the memory has no bytes for
    /// them.
    pub behind: u64,
    /// Data slots in a group, one or more.
    pub slots_per_tag: u64,
    /// Length of lines of data, by which the channels number lines. Metadata lines have 64 bytes each.
    pub length: LineLength,
}

impl From<u64> for Shape {
    /// Returns the shape of a memory of slots, each on a separate line.
    fn from(slots: u64) -> Shape {
        Shape { slots, data: slots, behind: 0, slots_per_tag: 1, length: LineLength::WHOLE }
    }
}

impl Shape {
    /// Bytes of data, without the spare bits behind lines.
    pub fn data_bytes(&self) -> u64 {
        self.data * self.length.bytes() as u64
    }

    /// Returns the address of the first byte of a slot.
    pub fn byte(&self, slot: Slot) -> u64 {
        let line = LINE_BYTES as u64;
        let data = slot.0.min(self.data);
        let below = data * self.length.bytes() as u64 + data / self.slots_per_tag * self.behind;
        if data == slot.0 && slot.0 < self.data {
            return below;
        }
        below.next_multiple_of(line) + (slot.0 - data) * line
    }

    /// Returns the bursts that the channels transfer for a slot. A line of 64 bytes needs a second burst if the line
    /// and its spare bits extend onto a second line of the channels. A line shorter than 64 bytes and the spare bits
    /// behind it are one burst, and so is a metadata line in a memory of shorter lines. The bursts of adjacent slots
    /// are at adjacent addresses.
    pub fn bursts(&self, slot: Slot) -> (Burst, Option<Burst>) {
        if self.length == LineLength::WHOLE {
            let (first, second) = self.lines(slot);
            return (first.into(), second.map(Burst::from));
        }
        let bytes = if slot.0 < self.data { self.length.bytes() + self.behind_slot(slot) } else { LINE_BYTES };
        let line = self.length.line_of(PhysAddr(self.byte(slot)));
        (Burst { words: (bytes / WORD_BYTES) as u8, ..line.into() }, None)
    }

    /// Bytes of spare bits directly behind a slot of data.
    fn behind_slot(&self, slot: Slot) -> usize {
        if slot.0 % self.slots_per_tag == self.slots_per_tag - 1 { self.behind as usize } else { 0 }
    }

    /// Returns the channel lines that are transferred for a slot: the first line of each burst.
    pub fn lines(&self, slot: Slot) -> (LineAddr, Option<LineAddr>) {
        if self.length != LineLength::WHOLE {
            return (self.bursts(slot).0.line, None);
        }
        let line = LINE_BYTES as u64;
        let first = self.byte(slot);
        let behind = if slot.0 < self.data { self.behind } else { 0 };
        let (first, last) = (first / line, (first + line + behind - 1) / line);
        (LineAddr(first), (last > first).then_some(LineAddr(last)))
    }

    /// Returns the content of a channel line, from all slots that overlap the line; `None` if all these slots are
    /// blank.
    pub fn content(&self, line: LineAddr, read: impl Fn(Slot) -> Untrusted) -> Option<Content> {
        let (start, width) = (self.length.start_of(line).0, LINE_BYTES as u64);
        let (first, last) = (self.slot_over(start), self.slot_over(start + width - 1));
        if self.behind == 0 || first.0 >= self.data || self.length != LineLength::WHOLE {
            // The first slot that begins at `start` or above: a burst contains only one slot.
            let found = read(if self.byte(first) < start { Slot(first.0 + 1) } else { first });
            return (!found.is_blank()).then(|| Content { line: found.examine(), spare: found.spare_bits() as u64 });
        }
        let mut content = None;
        for slot in (first.0..=last.0).map(Slot) {
            let found = read(slot);
            if found.is_blank() {
                continue;
            }
            let Content { line, .. } = content.get_or_insert(Content { line: ZERO_LINE, spare: 0 });
            let tag = found.spare_bits().to_le_bytes();
            let cell = found.examine().into_iter().chain(tag.into_iter().take(self.behind as usize));
            for (byte, value) in (self.byte(slot)..).zip(cell) {
                if let Some(at) = byte.checked_sub(start).filter(|at| *at < width) {
                    line[at as usize] = value;
                }
            }
        }
        content
    }

    /// Returns the slot that contains a byte of memory; for the bytes between data and metadata, the last slot of data.
    fn slot_over(&self, byte: u64) -> Slot {
        let line = LINE_BYTES as u64;
        let short = self.length.bytes() as u64;
        let cell = short * self.slots_per_tag + self.behind;
        let end_of_data = self.data * short + self.data / self.slots_per_tag * self.behind;
        match byte.checked_sub(end_of_data.next_multiple_of(line)) {
            Some(above) => Slot(self.data + above / line),
            None => {
                let in_cell = (byte % cell / short).min(self.slots_per_tag - 1);
                Slot((byte / cell * self.slots_per_tag + in_cell).min(self.data.saturating_sub(1)))
            }
        }
    }
}

/// Number of slots for which one word of `written` has a bit.
const WORD: u64 = u64::BITS as u64;

/// The content of a whole memory.
#[derive(Clone)]
pub struct Media {
    lines: Sparse<Cells, 32>,
    /// One bit for each slot, set if the slot was written to. A separate array, so that a check does not touch the
    /// content.
    written: Sparse<u64, 128>,
    /// The lower 64 spare bits.
    spare_bits: Sparse<u64, 128>,
    /// The upper 64 spare bits, allocated with the first that is not zero: few designs use them.
    upper: Option<Sparse<u64, 128>>,
    slots: u64,
}

impl Media {
    /// Returns a blank memory of this many slots.
    pub fn new(slots: u64) -> Media {
        let written = Sparse::new(slots.div_ceil(WORD));
        Media { lines: Sparse::new(slots), written, spare_bits: Sparse::new(slots), upper: None, slots }
    }

    /// Returns the content of a slot.
    pub fn read(&self, slot: Slot) -> Untrusted {
        if self.is_blank(slot) {
            return Untrusted::BLANK;
        }
        let upper = self.upper.as_ref().map_or(0, |upper| upper.get(slot.0));
        let spare_bits = u128::from(self.spare_bits.get(slot.0)) | u128::from(upper) << u64::BITS;
        Untrusted::with(self.lines.get(slot.0).0, spare_bits)
    }

    /// Prefetches the content of a slot into the host's caches.
    pub fn prefetch_host(&self, slot: Slot) {
        self.written.prefetch_host(slot.0 / WORD);
        self.lines.prefetch_host(slot.0);
        self.spare_bits.prefetch_host(slot.0);
    }

    /// Writes bytes to a slot; its spare bits do not change.
    pub fn write(&mut self, slot: Slot, content: &Line) {
        *self.written.entry(slot.0 / WORD) |= 1 << (slot.0 % WORD);
        self.lines.entry(slot.0).0 = *content;
    }

    /// Writes the whole content of a slot, including its spare bits; blank content makes the slot blank.
    pub fn store(&mut self, slot: Slot, content: Untrusted) {
        if content.is_blank() {
            // A blank slot needs no change, and so no host memory is allocated for it.
            if !self.is_blank(slot) {
                *self.written.entry(slot.0 / WORD) &= !(1 << (slot.0 % WORD));
            }
            return;
        }
        self.write(slot, &content.examine());
        let spare_bits = content.spare_bits();
        let (lower, upper) = (spare_bits as u64, (spare_bits >> u64::BITS) as u64);
        if lower != 0 || self.spare_bits.get(slot.0) != 0 {
            *self.spare_bits.entry(slot.0) = lower;
        }
        if upper != 0 || self.upper.is_some() {
            *self.upper.get_or_insert_with(|| Sparse::new(self.slots)).entry(slot.0) = upper;
        }
    }

    /// Returns whether a slot was never written to.
    pub fn is_blank(&self, slot: Slot) -> bool {
        self.written.get(slot.0 / WORD) >> (slot.0 % WORD) & 1 == 0
    }

    /// Returns all slots that were written to, in order.
    pub fn written_slots(&self) -> impl Iterator<Item = (Slot, Line)> + '_ {
        let slots = self.written.iter().flat_map(|(word, slots)| ones(slots).map(move |slot| word * WORD + slot));
        slots.map(|slot| (Slot(slot), self.lines.get(slot).0))
    }

    /// Bytes of host memory that the content occupies.
    pub fn footprint_bytes(&self) -> u64 {
        let upper = self.upper.as_ref().map_or(0, Sparse::footprint_bytes);
        self.lines.footprint_bytes() + self.written.footprint_bytes() + self.spare_bits.footprint_bytes() + upper
    }
}

/// Returns the positions of the set bits of a word, from the lowest on.
fn ones(mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| u64::from(word.trailing_zeros()))?;
        word &= word - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn memory_slots_are_contiguous_without_gap_or_overlap(data in 1u64..1000, above in 1u64..50, tag in 0u64..=2) {
            let (with_tags, behind) = (tag > 0, 8 * tag);
            let shape = Shape { slots: data + above, data, behind, slots_per_tag: 1, length: LineLength::WHOLE };
            let mut next = 0_u64;
            for slot in 0..shape.slots {
                let (first, last) = (shape.byte(Slot(slot)), shape.lines(Slot(slot)));
                prop_assert_eq!(first, if slot == data { next.next_multiple_of(64) } else { next });
                next = first + 64 + if slot < data { shape.behind } else { 0 };
                prop_assert_eq!(last.0.0, first / 64);
                prop_assert_eq!(last.1.unwrap_or(last.0).0, (next - 1) / 64);
                // A line and its tag never fit one channel line; a line without a tag never needs two.
                prop_assert_eq!(last.1.is_some(), with_tags && slot < data);
            }
        }
    }

    #[test]
    fn memory_slots_under_one_tag_are_contiguous_and_precede_the_tag() {
        for slots_per_tag in [2, 4] {
            let shape = Shape { slots: 20, data: 12, behind: 16, slots_per_tag, length: LineLength::HALF };
            let mut next = 0;
            for slot in 0..shape.data {
                let is_last = (slot + 1) % slots_per_tag == 0;
                let words = shape.bursts(Slot(slot)).0.words;
                assert_eq!((shape.byte(Slot(slot)), words), (next, if is_last { 6 } else { 4 }), "slot {slot}");
                assert_eq!(shape.slot_over(next + 31), Slot(slot));
                next += if is_last { 48 } else { 32 };
                assert_eq!(shape.slot_over(next - 1), Slot(slot), "the tag is with the last");
            }
            assert_eq!(shape.byte(Slot(12)), next.next_multiple_of(64));
        }
    }

    #[test]
    fn a_32_byte_line_and_its_16_byte_tag_are_transferred_in_one_burst_of_six_words() {
        let shape = Shape { slots: 20, data: 12, behind: 16, slots_per_tag: 1, length: LineLength::HALF };
        let read = |slot: Slot| Untrusted::from([slot.0 as u8; LINE_BYTES]);
        for slot in 0..shape.slots {
            let (Burst { line, words, .. }, second) = shape.bursts(Slot(slot));
            let byte = if slot < 12 { 48 * slot } else { 576 + 64 * (slot - 12) };
            assert_eq!((line.0, words, second), (byte / 32, if slot < 12 { 6 } else { 8 }, None));
            assert_eq!(shape.content(line, read).map(|content| content.line[0]), Some(slot as u8), "of slot {slot}");
        }
    }

    proptest! {
        #[test]
        fn a_64_byte_bus_line_has_the_bytes_of_all_memory_slots_on_it(data in 1u64..40, above in 1u64..9, tag in 0u64..=2) {
            let shape = Shape { slots: data + above, data, behind: 8 * tag, slots_per_tag: 1, length: LineLength::WHOLE };
            // Every slot but each third was written to, byte by byte in the order of their addresses.
            let written = |slot: Slot| slot.0 % 3 != 1;
            let value = |byte: u64| (byte.wrapping_mul(0x9e37_79b9) >> 8) as u8;
            let read = |slot: Slot| {
                let byte = shape.byte(slot);
                let line = std::array::from_fn(|at| value(byte + at as u64));
                let tag = u128::from_le_bytes(std::array::from_fn(|at| value(byte + 64 + at as u64)));
                // Without 16 bytes behind each line, a slot has room for 64 spare bits.
                let tag = if shape.behind == 16 { tag } else { tag & u128::from(u64::MAX) };
                if written(slot) { Untrusted::with(line, tag) } else { Untrusted::BLANK }
            };
            let mut bytes = vec![None; (shape.byte(Slot(shape.slots)) as usize).next_multiple_of(64)];
            for slot in (0..shape.slots).map(Slot).filter(|slot| written(*slot)) {
                let width = 64 + if slot.0 < data { shape.behind } else { 0 };
                (shape.byte(slot)..).take(width as usize).for_each(|byte| bytes[byte as usize] = Some(value(byte)));
            }
            for (number, expected) in bytes.chunks(64).enumerate() {
                let found = shape.content(LineAddr(number as u64), read);
                let known = expected.iter().any(Option::is_some);
                prop_assert_eq!(found.is_some(), known, "line {}", number);
                let flat: Vec<u8> = expected.iter().map(|byte| byte.unwrap_or(0)).collect();
                prop_assert!(found.is_none_or(|found| found.line[..] == flat[..]), "line {}", number);
                // Spare bits that are not behind a line are returned with it.
                let spare = (shape.behind == 0).then(|| read(Slot(number as u64)).spare_bits());
                prop_assert!(spare.is_none_or(|spare| found.is_none_or(|found| u128::from(found.spare) == spare)), "line {}", number);
            }
        }
    }

    proptest! {
        #[test]
        fn a_memory_and_its_clone_equal_independent_ordered_maps(
            stores in proptest::collection::vec(
                (0..400_u64, prop_oneof![Just(0_u8), 1..9_u8], prop_oneof![0..3_u128, Just(1), Just(5 << 64)]), 1..150),
            copied_at in 0..150_usize,
        ) {
            let (mut media, mut naive) = (Media::new(400), BTreeMap::new());
            let (mut copy, mut naive_copy) = (media.clone(), naive.clone());
            for (number, (slot, byte, spare_bits)) in stores.into_iter().enumerate() {
                if number == copied_at {
                    (copy, naive_copy) = (media.clone(), naive.clone());
                }
                let content = Untrusted::with([byte; 64], spare_bits);
                media.store(Slot(slot), content);
                naive.insert(slot, content);
                // The copy changes too, elsewhere.
                copy.store(Slot(399 - slot), content);
                naive_copy.insert(399 - slot, content);
            }
            for (media, naive) in [(&media, &naive), (&copy, &naive_copy)] {
                for slot in 0..400 {
                    prop_assert_eq!(media.read(Slot(slot)), naive.get(&slot).copied().unwrap_or(Untrusted::BLANK), "slot {}", slot);
                }
                prop_assert!(media.written_slots().map(|(slot, _)| slot.0).eq(naive.keys().copied()));
            }
        }
    }

    #[test]
    fn the_host_footprint_of_memory_counts_written_lines_and_their_spare_bits() {
        let (mut plain, mut with_tags) = (Media::new(1 << 20), Media::new(1 << 20));
        for slot in (0..1 << 14).map(Slot) {
            plain.store(slot, [1; 64].into());
            with_tags.store(slot, Untrusted::with([1; 64], 1));
        }
        assert!(plain.footprint_bytes() >= (1 << 14) * 64);
        let tags = with_tags.footprint_bytes() - plain.footprint_bytes();
        assert!(((1 << 14) * 8..(1 << 14) * 10).contains(&tags), "64 bits each, and no room for what none has: {tags}");
    }

    #[test]
    fn spare_bits_are_stored_with_their_line_and_kept_by_a_write_of_the_line_alone() {
        let mut media = Media::new(9);
        let wide = 77 | 78 << 64;
        media.store(Slot(3), Untrusted::with([1; 64], wide));
        media.store(Slot(4), media.read(Slot(3)));
        media.write(Slot(3), &[2; 64]);
        assert_eq!((media.read(Slot(3)).spare_bits(), media.read(Slot(4)).spare_bits()), (wide, wide));
        media.store(Slot(3), [5; 64].into());
        assert_eq!(media.read(Slot(3)), [5; 64].into());
    }
}
