//! SHA3-256 with the key in front, cut short: the kind of code that Intel TDX keeps beside each line (28 bits).
//!
//! `SHA3-256(key || nonce || line)`. A sponge does not go on from its output, so a key in front is enough, which it is not
//! with SHA-2. It is not KMAC (NIST SP 800-185), which pads the key to a block and separates domains; Intel names SHA-3, the
//! key and the length, but not how they are put together.

use super::first_bits;
use crate::{Domain, Key, LineMac, Nonce};
use sha3::{Digest, Sha3_256};
use units::Line;

/// SHA3-256 over key, nonce and line.
#[derive(Clone)]
pub struct Sha3Prefix {
    keyed: Sha3_256,
}

impl Sha3Prefix {
    /// Absorbs the key once for all lines.
    pub fn new(key: &Key) -> Sha3Prefix {
        Sha3Prefix { keyed: Sha3_256::new_with_prefix(key.0) }
    }

    fn code(&self, message: &[&[u8]]) -> [u8; 32] {
        let mut hash = self.keyed.clone();
        message.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }
}

impl LineMac for Sha3Prefix {
    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> u64 {
        first_bits(&self.code(&[&nonce.block(Domain::TagMask, 0), text]), bits)
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<u64> {
        let mut hash = self.keyed.clone();
        for (nonce, text) in lines {
            hash.update(nonce.block(Domain::TagMask, 0));
            hash.update(text);
        }
        Some(first_bits(&hash.finalize(), bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn the_hash_is_the_1600_bit_example_of_nist_with_its_first_bytes_as_the_key() {
        // 200 bytes of a3, from NIST's examples for FIPS 202.
        let mac = Sha3Prefix::new(&Key([0xa3; 16]));
        assert_eq!(
            mac.code(&[&[0xa3; 84], &[0xa3; 100]]),
            hex!("79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787")
        );
    }
}
