//! SHA-256/192 over the key followed by the text: hashes for the nodes of trees.
//!
//! The hash is the first 192 bits of `SHA-256(key, filled up to a block || line_number || text)` (NIST SP 800-208, 2.3,
//! calls that SHA-256/192). An attacker cannot extend a hash without the omitted bits, so this hash needs no second
//! pass with the key, unlike HMAC. The key's block is compressed once for all hashes. Two child hashes and their line
//! number then fit one block; HMAC of the same text needs three. A collision costs 2^96 hashes.

use crate::{Key, LINE_NUMBER_BITS};
use sha2::{Digest, Sha256};

/// Bytes that one step of SHA-256 processes.
const COMPRESSED_BYTES: usize = 64;
/// Bytes of a place in the input.
const LINE_NUMBER_BYTES: usize = LINE_NUMBER_BITS as usize / 8;

/// SHA-256/192 over key, line number and text.
pub struct Sha256Prefix {
    keyed: Sha256,
}

impl Sha256Prefix {
    /// Bytes of a hash.
    pub const BYTES: usize = 24;

    /// Compresses the key once for all texts.
    pub fn new(key: &Key) -> Sha256Prefix {
        let mut block = [0; COMPRESSED_BYTES];
        block[..key.0.len()].copy_from_slice(&key.0);
        Sha256Prefix::after(&block)
    }

    fn after(block: &[u8; COMPRESSED_BYTES]) -> Sha256Prefix {
        Sha256Prefix { keyed: Sha256::new_with_prefix(block) }
    }

    /// Returns the hash of a text of any length at a place, which is the number of a line.
    ///
    /// # Panics
    /// If the place needs more than [`LINE_NUMBER_BITS`]: memories that large are refused long before.
    pub fn hash(&self, line_number: u64, text: &[u8]) -> [u8; Sha256Prefix::BYTES] {
        assert!(line_number >> LINE_NUMBER_BITS == 0, "line {line_number} does not fit a hash");
        self.code(&line_number.to_le_bytes()[..LINE_NUMBER_BYTES], text)
    }

    fn code(&self, line_number: &[u8], text: &[u8]) -> [u8; Sha256Prefix::BYTES] {
        let whole = self.keyed.clone().chain_update(line_number).chain_update(text).finalize();
        let mut first = [0; Sha256Prefix::BYTES];
        first.copy_from_slice(&whole[..Sha256Prefix::BYTES]);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn sha_256_with_the_first_example_block_as_key_gives_the_nist_example() {
        // 896 bits, from NIST's examples for FIPS 180.
        let text = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
        let (key, rest) = text.split_first_chunk().unwrap();
        let (line_number, rest) = rest.split_at(LINE_NUMBER_BYTES);
        assert_eq!(
            Sha256Prefix::after(key).code(line_number, rest),
            hex!("cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51")
        );
    }

    #[test]
    fn the_sha_256_prefix_hash_depends_on_address_length_content_and_key() {
        let keyed = Sha256Prefix::new(&Key([7; 16]));
        let hashes = [
            keyed.hash(1, &[0; 48]),
            keyed.hash(2, &[0; 48]),
            keyed.hash(1, &[0; 64]),
            keyed.hash(1, &[1; 48]),
            Sha256Prefix::new(&Key([8; 16])).hash(1, &[0; 48]),
        ];
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "{index}");
        }
    }
}
