//! Nonces: where a line lies and how often it was written, packed so that no two blocks are ever alike.
//!
//! ```text
//! byte   0        5                      13       14      15
//!        | line   | major counter        | minor  | domain| block |
//!        | 40 bit | 64 bit               | 8 bit  | 8 bit | 8 bit |
//! ```
//! The packing is injective: each field has bytes of its own. Forty bits of line number reach 64 TB.

use crate::BLOCK_BYTES;
use units::LineAddr;

/// Bits of the line number in a nonce.
pub const LINE_NUMBER_BITS: u32 = 40;

/// What the encrypted block is used for; the same place and counter never serve two uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Keystream for data.
    Pad = 0,
    /// The mask that hides a tag's hash.
    TagMask = 1,
}

/// A place and its counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Nonce {
    line: LineAddr,
    major: u64,
    minor: u8,
}

impl Nonce {
    /// The nonce of `line` under a counter of two parts.
    ///
    /// # Panics
    /// If the line number needs more than [`LINE_NUMBER_BITS`]: memories that large are refused long before.
    pub fn new(line: LineAddr, major: u64, minor: u8) -> Nonce {
        assert!(line.0 >> LINE_NUMBER_BITS == 0, "line {line} does not fit a nonce");
        Nonce { line, major, minor }
    }

    /// The cipher's input for one block of one use.
    pub fn block(&self, domain: Domain, index: u8) -> [u8; BLOCK_BYTES] {
        let packed = u128::from(self.line.0)
            | u128::from(self.major) << 40
            | u128::from(self.minor) << 104
            | (domain as u128) << 112
            | u128::from(index) << 120;
        packed.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_bytes_of_its_own() {
        let zero = Nonce::new(LineAddr(0), 0, 0).block(Domain::Pad, 0);
        let full = [
            Nonce::new(LineAddr((1 << LINE_NUMBER_BITS) - 1), 0, 0).block(Domain::Pad, 0),
            Nonce::new(LineAddr(0), u64::MAX, 0).block(Domain::Pad, 0),
            Nonce::new(LineAddr(0), 0, u8::MAX).block(Domain::Pad, 0),
            Nonce::new(LineAddr(0), 0, 0).block(Domain::TagMask, 0),
            Nonce::new(LineAddr(0), 0, 0).block(Domain::Pad, u8::MAX),
        ];
        for byte in 0..BLOCK_BYTES {
            let touching = full.iter().filter(|block| block[byte] != zero[byte]).count();
            assert_eq!(touching, 1, "byte {byte} belongs to {touching} fields");
        }
    }
}
