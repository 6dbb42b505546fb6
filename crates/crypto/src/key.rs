//! Keys, and the way in which a machine draws them when it boots.

use crate::BLOCK_BYTES;
use aes::Aes128;
use aes::cipher::array::ArraySize;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

/// A key of this many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<const BYTES: usize = 16>(pub [u8; BYTES]);

impl<const BYTES: usize> Key<BYTES> {
    /// Returns the key for one purpose of a machine that drew `seed` at boot, as hardware draws its keys at power-on.
    ///
    /// AES in counter mode under the seed expands the key, so that different purposes get unrelated keys.
    pub fn for_purpose(seed: u64, purpose: u64) -> Key<BYTES> {
        let mut root = [0; 16];
        root[..8].copy_from_slice(&seed.to_le_bytes());
        let root: Aes128 = Key(root).cipher();
        let mut key = [0; BYTES];
        for (index, part) in key.chunks_mut(BLOCK_BYTES).enumerate() {
            let mut block = Array([0; BLOCK_BYTES]);
            block[..8].copy_from_slice(&purpose.to_le_bytes());
            block[8..].copy_from_slice(&(index as u64).to_le_bytes());
            root.encrypt_block(&mut block);
            part.copy_from_slice(&block[..part.len()]);
        }
        Key(key)
    }

    /// Returns the cipher under this key, with an expanded key schedule.
    pub fn cipher<C: KeyInit>(&self) -> C
    where
        C::KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>,
    {
        C::new((&self.0).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_keys_of_different_purposes_and_seeds_share_no_block() {
        let mut blocks = std::collections::HashSet::new();
        for seed in 0..4 {
            for purpose in 0..4 {
                for block in Key::<64>::for_purpose(seed, purpose).0.chunks(BLOCK_BYTES) {
                    assert!(blocks.insert(block.to_vec()), "a block of a key came twice");
                }
            }
        }
    }
}
