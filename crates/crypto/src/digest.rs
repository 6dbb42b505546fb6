//! SHA-1 without a key (FIPS 180-4), for the nodes of CryptoPage's tree (Duc and Keryell, ACSAC 2006, section 3.1).
//!
//! In a tree, an attacker must not find another text with a given hash. Collisions, which SHA-1 no longer prevents
//! (Stevens et al., CRYPTO 2017), need two texts that the attacker chooses. The texts here are records that the chip
//! encrypts, and hashes of these records.

use sha1::{Digest, Sha1};

/// Bytes of a SHA-1 hash.
pub const SHA1_BYTES: usize = 20;
/// Bytes that one step of SHA-1 processes.
const BLOCK_BYTES: usize = 64;
/// Fewest bytes that padding adds to a text: a one and the text's length.
const PADDING_BYTES: usize = 9;

/// Returns the hash of a text in two parts.
pub fn sha1_of_pair(left: &[u8], right: &[u8]) -> [u8; SHA1_BYTES] {
    Sha1::new().chain_update(left).chain_update(right).finalize().into()
}

/// Returns the number of SHA-1 steps for a text of this length, one for each of its padded blocks.
pub const fn sha1_steps(bytes: usize) -> u32 {
    (bytes + PADDING_BYTES).div_ceil(BLOCK_BYTES) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn sha_1_of_two_parts_equals_the_nist_examples_of_the_joined_text() {
        let one_block = hex!("a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(sha1_of_pair(b"", b"abc"), one_block);
        assert_eq!(sha1_of_pair(b"ab", b"c"), one_block);
        let (left, right) = (b"abcdbcdecdefdefgefgh", b"fghighijhijkijkljklmklmnlmnomnopnopq");
        assert_eq!(sha1_of_pair(left, right), hex!("84983e441c3bd26ebaae4aa1f95129e5e54670f1"));
    }

    #[test]
    fn sha_1_needs_another_compression_step_if_the_padding_does_not_fit() {
        let steps = |bytes| sha1_steps(bytes);
        assert_eq!([0, 40, 55, 56, 64, 119, 120, 608].map(steps), [1, 1, 1, 2, 2, 2, 3, 10]);
    }
}
