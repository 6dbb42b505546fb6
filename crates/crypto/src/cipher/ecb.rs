//! Electronic codebook: every block is encrypted separately (NIST SP 800-38A, section 6.1). For comparison only.
//!
//! Neither address nor version is an input, so equal blocks of plaintext have equal ciphertext, at every address.

use crate::blocks::{blocks_of, blocks_per_line};
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{Key, LineCipher, Nonce};
use aes::cipher::array::ArraySize;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use units::Line;

/// A block cipher in electronic codebook mode.
pub struct Ecb<C> {
    cipher: C,
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> Ecb<C> {
    /// Expands the key of the block cipher.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> Ecb<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Ecb::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> Ecb<C> {
        Ecb { cipher }
    }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> LineCipher for Ecb<C> {
    fn seal(&self, _nonce: &Nonce, plaintext: &Line) -> Line {
        let mut line = *plaintext;
        self.cipher.encrypt_blocks(blocks_of::<C>(&mut line));
        line
    }

    fn open(&self, _nonce: &Nonce, ciphertext: &Line) -> Line {
        let mut line = *ciphertext;
        self.cipher.decrypt_blocks(blocks_of::<C>(&mut line));
        line
    }

    fn uses(&self) -> Uses {
        let (of_nonce, of_line) = (0, blocks_per_line::<C>());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: false, of_line, order: BlockOrder::Parallel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{SP800_38A_PLAINTEXT, nonce};
    use aes::{Aes128, Aes192, Aes256};
    use des::TdesEde3;
    use hex_literal::hex;

    #[test]
    fn ecb_of_a_line_gives_examples_f_1_1_3_and_5_of_sp_800_38a() {
        let aes128 = Ecb::<Aes128>::new(&Key(hex!("2b7e151628aed2a6abf7158809cf4f3c")));
        let aes192 = Ecb::<Aes192>::new(&Key(hex!("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b")));
        let aes256 = Ecb::<Aes256>::new(&Key(hex!("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")));
        assert_eq!(
            aes128.seal(&nonce(1, 1), &SP800_38A_PLAINTEXT),
            hex!(
                "3ad77bb40d7a3660a89ecaf32466ef97" "f5d3d58503b9699de785895a96fdbaaf"
                "43b1cd7f598ece23881b00e3ed030688" "7b0c785e27e8ad3f8223207104725dd4"
            )
        );
        assert_eq!(
            aes192.seal(&nonce(1, 1), &SP800_38A_PLAINTEXT),
            hex!(
                "bd334f1d6e45f25ff712a214571fa5cc" "974104846d0ad3ad7734ecb3ecee4eef"
                "ef7afd2270e2e60adce0ba2face6444e" "9a4b41ba738d6c72fb16691603c18e0e"
            )
        );
        assert_eq!(
            aes256.seal(&nonce(1, 1), &SP800_38A_PLAINTEXT),
            hex!(
                "f3eed1bdb5d2a03c064b5a7e3db181f8" "591ccb10d410ed26dc5ba74a31362870"
                "b6ed21b99ca6f4f9f153e7b1beafed1d" "23304b7a39f9f3ff067d8d8f9e24ecc7"
            )
        );
    }

    #[test]
    fn ecb_of_one_aes_block_gives_each_example_of_fips_197() {
        let text = hex!("00112233445566778899aabbccddeeff");
        let mut line = [0; 64];
        line[..16].copy_from_slice(&text);
        let first = |sealed: Line| -> [u8; 16] { sealed[..16].try_into().unwrap() };
        let key = hex!("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        let aes128 = Ecb::<Aes128>::new(&Key::<16>(key[..16].try_into().unwrap()));
        let aes192 = Ecb::<Aes192>::new(&Key::<24>(key[..24].try_into().unwrap()));
        let aes256 = Ecb::<Aes256>::new(&Key(key));
        assert_eq!(first(aes128.seal(&nonce(0, 0), &line)), hex!("69c4e0d86a7b0430d8cdb78070b4c55a"));
        assert_eq!(first(aes192.seal(&nonce(0, 0), &line)), hex!("dda97ca4864cdfe06eaf70a0ec0d7191"));
        assert_eq!(first(aes256.seal(&nonce(0, 0), &line)), hex!("8ea2b7ca516745bfeafc49904b496089"));
    }

    #[test]
    fn triple_des_gives_the_example_of_nist_sp_800_67() {
        // "The qufck brown fox jump", appendix B.1: three blocks; the line ends with zeros.
        let mut line = [0; 64];
        line[..24].copy_from_slice(&hex!("5468652071756663" "6b2062726f776e20" "666f78206a756d70"));
        let tdes = Ecb::<TdesEde3>::new(&Key(hex!("0123456789abcdef23456789abcdef01456789abcdef0123")));
        let sealed = tdes.seal(&nonce(0, 0), &line);
        assert_eq!(sealed[..24], hex!("a826fd8ce53b855f" "cce21c8112256fe6" "68d5c05dd9b6b900"));
        assert_eq!(tdes.open(&nonce(0, 0), &sealed), line);
    }
}
