//! XTS: encryption without counters, tweaked by the line's place (IEEE 1619, NIST SP 800-38E).
//!
//! Deterministic: the same plaintext at the same place always gives the same ciphertext, and whatever was once valid
//! stays valid. That is its price for needing no metadata.

use crate::Key;
use aes::Aes128;
use aes::cipher::{Array, KeyInit};
use units::{Line, LineAddr};
use xts_mode::Xts128;

/// XTS-AES-128 over lines.
pub struct Xts {
    mode: Xts128<Aes128>,
}

impl Xts {
    /// One key for the data, one for the tweak.
    pub fn new(data: &Key, tweak: &Key) -> Xts {
        Xts { mode: Xts128::new(Aes128::new(&Array(data.0)), Aes128::new(&Array(tweak.0))) }
    }

    /// Encrypts a line for its place.
    pub fn encrypt(&self, line: LineAddr, plaintext: &Line) -> Line {
        let mut bytes = *plaintext;
        self.mode.encrypt_sector(&mut bytes, tweak_of(line));
        bytes
    }

    /// Decrypts a line from its place.
    pub fn decrypt(&self, line: LineAddr, ciphertext: &Line) -> Line {
        let mut bytes = *ciphertext;
        self.mode.decrypt_sector(&mut bytes, tweak_of(line));
        bytes
    }
}

fn tweak_of(line: LineAddr) -> aes::Block {
    Array(u128::from(line.0).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn the_first_two_blocks_are_vector_2_of_ieee_1619() {
        let xts = Xts::new(&Key([0x11; 16]), &Key([0x22; 16]));
        let line = LineAddr(0x33_3333_3333);
        let ciphertext = xts.encrypt(line, &[0x44; 64]);
        assert_eq!(ciphertext[..32], hex!("c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"));
        assert_eq!(xts.decrypt(line, &ciphertext), [0x44; 64]);
    }
}
