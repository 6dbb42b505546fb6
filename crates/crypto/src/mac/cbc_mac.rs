//! CBC-MAC as in CryptoPage (Duc and Keryell, ACSAC 2006, equations 4 to 6; ISO/IEC 9797-1, algorithm 1).
//!
//! ```text
//! H(0) = E(R || a)     H(i) = E(C(i-1) ^ H(i-1)), i = 1 ..= l
//! ```
//! The paper's `R || a`, a number drawn at each permutation and the line's place, is the nonce. Every message has the same
//! length, without which CBC-MAC would be forgeable.

use super::chained::Chained;
use crate::Key;
use aes::Aes128;
use aes::cipher::array::ArraySize;
use aes::cipher::{Block, KeyInit};

/// CBC-MAC of a block cipher over nonce and line.
pub type CbcMac<C = Aes128> = Chained<C, cbc_mac::CbcMac<C>>;

impl<C: cmac::block_api::CmacCipher + Clone> Chained<C, cbc_mac::CbcMac<C>> {
    /// Expands the key of the block cipher.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> CbcMac<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
        cbc_mac::CbcMac<C>: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Chained::over(key.cipher(), Block::<C>::default(), key.cipher())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::xor;
    use crate::tests::nonce;
    use crate::{Domain, LineMac};
    use aes::cipher::{Array, BlockCipherEncrypt};

    #[test]
    fn the_cbc_mac_tag_follows_equations_4_to_6_of_cryptopage() {
        let key = Key([6; 16]);
        let cipher: Aes128 = key.cipher();
        let at = nonce(9, 1234);
        let line: units::Line = std::array::from_fn(|byte| byte as u8);
        let mut h = Array(at.block(Domain::TagMask, 0));
        cipher.encrypt_block(&mut h);
        for block in line.chunks(16) {
            xor(&mut h, block);
            cipher.encrypt_block(&mut h);
        }
        let expected = u128::from_be_bytes(h.into());
        assert_eq!(CbcMac::<Aes128>::new(&key).tag(&at, &line, 128), expected.into());
        assert_eq!(CbcMac::<Aes128>::new(&key).tag(&at, &line, 64), (expected >> 64).into());
    }

    #[test]
    fn triple_des_gives_the_daa_example_of_fips_113() {
        // With three equal keys Triple-DES is DES: "7654321 Now is the time for ", appendix 2 of FIPS 113.
        let mac =
            CbcMac::<des::TdesEde3>::new(&Key(hex_literal::hex!("0123456789abcdef0123456789abcdef0123456789abcdef")));
        assert_eq!(mac.library.code(&[b"7654321 Now is the time for "]).as_ref()[..4], hex_literal::hex!("f1d30f68"));
    }
}
