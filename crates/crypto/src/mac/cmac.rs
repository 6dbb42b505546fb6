//! CMAC (RFC 4493, NIST SP 800-38B): a pseudo-random function of its whole input, serial in its blocks.

use super::chained::Chained;
use crate::Key;
use aes::Aes128;
use aes::cipher::array::ArraySize;
use aes::cipher::{Block, KeyInit};
use cmac::block_api::CmacCipher;
use dbl::Dbl;

/// CMAC of a block cipher over nonce and line.
pub type Cmac<C = Aes128> = Chained<C, cmac::Cmac<C>>;

impl<C: CmacCipher + Clone> Chained<C, cmac::Cmac<C>>
where
    Block<C>: Dbl,
{
    /// Expands the key and derives the subkey of whole blocks.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> Cmac<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
        cmac::Cmac<C>: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        let cipher: C = key.cipher();
        let mut subkey = Block::<C>::default();
        cipher.encrypt_block(&mut subkey);
        Chained::over(cipher, subkey.dbl(), key.cipher())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::SP800_38A_PLAINTEXT;
    use aes::{Aes192, Aes256};
    use des::TdesEde3;
    use hex_literal::hex;

    #[test]
    fn aes_cmac_gives_the_first_and_last_examples_of_rfc_4493() {
        let cmac = Cmac::<Aes128>::new(&Key(hex!("2b7e151628aed2a6abf7158809cf4f3c")));
        assert_eq!(cmac.library.code(&[]).as_ref(), hex!("bb1d6929e95937287fa37d129b756746"));
        assert_eq!(cmac.library.code(&[&SP800_38A_PLAINTEXT[..40]]).as_ref(), hex!("dfa66747de9ae63030ca32611497c827"));
        assert_eq!(cmac.library.code(&[&SP800_38A_PLAINTEXT]).as_ref(), hex!("51f0bebf7e3b9d92fc49741779363cfe"));
    }

    #[test]
    fn cmac_gives_the_examples_of_sp_800_38b_with_longer_keys() {
        let aes192 = Cmac::<Aes192>::new(&Key(hex!("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b")));
        let aes256 =
            Cmac::<Aes256>::new(&Key(hex!("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")));
        let tdes = Cmac::<TdesEde3>::new(&Key(hex!("8aa83bf8cbda10620bc1bf19fbb6cd58bc313d4a371ca8b5")));
        assert_eq!(aes192.library.code(&[&SP800_38A_PLAINTEXT]).as_ref(), hex!("a1d5df0eed790f794d77589659f39a11"));
        assert_eq!(aes256.library.code(&[&SP800_38A_PLAINTEXT]).as_ref(), hex!("e1992190549f6ed5696a2c056c315410"));
        assert_eq!(tdes.library.code(&[&SP800_38A_PLAINTEXT[..32]]).as_ref(), hex!("33e6b1092400eae5"));
    }
}
