//! XTS: encryption without counters, tweaked by the line's place (IEEE 1619, NIST SP 800-38E).
//!
//! Deterministic as long as the nonce holds no counter: the same plaintext at the same place always gives the same
//! ciphertext, and whatever was once valid stays valid. That is its price for needing no metadata. The tweak is the nonce
//! as it stands, which without a counter is the line's number.

use crate::blocks::blocks_per_line;
use crate::{Domain, Key, LineCipher, Nonce};
use aes::cipher::array::ArraySize;
use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use units::Line;
use xts_mode::Xts128;

/// A block cipher in XTS over lines.
pub struct Xts<C> {
    pub(crate) mode: Xts128<C>,
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> Xts<C> {
    /// One key for the data, one for the tweak.
    pub fn new<const BYTES: usize>(data: &Key<BYTES>, tweak: &Key<BYTES>) -> Xts<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Xts::over(data.cipher(), tweak.cipher())
    }

    pub(crate) fn over(data: C, tweak: C) -> Xts<C> {
        Xts { mode: Xts128::new(data, tweak) }
    }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> LineCipher for Xts<C> {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let mut bytes = *plaintext;
        self.mode.encrypt_sector(&mut bytes, tweak(nonce));
        bytes
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        let mut bytes = *ciphertext;
        self.mode.decrypt_sector(&mut bytes, tweak(nonce));
        bytes
    }

    fn blocks(&self) -> u32 {
        blocks_per_line::<C>() + 1
    }
}

fn tweak(nonce: &Nonce) -> aes::Block {
    Array(nonce.block(Domain::Pad, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use aes::Aes128;
    use hex_literal::hex;

    #[test]
    fn the_first_two_blocks_are_vector_2_of_ieee_1619() {
        let xts = Xts::<Aes128>::new(&Key([0x11; 16]), &Key([0x22; 16]));
        let place = nonce(0x33_3333_3333, 0);
        let ciphertext = xts.seal(&place, &[0x44; 64]);
        assert_eq!(ciphertext[..32], hex!("c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"));
        assert_eq!(xts.open(&place, &ciphertext), [0x44; 64]);
    }
}
