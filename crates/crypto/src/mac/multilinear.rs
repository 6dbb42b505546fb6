//! The code of SGX's memory encryption engine: a multilinear hash in GF(2^64), masked (Gueron, "A Memory Encryption Engine
//! Suitable for General Purpose Processors", IACR ePrint 2016/204).
//!
//! ```text
//! tag = first bits of ( sum of m_j * k_j, j = 0 .. 8  ^  E(nonce) )      in GF(2)[x] / (x^64 + x^4 + x^3 + x + 1)
//! ```
//! m_j are the line's eight words and k_j those of a 512-bit key. The mask must never be used twice, like the mask of
//! GMAC; hash, mask and encryption have separate keys. The report fixes field, lengths and structure, but no order of
//! bits. Here a word is little-endian, as the processor stores it, and its lowest bit is the coefficient of 1. The
//! report contains no vectors.

use super::Tag;
use crate::blocks::xor;
use crate::{Domain, Key, LineMac, Nonce};
use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt};
use units::{LINE_BYTES, Line};

/// Reduced form of x^64.
const REDUCTION: u64 = 0x1b;
/// Groups of four bits in a line.
const NIBBLES: usize = 2 * LINE_BYTES;

/// The multilinear hash of a line, masked.
#[derive(Clone)]
pub struct Multilinear {
    cipher: Aes128,
    /// Contribution of each value of each nibble of a line to the hash, which is linear in the line's bits.
    terms: Box<[[u64; 16]; NIBBLES]>,
}

impl Multilinear {
    /// Creates a code with the eight words of `words` as the key of its hash, and a key for its mask.
    pub fn new(mask: &Key, words: &Key<LINE_BYTES>) -> Multilinear {
        let mut terms = Box::new([[0; 16]; NIBBLES]);
        for (key, terms) in words.0.chunks(8).zip(terms.chunks_mut(16)) {
            let mut key = u64::from_le_bytes(std::array::from_fn(|byte| key[byte]));
            for values in terms {
                for bit in 0..4 {
                    for value in 0..1 << bit {
                        values[1 << bit | value] = values[value] ^ key;
                    }
                    key = double(key);
                }
            }
        }
        Multilinear { cipher: mask.cipher(), terms }
    }

    /// Returns the hash without the mask.
    fn hash(&self, text: &Line) -> u64 {
        let nibbles = text.iter().flat_map(|byte| [byte & 15, byte >> 4]);
        self.terms.iter().zip(nibbles).fold(0, |sum, (values, nibble)| sum ^ values[nibble as usize])
    }
}

/// Multiplies an element by x.
fn double(element: u64) -> u64 {
    element << 1 ^ if element >> 63 == 1 { REDUCTION } else { 0 }
}

impl LineMac for Multilinear {
    /// The number of bits is that of the hash: further bits of the mask would hide no hash.
    fn whole_bits(&self) -> u32 {
        u64::BITS
    }

    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        let mut tag = Array(nonce.block(Domain::TagMask, 0));
        self.cipher.encrypt_block(&mut tag);
        xor(&mut tag[..8], &self.hash(text).to_be_bytes());
        Tag::first_of(&tag[..8], bits)
    }

    fn is_masked(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Multiplies two elements of the field, bit by bit from the top.
    fn multiply(a: u64, b: u64) -> u64 {
        (0..64).rev().fold(0, |sum, bit| double(sum) ^ if a >> bit & 1 == 1 { b } else { 0 })
    }

    proptest! {
        #[test]
        fn the_multilinear_hash_is_the_sum_of_products_of_words_and_key_words(words: [u64; 8], key: [u64; 8]) {
            let bytes = |words: [u64; 8]| -> [u8; 64] { words.map(u64::to_le_bytes).as_flattened().try_into().unwrap() };
            let expected = words.iter().zip(key).fold(0, |sum, (&word, key)| sum ^ multiply(word, key));
            let mac = Multilinear::new(&Key([1; 16]), &Key(bytes(key)));
            prop_assert_eq!(mac.hash(&bytes(words)), expected);
        }

        #[test]
        fn the_field_has_inverses(a in 1u64..) {
            // Fermat: a to the power of 2^64 - 2 is its inverse, if the polynomial is irreducible.
            let mut inverse = 1;
            let mut square = a;
            for _ in 1..64 {
                square = multiply(square, square);
                inverse = multiply(inverse, square);
            }
            prop_assert_eq!(multiply(a, inverse), 1);
        }
    }
}
