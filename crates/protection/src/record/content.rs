//! Content of a record: the slot of each line of its page chunk, and two numbers. The page chunk is encrypted and authenticated
//! under these numbers until it is permuted again (Duc and Keryell, ACSAC 2006, section 2.3).
//!
//! ```text
//! byte 0           256                  271                 286   288
//!     | slot of each | R': pads, 119 bit | R: tags, 120 bit | 0    |
//! ```
//! A page chunk has 256 lines of 32 bytes, of two blocks each. R', the number of a slot and the number of one of its
//! two blocks together fill an AES block. R and the number of a slot also fill an AES block.

use crate::planted::{PageChunkBug, PlantedBug};
use crypto::BLOCK_BYTES;
use std::array;
use units::random::Random;

/// Number of lines of a page chunk, and of slots for them.
pub const SLOTS: usize = 256;
/// Bits of R', from which pads are computed: an AES block minus the number of a slot and the number of one of its two
/// blocks.
const PAD_NUMBER_BITS: u32 = 8 * BLOCK_BYTES as u32 - SLOTS.ilog2() - 1;
/// Bits of R, from which tags are computed: an AES block minus the number of a slot.
const TAG_NUMBER_BITS: u32 = 8 * BLOCK_BYTES as u32 - SLOTS.ilog2();
/// Bytes of each of the two numbers.
const NUMBER_BYTES: usize = TAG_NUMBER_BITS.div_ceil(8) as usize;
/// End of the second number.
const END: usize = SLOTS + 2 * NUMBER_BYTES;
/// Bytes of a record in whole blocks.
pub(super) const TEXT_BYTES: usize = END.next_multiple_of(BLOCK_BYTES);

/// The record of a page chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Slots by position of the line.
    slots: [u8; SLOTS],
    pad_number: u128,
    tag_number: u128,
}

impl Record {
    /// Bits of R' and of R.
    pub const NUMBER_BITS: [u32; 2] = [PAD_NUMBER_BITS, TAG_NUMBER_BITS];
    /// Bits of a record on the chip.
    pub const BITS: usize = 8 * SLOTS + (PAD_NUMBER_BITS + TAG_NUMBER_BITS) as usize;

    /// Returns a record with a random permutation and random numbers, all equally likely.
    pub fn draw(random: &mut Random) -> Record {
        let mut slots = array::from_fn(|line| line as u8);
        random.shuffle(&mut slots);
        let mut number = |bits| (u128::from(random.word()) << 64 | u128::from(random.word())) >> (u128::BITS - bits);
        let (pad_number, tag_number) = (number(PAD_NUMBER_BITS), number(TAG_NUMBER_BITS));
        Record { slots, pad_number, tag_number }
    }

    /// Returns the slot of a line in its page chunk, by the line's position in the page chunk.
    pub fn slot_of(&self, line: u8) -> u8 {
        self.slots[usize::from(line)]
    }

    /// Returns the positions of the lines in the page chunk, slot after slot.
    pub fn lines_by_slot(&self) -> [u8; SLOTS] {
        let mut lines = [0; SLOTS];
        (0..=u8::MAX).zip(self.slots).for_each(|(line, slot)| lines[usize::from(slot)] = line);
        lines
    }

    /// R': the number that the page chunk's pads are made from.
    pub fn pad_number(&self) -> u128 {
        self.pad_number
    }

    /// R: the number that the page chunk's tags are made from.
    pub fn tag_number(&self) -> u128 {
        self.tag_number
    }

    /// Returns the text that is encrypted.
    pub(super) fn to_bytes(&self) -> [u8; TEXT_BYTES] {
        let mut text = [0; TEXT_BYTES];
        text[..SLOTS].copy_from_slice(&self.slots);
        for (bytes, number) in text[SLOTS..END].chunks_exact_mut(NUMBER_BYTES).zip([self.pad_number, self.tag_number]) {
            bytes.copy_from_slice(&number.to_le_bytes()[..NUMBER_BYTES]);
        }
        text
    }

    /// Returns the record of a text, or `None` if the text is invalid: two lines share a slot, or a number or the end is too long.
    pub(super) fn from_bytes(text: &[u8; TEXT_BYTES]) -> Option<Record> {
        let number = |bytes: &[u8]| {
            let mut wide = [0; 16];
            wide[..NUMBER_BYTES].copy_from_slice(bytes);
            u128::from_le_bytes(wide)
        };
        let (pad_bytes, tag_bytes) = text[SLOTS..END].split_at(NUMBER_BYTES);
        let (pad_number, tag_number) = (number(pad_bytes), number(tag_bytes));
        let slots: [u8; SLOTS] = text[..SLOTS].try_into().ok()?;
        let mut taken = [false; SLOTS];
        slots.iter().for_each(|slot| taken[usize::from(*slot)] = true);
        let is_one =
            taken == [true; SLOTS] && pad_number >> PAD_NUMBER_BITS == 0 && text[END..] == [0; TEXT_BYTES - END];
        is_one.then_some(Record { slots, pad_number, tag_number })
    }

    /// Returns the record with the parts that a planted bug keeps of the record before.
    pub(super) fn weakened(mut self, before: &Record, planted: PlantedBug) -> Record {
        if planted.has(PageChunkBug::RecordTableKept) {
            self.slots = before.slots;
        }
        if planted.has(PageChunkBug::TableTurned) {
            let turn = self.slots[0];
            self.slots = array::from_fn(|line| turn.wrapping_add(line as u8));
        }
        if planted.has(PageChunkBug::TableBarelyMixed) {
            let exchanges = self.slots;
            self.slots = array::from_fn(|line| line as u8);
            exchanges.chunks(2).take(SLOTS / 8).for_each(|pair| self.slots.swap(pair[0].into(), pair[1].into()));
        }
        if planted.has(PageChunkBug::PadNumberKept) {
            self.pad_number = before.pad_number;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rule_5_a_page_chunk_record_has_286_bytes_with_numbers_of_119_and_120_bits() {
        assert_eq!((PAD_NUMBER_BITS, TAG_NUMBER_BITS), (119, 120));
        assert_eq!((8 * SLOTS as u32 + PAD_NUMBER_BITS + TAG_NUMBER_BITS).div_ceil(8), 286);
        assert_eq!((END, TEXT_BYTES / BLOCK_BYTES), (286, 18));
        let (mut random, mut bits) = (Random::new(3), (0, 0));
        for record in (0..64).map(|_| Record::draw(&mut random)) {
            bits = (bits.0 | record.pad_number, bits.1 | record.tag_number);
        }
        assert_eq!(bits, ((1 << 119) - 1, (1 << 120) - 1), "every bit of a number is drawn");
    }

    proptest! {
        #[test]
        fn a_page_chunk_record_survives_encoding_and_its_slots_are_a_permutation(seed in any::<u64>()) {
            let record = Record::draw(&mut Random::new(seed));
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record.clone()));
            for (slot, line) in (0..=u8::MAX).zip(record.lines_by_slot()) {
                prop_assert_eq!(record.slot_of(line), slot);
            }
        }

        #[test]
        fn a_page_chunk_record_with_a_duplicate_slot_or_an_unused_bit_set_is_refused(seed in any::<u64>(), line in 0..SLOTS, other in 0..SLOTS) {
            let text = Record::draw(&mut Random::new(seed)).to_bytes();
            let with = |byte: usize, value| {
                let mut changed = text;
                changed[byte] = value;
                Record::from_bytes(&changed)
            };
            prop_assert_eq!(with(line, text[other]).is_some(), line == other);
            prop_assert_eq!(with(SLOTS + NUMBER_BYTES - 1, text[SLOTS + NUMBER_BYTES - 1] | 0x80), None);
            for byte in END..TEXT_BYTES {
                prop_assert_eq!(with(byte, 1), None);
            }
        }
    }

    /// Each line should be in each slot equally often: chi-squared over the slots of one line, 255 degrees of freedom.
    #[test]
    fn a_random_page_chunk_record_places_a_line_in_each_slot_equally_often() {
        let mut random = Random::new(11);
        let mut found = [0_u32; SLOTS];
        let draws = 25_600;
        (0..draws).for_each(|_| found[usize::from(Record::draw(&mut random).slot_of(200))] += 1);
        let expected = f64::from(draws) / SLOTS as f64;
        let chi_squared: f64 = found.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(chi_squared < 347.65, "{chi_squared} comes once in 10,000 times by chance");
    }
}
