//! Message authentication codes over a line.
//!
//! [`Gmac`] is a Carter-Wegman code: a polynomial hash of the message, hidden by a mask that must never serve twice. It
//! is cheap and parallel, and it needs a nonce. [`Cmac`] needs none: it is a pseudo-random function of its whole input,
//! serial in its blocks.

use crate::{BLOCK_BYTES, Domain, Key, Nonce, PadCipher};
use aes::Aes128;
use cmac::{KeyInit, Mac};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use units::Line;

/// GMAC over one line (NIST SP 800-38D): GHASH of the line, masked by the encrypted nonce.
#[derive(Clone)]
pub struct Gmac {
    cipher: PadCipher,
    hash: GHash,
}

impl Gmac {
    /// Derives the hash key, the encryption of zero, as GCM does.
    pub fn new(key: &Key) -> Gmac {
        let cipher = PadCipher::new(key);
        let hash = GHash::new(&cipher.encrypt_block([0; BLOCK_BYTES]).into());
        Gmac { cipher, hash }
    }

    /// The tag of `line` under `nonce`: the first `bits` of the full 128.
    ///
    /// # Panics
    /// If more than 64 bits are asked for.
    pub fn tag(&self, nonce: &Nonce, line: &Line, bits: u32) -> u64 {
        truncate(self.full_tag(nonce.block(Domain::TagMask, 0), line), bits)
    }

    fn full_tag(&self, mask_block: [u8; BLOCK_BYTES], line: &Line) -> [u8; BLOCK_BYTES] {
        let mut hash = self.hash.clone();
        hash.update_padded(line);
        let mut lengths = [0; BLOCK_BYTES];
        lengths[8..].copy_from_slice(&(8 * line.len() as u64).to_be_bytes());
        hash.update_padded(&lengths);
        let digest = hash.finalize();
        let mut tag = self.cipher.encrypt_block(mask_block);
        for (byte, digest) in tag.iter_mut().zip(digest) {
            *byte ^= digest;
        }
        tag
    }
}

/// AES-CMAC (RFC 4493, NIST SP 800-38B) over a line and the context that it must not be taken out of.
#[derive(Clone)]
pub struct Cmac {
    keyed: cmac::Cmac<Aes128>,
}

impl Cmac {
    /// Expands the key and derives the subkeys.
    pub fn new(key: &Key) -> Cmac {
        Cmac { keyed: cmac::Cmac::new(&key.0.into()) }
    }

    /// The tag of `context` followed by `line`: the first `bits` of the full 128.
    ///
    /// # Panics
    /// If more than 64 bits are asked for.
    pub fn tag(&self, context: &[u8; BLOCK_BYTES], line: &Line, bits: u32) -> u64 {
        let mut mac = self.keyed.clone();
        mac.update(context);
        mac.update(line);
        truncate(mac.finalize().into_bytes().into(), bits)
    }
}

/// The first `bits` of a tag, as a number.
fn truncate(tag: [u8; BLOCK_BYTES], bits: u32) -> u64 {
    assert!((1..=64).contains(&bits), "a tag of {bits} bits");
    (u128::from_be_bytes(tag) >> (128 - bits)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn the_tag_of_a_line_is_test_case_3_of_the_gcm_specification() {
        let gmac = Gmac::new(&Key(hex!("feffe9928665731c6d6a8f9467308308")));
        let ciphertext = hex!(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
        );
        let first_counter = hex!("cafebabefacedbaddecaf88800000001");
        assert_eq!(gmac.full_tag(first_counter, &ciphertext), hex!("4d5c2af327cd64a62cf35abd2ba6fab4"));
    }

    #[test]
    fn cmac_gives_example_4_of_rfc_4493() {
        let cmac = Cmac::new(&Key(hex!("2b7e151628aed2a6abf7158809cf4f3c")));
        let message = hex!(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
            "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
        );
        let mut mac = cmac.keyed.clone();
        mac.update(&message);
        assert_eq!(mac.finalize().into_bytes()[..], hex!("51f0bebf7e3b9d92fc49741779363cfe"));
    }

    #[test]
    fn a_short_tag_is_the_beginning_of_the_long_one() {
        let tag = hex!("0123456789abcdef0000000000000000");
        assert_eq!(truncate(tag, 64), 0x0123_4567_89ab_cdef);
        assert_eq!(truncate(tag, 56), 0x01_2345_6789_abcd);
    }
}
