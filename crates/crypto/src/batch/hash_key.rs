//! Powers of the hash key, computed once for the hash of a line, in the form that the multipliers of processors need.
//!
//! In GHASH, the first bit of the first byte of a polynomial is the coefficient of 1; in multipliers the lowest bit is.
//! Reversing the bytes of a block leaves the bits of each byte reversed. One multiplication of the key by x corrects
//! this (RFC 8452, appendix A).

use aes::cipher::BlockCipherEncrypt;
use aes::{Aes128, Block};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use units::LINE_BYTES;

/// x^128 reduced, in the form of multipliers.
const REDUCTION: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// Powers of the hash key.
#[derive(Clone)]
pub struct HashKey {
    /// Powers for the blocks of a line in their order: the fifth to the second.
    pub powers: [u128; 4],
    /// The product of the block of lengths and the key, its bytes reversed.
    pub lengths: u128,
}

impl HashKey {
    /// Returns the hash key of GCM under this cipher, from the encryption of zero.
    pub fn new(cipher: &Aes128) -> HashKey {
        let mut first = Block::default();
        cipher.encrypt_block(&mut first);
        let times_key = |block: Block| -> Block {
            let mut hash = GHash::new(&first);
            hash.update(&[block]);
            hash.finalize()
        };
        let second = times_key(first);
        let third = times_key(second);
        let fourth = times_key(third);
        let powers = [times_key(fourth), fourth, third, second];
        let mut lengths = Block::default();
        lengths[8..].copy_from_slice(&(8 * LINE_BYTES as u64).to_be_bytes());
        HashKey {
            powers: powers.map(|power| times_x(u128::from_be_bytes(power.into()))),
            lengths: u128::from_be_bytes(times_key(lengths).into()),
        }
    }
}

/// Multiplies an element by x, in the form of multipliers.
fn times_x(element: u128) -> u128 {
    element << 1 ^ if element >> 127 == 1 { REDUCTION } else { 0 }
}
