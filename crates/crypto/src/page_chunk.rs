//! Pads and codes of the lines of a page chunk that is permuted (CryptoPage: Duc and Keryell, ACSAC 2006, equations 1
//! to 6).
//!
//! ```text
//! PAD(i) = E_Ke(R' || a || i)                                  119 + 8 + 1 bits
//! H(0)   = E_Km(R || a)     H(i) = E_Km(C(i-1) ^ H(i-1))       120 + 8 bits, i = 1 ..= l
//! ```
//! `a` is the number of a slot in its page chunk, R' and R are drawn at each permutation. The paper prints the range of
//! equation 5 as 1 to l - 1, which omits the last block of a line from its code.

use crate::blocks::xor;
use crate::{BLOCK_BYTES, Key};
use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt};
use cbc_mac::{CbcMac, KeyInit, Mac};

/// Blocks of a line.
pub const PAGE_CHUNK_LINE_BLOCKS: usize = 2;
/// Bytes of a line.
pub const PAGE_CHUNK_LINE_BYTES: usize = PAGE_CHUNK_LINE_BLOCKS * BLOCK_BYTES;
/// Bits after R' for the numbers of the slot and of the block.
const PAD_POSITION_BITS: u32 = u8::BITS + PAGE_CHUNK_LINE_BLOCKS.ilog2();

/// Encrypts and authenticates lines of page chunks, with a separate key for each of the two.
#[derive(Clone)]
pub struct PageChunkCipher {
    pads: Aes128,
    code: CbcMac<Aes128>,
}

impl PageChunkCipher {
    /// Expands the keys Ke and Km.
    pub fn new(pads: &Key, code: &Key) -> PageChunkCipher {
        PageChunkCipher { pads: pads.cipher(), code: CbcMac::new((&code.0).into()) }
    }

    /// Applies the pad of a line, to encrypt or to decrypt it (equations 2 and 3). `number` is R'.
    ///
    /// # Panics
    /// If R' has more than 119 bits.
    pub fn apply_pad(&self, number: u128, slot: u8, line: &mut [u8; PAGE_CHUNK_LINE_BYTES]) {
        assert_eq!(number >> (u128::BITS - PAD_POSITION_BITS), 0, "R' has 119 bits");
        for (block, text) in (0..).zip(line.chunks_exact_mut(BLOCK_BYTES)) {
            let counter = number << PAD_POSITION_BITS | u128::from(slot) << (PAD_POSITION_BITS - u8::BITS) | block;
            let mut pad = Array(counter.to_be_bytes());
            self.pads.encrypt_block(&mut pad);
            xor(text, &pad);
        }
    }

    /// Returns the code of encrypted lines from `slot` on (equations 4 to 6; for several lines as in section 3.3).
    /// `number` is R.
    ///
    /// # Panics
    /// If R has more than 120 bits.
    pub fn code(&self, number: u128, slot: u8, lines: &[u8]) -> u128 {
        assert_eq!(number >> (u128::BITS - u8::BITS), 0, "R has 120 bits");
        let position = number << u8::BITS | u128::from(slot);
        let code = self.code.clone().chain_update(position.to_be_bytes()).chain_update(lines).finalize();
        u128::from_be_bytes(code.into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [Key; 2] = [Key([1; 16]), Key([2; 16])];
    const NUMBER: u128 = (1 << 119) - 5;

    fn encrypt(key: &Key, block: u128) -> u128 {
        let mut block = Array(block.to_be_bytes());
        key.cipher::<Aes128>().encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }

    #[test]
    fn page_chunk_pads_follow_equations_2_and_3_of_cryptopage() {
        let mut line = [0; PAGE_CHUNK_LINE_BYTES];
        PageChunkCipher::new(&KEYS[0], &KEYS[1]).apply_pad(NUMBER, 0xa5, &mut line);
        let block = |number: u128| encrypt(&KEYS[0], NUMBER << 9 | 0xa5 << 1 | number).to_be_bytes();
        assert_eq!(line[..16], block(0));
        assert_eq!(line[16..], block(1));
    }

    #[test]
    fn a_page_chunk_mac_follows_equations_4_to_6_of_cryptopage() {
        let line: [u8; PAGE_CHUNK_LINE_BYTES] = std::array::from_fn(|byte| byte as u8);
        let block = |number: usize| u128::from_be_bytes(line[16 * number..][..16].try_into().unwrap());
        let h0 = encrypt(&KEYS[1], NUMBER << 8 | 0x17);
        let h1 = encrypt(&KEYS[1], block(0) ^ h0);
        let h2 = encrypt(&KEYS[1], block(1) ^ h1);
        assert_eq!(PageChunkCipher::new(&KEYS[0], &KEYS[1]).code(NUMBER, 0x17, &line), h2);
    }

    #[test]
    fn a_page_chunk_mac_over_several_lines_chains_all_their_blocks() {
        let lines: [u8; 4 * PAGE_CHUNK_LINE_BYTES] = std::array::from_fn(|byte| (7 * byte) as u8);
        let blocks = lines.chunks_exact(16).map(|block| u128::from_be_bytes(block.try_into().unwrap()));
        let code = blocks.fold(encrypt(&KEYS[1], NUMBER << 8 | 0x44), |code, block| encrypt(&KEYS[1], block ^ code));
        assert_eq!(PageChunkCipher::new(&KEYS[0], &KEYS[1]).code(NUMBER, 0x44, &lines), code);
    }

    #[test]
    fn page_chunk_pads_differ_for_different_slots_and_numbers() {
        let cipher = PageChunkCipher::new(&KEYS[0], &KEYS[1]);
        let mut blocks = std::collections::HashSet::new();
        for number in [0, 1, NUMBER] {
            for slot in 0..=u8::MAX {
                let mut line = [0; PAGE_CHUNK_LINE_BYTES];
                cipher.apply_pad(number, slot, &mut line);
                assert!(line.chunks(16).all(|block| blocks.insert(block.to_vec())));
            }
        }
    }
}
