//! HMAC (RFC 2104) with SHA-1, SHA-256 and SHA-512, cut to the tag's length.
//!
//! AEGIS and designs of its time used this code. Keys are as long as the hash.

use super::MessageMac;
use crate::Key;
use hmac::{EagerHash, KeyInit};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// HMAC-SHA-1 over nonce and line.
pub type HmacSha1 = MessageMac<hmac::Hmac<Sha1>>;
/// HMAC-SHA-256 over nonce and line.
pub type HmacSha256 = MessageMac<hmac::Hmac<Sha256>>;
/// HMAC-SHA-512 over nonce and line.
pub type HmacSha512 = MessageMac<hmac::Hmac<Sha512>>;

impl<H: EagerHash> MessageMac<hmac::Hmac<H>>
where
    hmac::Hmac<H>: cmac::Mac + Clone + KeyInit,
{
    /// Hashes the key once for all lines.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> MessageMac<hmac::Hmac<H>> {
        MessageMac::keyed_by(&key.0)
    }

    pub(crate) fn keyed_by(key: &[u8]) -> MessageMac<hmac::Hmac<H>> {
        MessageMac::over(KeyInit::new_from_slice(key).expect("HMAC takes keys of any length"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    const KEYS: [&[u8]; 6] = [
        &[0x0b; 20],
        b"Jefe",
        &[0xaa; 20],
        &hex!("0102030405060708090a0b0c0d0e0f10111213141516171819"),
        &[0xaa; 80],
        &[0xaa; 131],
    ];

    #[test]
    fn hmac_sha_1_gives_test_cases_1_2_4_and_6_of_rfc_2202() {
        let code = |key: &[u8], text: &[u8]| HmacSha1::keyed_by(key).code(&[text]).as_ref().to_vec();
        assert_eq!(code(KEYS[0], b"Hi There"), hex!("b617318655057264e28bc0b6fb378c8ef146be00"));
        assert_eq!(code(KEYS[1], b"what do ya want for nothing?"), hex!("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"));
        assert_eq!(code(KEYS[3], &[0xcd; 50]), hex!("4c9007f4026250c6bc8414f9bf50c86c2d7235da"));
        assert_eq!(
            code(KEYS[4], b"Test Using Larger Than Block-Size Key - Hash Key First"),
            hex!("aa4ae5e15272d00e95705637ce8a3b55ed402112")
        );
    }

    #[test]
    fn hmac_sha_256_and_512_give_test_cases_1_2_and_3_of_rfc_4231() {
        let short = |key: &[u8], text: &[u8]| HmacSha256::keyed_by(key).code(&[text]).as_ref().to_vec();
        let long = |key: &[u8], text: &[u8]| HmacSha512::keyed_by(key).code(&[text]).as_ref().to_vec();
        assert_eq!(
            short(KEYS[0], b"Hi There"),
            hex!("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        );
        assert_eq!(
            short(KEYS[1], b"what do ya want for nothing?"),
            hex!("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        );
        assert_eq!(
            short(KEYS[2], &[0xdd; 50]),
            hex!("773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe")
        );
        assert_eq!(
            long(KEYS[0], b"Hi There"),
            hex!(
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
                "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"
            )
        );
        assert_eq!(
            long(KEYS[1], b"what do ya want for nothing?"),
            hex!(
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
            )
        );
        assert_eq!(
            short(KEYS[5], b"Test Using Larger Than Block-Size Key - Hash Key First"),
            hex!("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        );
    }
}
