//! XTS: encryption without counters, tweaked by the line's address (IEEE 1619, NIST SP 800-38E).
//!
//! Encryption is deterministic as long as the nonce contains no counter: the same plaintext at the same address always
//! gives the same ciphertext, and an old ciphertext stays valid. In exchange, XTS needs no metadata. The tweak is the
//! unchanged nonce, which without a counter is the line's number.
//!
//! The cipher encrypts the blocks of a line in parallel, and each block is XOR-ed with its mask before and after. The
//! mask is the encrypted tweak, times alpha for every block before it.

use crate::blocks::{blocks_of, blocks_per_line};
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{Domain, Key, LineCipher, Nonce};
use aes::cipher::array::ArraySize;
use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use units::Line;

/// Alpha to the power of 128 in the field of XTS, with little-endian elements: `x^7 + x^2 + x + 1`.
const REDUCED: u128 = 0x87;

/// A block cipher in XTS over lines.
pub struct Xts<C> {
    data: C,
    tweak: C,
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> Xts<C> {
    /// Expands one key for the data and one for the tweak.
    pub fn new<const BYTES: usize>(data: &Key<BYTES>, tweak: &Key<BYTES>) -> Xts<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Xts::over(data.cipher(), tweak.cipher())
    }

    pub(crate) fn over(data: C, tweak: C) -> Xts<C> {
        Xts { data, tweak }
    }

    /// Encrypts a text of whole blocks.
    pub(crate) fn encrypt(&self, tweak: aes::Block, text: &mut [aes::Block]) {
        self.between_masks(tweak, text, |blocks| self.data.encrypt_blocks(blocks));
    }

    /// Decrypts a text of whole blocks.
    pub(crate) fn decrypt(&self, tweak: aes::Block, text: &mut [aes::Block]) {
        self.between_masks(tweak, text, |blocks| self.data.decrypt_blocks(blocks));
    }

    fn between_masks(&self, mut tweak: aes::Block, text: &mut [aes::Block], through: impl FnOnce(&mut [aes::Block])) {
        self.tweak.encrypt_block(&mut tweak);
        let first = u128::from_le_bytes(tweak.0);
        mask(text, first);
        through(text);
        mask(text, first);
    }
}

/// XORs each block with a mask. Each mask is alpha times the one before.
fn mask(text: &mut [aes::Block], first: u128) {
    let masks = std::iter::successors(Some(first), |mask| Some(times_alpha(*mask)));
    for (block, mask) in text.iter_mut().zip(masks) {
        block.0 = (u128::from_le_bytes(block.0) ^ mask).to_le_bytes();
    }
}

fn times_alpha(mask: u128) -> u128 {
    (mask << 1) ^ if mask >> 127 == 1 { REDUCED } else { 0 }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> LineCipher for Xts<C> {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let mut line = *plaintext;
        self.encrypt(tweak(nonce), blocks_of::<C>(&mut line));
        line
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        let mut line = *ciphertext;
        self.decrypt(tweak(nonce), blocks_of::<C>(&mut line));
        line
    }

    fn uses(&self) -> Uses {
        let (of_nonce, of_line) = (1, blocks_per_line::<C>());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: false, of_line, order: BlockOrder::Parallel }
    }
}

fn tweak(nonce: &Nonce) -> aes::Block {
    Array(nonce.block(Domain::Pad, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use aes::{Aes128, Aes256};
    use hex_literal::hex;
    use proptest::prelude::*;
    use xts_mode::Xts128;

    #[test]
    fn the_first_two_blocks_give_vector_2_of_ieee_1619() {
        let xts = Xts::<Aes128>::new(&Key([0x11; 16]), &Key([0x22; 16]));
        let line_number = nonce(0x33_3333_3333, 0);
        let ciphertext = xts.seal(&line_number, &[0x44; 64]);
        assert_eq!(ciphertext[..32], hex!("c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"));
        assert_eq!(xts.open(&line_number, &ciphertext), [0x44; 64]);
    }

    proptest! {
        #[test]
        fn sealing_and_opening_a_line_equal_xts_of_the_library(
            keys in any::<[[u8; 32]; 2]>(), line in 0u64..1 << 40, text in any::<[u8; 64]>(),
        ) {
            let line_number = nonce(line, 0);
            let ours = Xts::<Aes256>::new(&Key(keys[0]), &Key(keys[1]));
            let theirs = Xts128::new(Aes256::new(&Array(keys[0])), Aes256::new(&Array(keys[1])));
            let mut sealed = text;
            theirs.encrypt_sector(&mut sealed, tweak(&line_number));
            prop_assert_eq!(ours.seal(&line_number, &text), sealed);
            prop_assert_eq!(ours.open(&line_number, &sealed), text);
        }
    }
}
