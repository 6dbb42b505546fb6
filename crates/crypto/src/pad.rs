//! Counter mode: the keystream of a line.

use crate::{BLOCK_BYTES, BLOCKS_PER_LINE, Domain, Key, Nonce};
use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use units::{LINE_BYTES, Line};

/// AES-128 with its key schedule, making pads.
#[derive(Clone)]
pub struct PadCipher {
    aes: Aes128,
}

impl PadCipher {
    /// Expands the key.
    pub fn new(key: &Key) -> PadCipher {
        PadCipher { aes: Aes128::new(&Array(key.0)) }
    }

    /// One block, encrypted.
    pub fn encrypt_block(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Array(block);
        self.aes.encrypt_block(&mut block);
        block.0
    }

    /// The keystream of one line under one nonce (NIST SP 800-38A, section 6.5).
    pub fn pad(&self, nonce: &Nonce) -> Line {
        self.pad_from([0, 1, 2, 3].map(|index| nonce.block(Domain::Pad, index)))
    }

    fn pad_from(&self, counters: [[u8; BLOCK_BYTES]; BLOCKS_PER_LINE]) -> Line {
        let mut blocks = counters.map(Array);
        self.aes.encrypt_blocks(&mut blocks);
        let mut pad = [0; LINE_BYTES];
        for (bytes, block) in pad.chunks_exact_mut(BLOCK_BYTES).zip(blocks) {
            bytes.copy_from_slice(&block.0);
        }
        pad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    const SP800_38A_KEY: Key = Key(hex!("2b7e151628aed2a6abf7158809cf4f3c"));

    #[test]
    fn one_block_is_the_example_of_fips_197() {
        let cipher = PadCipher::new(&Key(hex!("000102030405060708090a0b0c0d0e0f")));
        assert_eq!(
            cipher.encrypt_block(hex!("00112233445566778899aabbccddeeff")),
            hex!("69c4e0d86a7b0430d8cdb78070b4c55a")
        );
    }

    #[test]
    fn a_line_of_keystream_is_example_f_5_1_of_sp_800_38a() {
        let first = u128::from_be_bytes(hex!("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"));
        let pad = PadCipher::new(&SP800_38A_KEY).pad_from([0, 1, 2, 3].map(|n| (first + n).to_be_bytes()));
        assert_eq!(
            pad,
            hex!(
                "ec8cdf7398607cb0f2d21675ea9ea1e4" "362b7c3c6773516318a077d7fc5073ae"
                "6a2cc3787889374fbeb4c81b17ba6c44" "e89c399ff0f198c6d40a31db156cabfe"
            )
        );
    }

    #[test]
    fn pads_of_neighbouring_counters_have_no_block_in_common() {
        let cipher = PadCipher::new(&SP800_38A_KEY);
        let mut blocks = std::collections::HashSet::new();
        for counter in 0..1024 {
            let pad = cipher.pad(&Nonce::new(units::LineAddr(5), counter));
            for block in pad.chunks(BLOCK_BYTES) {
                assert!(blocks.insert(block.to_vec()), "a block of keystream came twice");
            }
        }
    }
}
