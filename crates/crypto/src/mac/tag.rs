//! A tag: the output of an authentication code for a line, truncated to the bits that a design stores.
//!
//! A tag is a number of up to 512 bits, as many as a line has: one tag for each chunk can be as long as the chunk
//! itself. The first bits of a code are the number's highest, so a tag of up to 64 bits is the number in one word.
//! Memory stores its lowest byte first. The design determines how many of the bits are in use; two tags are equal if
//! all bits are.

use std::fmt;
use std::ops::{BitOr, BitXor, Shl, Shr};

const WORDS: usize = Tag::BYTES / size_of::<u64>();
const WORD_BITS: u32 = u64::BITS;

/// Output of a code for a line, or a tag that memory returned. A missing tag is zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tag {
    /// Words of the number, from the lowest up.
    words: [u64; WORDS],
}

impl Tag {
    /// Bits of the longest tag.
    pub const BITS: u32 = 512;
    /// Bytes of the longest tag.
    pub const BYTES: usize = Tag::BITS as usize / 8;

    /// Returns the first `bits` of a code.
    ///
    /// # Panics
    /// If `bits` is zero, or more than the code has.
    #[inline]
    pub fn first_of(code: &[u8], bits: u32) -> Tag {
        assert!(bits > 0 && bits as usize <= 8 * code.len(), "a tag of {bits} bits of a code of {} bytes", code.len());
        match code.first_chunk() {
            Some(first) if bits <= WORD_BITS => (u64::from_be_bytes(*first) >> (WORD_BITS - bits)).into(),
            _ => Tag::first_of_any(code, bits),
        }
    }

    fn first_of_any(code: &[u8], bits: u32) -> Tag {
        let whole = &code[..bits.div_ceil(8) as usize];
        let mut bytes = [0; Tag::BYTES];
        bytes.iter_mut().zip(whole.iter().rev()).for_each(|(byte, of_code)| *byte = *of_code);
        Tag::from_bytes(&bytes) >> (8 * whole.len() as u32 - bits)
    }

    /// Returns the tag that these bytes contain.
    ///
    /// # Panics
    /// If there are more than [`Tag::BYTES`].
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Tag {
        if let Ok(word) = <[u8; 8]>::try_from(bytes) {
            return u64::from_le_bytes(word).into();
        }
        let mut all = [0; Tag::BYTES];
        all[..bytes.len()].copy_from_slice(bytes);
        Tag { words: std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|byte| all[8 * word + byte]))) }
    }

    /// Returns the bytes of the tag, in their order in memory.
    pub fn to_bytes(&self) -> [u8; Tag::BYTES] {
        std::array::from_fn(|byte| self.words[byte / 8].to_le_bytes()[byte % 8])
    }

    /// Returns the lowest 64 bits: the whole tag, if it has no more.
    pub fn low_word(&self) -> u64 {
        self.words[0]
    }

    /// Returns the lowest 128 bits: the whole tag, if it has no more.
    pub fn low_128(&self) -> u128 {
        u128::from(self.words[0]) | u128::from(self.words[1]) << WORD_BITS
    }

    /// Returns true if the tag is zero, as the difference of two equal tags is.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.words.iter().fold(0, |any, word| any | word) == 0
    }

    /// Returns a tag with its lowest `bits` bits set.
    pub fn ones(bits: u32) -> Tag {
        Tag { words: [u64::MAX; WORDS] } >> (Tag::BITS - bits)
    }
}

impl From<u64> for Tag {
    #[inline]
    fn from(number: u64) -> Tag {
        let mut words = [0; WORDS];
        words[0] = number;
        Tag { words }
    }
}

impl From<u128> for Tag {
    #[inline]
    fn from(number: u128) -> Tag {
        let mut words = [0; WORDS];
        (words[0], words[1]) = (number as u64, (number >> WORD_BITS) as u64);
        Tag { words }
    }
}

impl BitXor for Tag {
    type Output = Tag;

    fn bitxor(self, other: Tag) -> Tag {
        Tag { words: std::array::from_fn(|word| self.words[word] ^ other.words[word]) }
    }
}

impl BitOr for Tag {
    type Output = Tag;

    fn bitor(self, other: Tag) -> Tag {
        Tag { words: std::array::from_fn(|word| self.words[word] | other.words[word]) }
    }
}

impl Shr<u32> for Tag {
    type Output = Tag;

    /// Removes the lowest `bits` bits. The result is zero if the tag has no more.
    fn shr(self, bits: u32) -> Tag {
        let (words, bits) = ((bits / WORD_BITS) as usize, bits % WORD_BITS);
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        let shifted = |index: usize| {
            let above = word(index + words + 1).checked_shl(WORD_BITS - bits).unwrap_or(0);
            word(index + words) >> bits | above
        };
        Tag { words: std::array::from_fn(shifted) }
    }
}

impl Shl<u32> for Tag {
    type Output = Tag;

    /// Inserts `bits` zeros below, and drops the bits that no longer fit.
    fn shl(self, bits: u32) -> Tag {
        let (words, bits) = ((bits / WORD_BITS) as usize, bits % WORD_BITS);
        let word = |index: Option<usize>| index.map_or(0, |index| self.words[index]);
        let shifted = |index: usize| {
            let below = word(index.checked_sub(words + 1)).checked_shr(WORD_BITS - bits).unwrap_or(0);
            word(index.checked_sub(words)) << bits | below
        };
        Tag { words: std::array::from_fn(shifted) }
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits: String = self.words.iter().rev().map(|word| format!("{word:016x}")).collect();
        let digits = digits.trim_start_matches('0');
        write!(f, "0x{}", if digits.is_empty() { "0" } else { digits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;
    use proptest::prelude::*;

    #[test]
    fn a_truncated_tag_is_the_beginning_of_the_long_one() {
        let code = hex!("0123456789abcdef0fedcba987654321");
        assert_eq!(Tag::first_of(&code, 64), 0x0123_4567_89ab_cdef_u64.into());
        assert_eq!(Tag::first_of(&code, 56), 0x01_2345_6789_abcd_u64.into());
        assert_eq!(Tag::first_of(&code, 128), 0x0123_4567_89ab_cdef_0fed_cba9_8765_4321_u128.into());
        assert_eq!(Tag::first_of(&code, 72), 0x01_2345_6789_abcd_ef0f_u128.into());
        assert_eq!(Tag::first_of(&code[..8], 64), Tag::first_of(&code, 64));
        assert_eq!(format!("{:?}", Tag::first_of(&code, 20)), "0x1234");
    }

    #[test]
    #[should_panic(expected = "a tag of 65 bits of a code of 8 bytes")]
    fn a_tag_longer_than_its_mac_output_is_refused() {
        Tag::first_of(&[1; 8], 65);
    }

    /// Returns the bits of a tag, from the lowest up.
    fn bits_of(tag: &Tag) -> Vec<bool> {
        tag.to_bytes().iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect()
    }

    proptest! {
        #[test]
        fn a_tag_of_n_bits_is_the_first_n_bits_of_its_mac_output(code in proptest::collection::vec(any::<u8>(), 1..=64), cut in 0u32..512) {
            let bits = 1 + cut % (8 * code.len() as u32);
            let expected = (0..bits as usize).map(|bit| code[bit / 8] >> (7 - bit % 8) & 1 == 1);
            let found = bits_of(&Tag::first_of(&code, bits));
            prop_assert!(found.iter().skip(bits as usize).all(|bit| !bit), "nothing above");
            prop_assert!(found.into_iter().take(bits as usize).rev().eq(expected));
        }

        #[test]
        fn shifting_a_tag_moves_each_bit_by_the_shift_distance(bytes in any::<[[u8; 32]; 2]>(), by in 0usize..=600) {
            let tag = Tag::from_bytes(bytes.as_flattened());
            let bits = bits_of(&tag);
            let down: Vec<bool> = (0..512).map(|bit| bits.get(bit + by).copied().unwrap_or(false)).collect();
            let up: Vec<bool> = (0..512).map(|bit: usize| bit.checked_sub(by).is_some_and(|bit| bits[bit])).collect();
            prop_assert_eq!((bits_of(&(tag >> by as u32)), bits_of(&(tag << by as u32))), (down, up));
        }

        #[test]
        fn a_tag_made_of_bytes_returns_the_same_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..=64)) {
            let tag = Tag::from_bytes(&bytes);
            prop_assert_eq!(&tag.to_bytes()[..bytes.len()], &bytes[..]);
            prop_assert!(tag.to_bytes()[bytes.len()..].iter().all(|byte| *byte == 0));
            prop_assert_eq!(tag ^ tag, Tag::default());
        }

        #[test]
        fn tags_of_64_or_128_bits_convert_to_their_numbers(one in any::<u64>(), two in any::<u128>()) {
            prop_assert_eq!((Tag::from(one).low_word(), Tag::from(two).low_128()), (one, two));
            prop_assert_eq!(Tag::from(two), Tag::from((two >> 64) as u64) << 64 | Tag::from(two as u64));
            prop_assert_eq!(Tag::from_bytes(&two.to_le_bytes()), Tag::from(two));
        }
    }

    #[test]
    fn a_tag_of_n_ones_has_n_bits_set() {
        for bits in [1, 63, 64, 65, 128, 511, 512] {
            assert_eq!(bits_of(&Tag::ones(bits)).iter().filter(|bit| **bit).count(), bits as usize);
            assert_eq!(Tag::ones(bits) >> bits, Tag::default());
        }
    }
}
