//! Nonces: the line number and the counter of a line, packed so that no two cipher blocks are ever equal.
//!
//! ```text
//! byte   0        5                              14       15      16
//!        | place  | counter                      | domain | block |
//!        | 40 bit | 72 bit                       | 8 bit  | 8 bit |
//! ```
//! The packing is injective: each field has separate bytes. Forty bits of line number address 64 TB of lines.
//! Seventy-two bits of counter hold a 64-bit major and a minor of up to eight bits.
//!
//! A line with re-ordered words also has a *bitmap*, for which the block has no room: a code that covers the bitmap
//! uses other offsets (`cipher/ocb_chunks.rs`).

use crate::BLOCK_BYTES;

/// Bits of the place in a nonce.
pub const LINE_NUMBER_BITS: u32 = 40;
/// Bits of the counter in a nonce.
pub const COUNTER_BITS: u32 = 72;

/// Purpose of an encrypted block. Two purposes under the same line number and counter encrypt different blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Keystream for the bytes of data.
    Pad = 0,
    /// Mask that hides a tag's hash.
    TagMask = 1,
}

/// A place and its counter, packed as in the picture, with zeros for domain and block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Nonce {
    packed: u128,
    bitmap: u8,
}

impl Nonce {
    /// Returns the nonce of the line at `line_number`, a number of lines, under an effective counter.
    ///
    /// # Panics
    /// If the place needs more than [`LINE_NUMBER_BITS`]: memories that large are refused long before. If the
    /// counter needs more than [`COUNTER_BITS`]: a counter that would is exhausted before.
    pub fn new(line_number: u64, counter: u128) -> Nonce {
        assert!(line_number >> LINE_NUMBER_BITS == 0, "place {line_number:#x} does not fit a nonce");
        assert!(counter >> COUNTER_BITS == 0, "counter {counter} does not fit a nonce");
        Nonce { packed: u128::from(line_number) | counter << LINE_NUMBER_BITS, bitmap: 0 }
    }

    /// Returns the same nonce for a line with words that were re-ordered by this bitmap.
    #[must_use]
    pub fn with_bitmap(self, bitmap: u8) -> Nonce {
        Nonce { bitmap, ..self }
    }

    /// Returns the bitmap by which the words were re-ordered; zero without re-ordering.
    pub fn bitmap(&self) -> u8 {
        self.bitmap
    }

    /// Returns the place that the nonce contains.
    pub fn line_number(&self) -> u64 {
        (self.packed & ((1 << LINE_NUMBER_BITS) - 1)) as u64
    }

    /// Returns the cipher's input for one block of one use.
    pub fn block(&self, domain: Domain, index: u8) -> [u8; BLOCK_BYTES] {
        let packed = self.packed
            | (domain as u128) << (LINE_NUMBER_BITS + COUNTER_BITS)
            | u128::from(index) << (u128::BITS - u8::BITS);
        packed.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER_MAX: u128 = (1 << COUNTER_BITS) - 1;

    #[test]
    fn every_field_of_a_nonce_has_separate_bytes() {
        let zero = Nonce::new(0, 0).block(Domain::Pad, 0);
        let full = [
            Nonce::new((1 << LINE_NUMBER_BITS) - 1, 0).block(Domain::Pad, 0),
            Nonce::new(0, COUNTER_MAX).block(Domain::Pad, 0),
            Nonce::new(0, 0).block(Domain::TagMask, 0),
            Nonce::new(0, 0).block(Domain::Pad, u8::MAX),
        ];
        for byte in 0..BLOCK_BYTES {
            let touching = full.iter().filter(|block| block[byte] != zero[byte]).count();
            assert_eq!(touching, 1, "byte {byte} belongs to {touching} fields");
        }
    }

    #[test]
    fn the_line_number_is_recovered_from_a_nonce_with_the_largest_counter() {
        for line in [0, 1, (1 << LINE_NUMBER_BITS) - 1] {
            assert_eq!(Nonce::new(line, COUNTER_MAX).line_number(), line);
        }
    }

    #[test]
    #[should_panic(expected = "does not fit a nonce")]
    fn a_nonce_refuses_a_counter_one_bit_too_wide() {
        Nonce::new(0, COUNTER_MAX + 1);
    }
}
