//! Message authentication codes over a line.

mod cbc_mac;
mod chained;
mod cmac;
mod gmac;
mod hmac;
mod message;
mod multilinear;
mod sha2;
mod sha3;

pub use cbc_mac::CbcMac;
pub use cmac::Cmac;
pub use gmac::Gmac;
pub use hmac::{HmacSha1, HmacSha256, HmacSha512};
pub use message::MessageMac;
pub use multilinear::Multilinear;
pub use sha2::Sha256Prefix;
pub use sha3::Sha3Prefix;

use crate::Nonce;
use crate::cipher::Uses;
use units::Line;

/// A message authentication code over a line, its place and its version.
pub trait LineMac {
    /// The tag of `text` under `nonce`: the first `bits` of the whole one.
    ///
    /// # Panics
    /// If no bits or more than 64 are asked for.
    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> u64;

    /// The uses of a block cipher that a tag takes, if the code is made of one: those of its nonce, then those of the text, one
    /// after the other, or one for each chunk's own tag. Nothing if it has an engine of its own.
    fn uses(&self) -> Option<Uses> {
        None
    }

    /// The halves of its tags, if it has such.
    fn halves(&self) -> Option<&dyn Halves> {
        None
    }

    /// Whether its tags are hashes that a mask hides, which the nonce alone decides: such a mask must never serve twice.
    fn is_masked(&self) -> bool {
        self.halves().is_some()
    }

    /// How it takes two lines at once, if that is faster on this computer.
    fn pairs(&self) -> Option<&dyn Pairs> {
        None
    }

    /// One tag over several lines in this order, each under its own nonce: over the same line alone another than
    /// [`LineMac::tag`] if it is one of several. Nothing if the code takes one line only.
    ///
    /// # Panics
    /// As [`LineMac::tag`].
    fn tag_over(&self, _lines: &[(Nonce, Line)], _bits: u32) -> Option<u64> {
        None
    }
}

/// A code whose tag is the XOR of a product, which only the text decides, and a mask, which only the nonce does. So they can
/// be computed at two places.
pub trait Halves {
    /// What only the text decides: the first `bits` of it.
    ///
    /// # Panics
    /// As [`LineMac::tag`].
    fn product(&self, text: &Line, bits: u32) -> u64;

    /// What only the nonce decides, likewise.
    ///
    /// # Panics
    /// As [`LineMac::tag`].
    fn mask(&self, nonce: &Nonce, bits: u32) -> u64;
}

/// A code that takes two lines, which have nothing to do with each other, in less time than one after the other.
pub trait Pairs {
    /// The tag of each by itself, as [`LineMac::tag`] gives it.
    ///
    /// # Panics
    /// As [`LineMac::tag`].
    fn tags(&self, lines: [(&Nonce, &Line); 2], bits: u32) -> [u64; 2];
}

/// The first `bits` of a tag, as a number.
pub(crate) fn first_bits(tag: &[u8], bits: u32) -> u64 {
    assert!((1..=64).contains(&bits), "a tag of {bits} bits");
    let mut first = [0; 8];
    first.copy_from_slice(&tag[..8]);
    u64::from_be_bytes(first) >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn a_short_tag_is_the_beginning_of_the_long_one() {
        let tag = hex!("0123456789abcdef0000000000000000");
        assert_eq!(first_bits(&tag, 64), 0x0123_4567_89ab_cdef);
        assert_eq!(first_bits(&tag, 56), 0x01_2345_6789_abcd);
    }
}
