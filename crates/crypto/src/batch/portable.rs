//! GCM by RustCrypto's crates, line after line.

use super::{GcmNonce, GcmTag};
use crate::blocks::xor;
use crate::{CounterMode, Gmac, Key};
use aes::Aes128;
use units::{Line, ZERO_LINE};

/// GCM as a combination of counter mode and GMAC.
pub struct Portable {
    mode: CounterMode<Aes128>,
    mac: Gmac<Aes128>,
}

impl Portable {
    /// Expands the key of the block cipher.
    pub fn new(key: &Key) -> Portable {
        Portable { mode: CounterMode::new(key), mac: Gmac::new(key) }
    }

    pub fn seal(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        for ((nonce, line), tag) in nonces.iter().zip(lines).zip(tags) {
            xor(line, &self.pad(nonce));
            *tag = self.tag(nonce, line);
        }
    }

    pub fn open(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag], fits: &mut [bool]) {
        for (((nonce, line), tag), fits) in nonces.iter().zip(lines).zip(tags).zip(fits) {
            *fits = self.tag(nonce, line) == *tag;
            if *fits {
                xor(line, &self.pad(nonce));
            } else {
                *line = ZERO_LINE;
            }
        }
    }

    fn pad(&self, nonce: &GcmNonce) -> Line {
        self.mode.pad_from(|index| counter_block(nonce, index + 2))
    }

    fn tag(&self, nonce: &GcmNonce, ciphertext: &Line) -> GcmTag {
        self.mac.masked(counter_block(nonce, 1), &[], ciphertext)
    }
}

/// Returns the counter block of GCM with this number. Block 1 masks the tag, and the line's blocks begin at 2.
pub fn counter_block(nonce: &GcmNonce, number: u8) -> [u8; 16] {
    let mut block = [0; 16];
    block[..12].copy_from_slice(nonce);
    block[15] = number;
    block
}
