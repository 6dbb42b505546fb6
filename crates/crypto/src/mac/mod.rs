//! Message authentication codes over a line.

mod cbc_mac;
pub(crate) mod chained;
mod cmac;
mod gmac;
mod hmac;
mod message;
mod multilinear;
mod sha2;
mod sha3;
mod tag;

pub use cbc_mac::CbcMac;
pub use cmac::Cmac;
pub use gmac::{Gmac, ghash_product};
pub use hmac::{HmacSha1, HmacSha256, HmacSha512};
pub use message::MessageMac;
pub use multilinear::Multilinear;
pub use sha2::Sha256Prefix;
pub use sha3::Sha3Prefix;
pub use tag::Tag;

use crate::Nonce;
use crate::cipher::Uses;
use units::{Line, LineLength};

/// Bits that every code gives, whatever it is: only a design with longer tags need ask for [`LineMac::whole_bits`].
pub const ALL_GIVE_BITS: u32 = 64;

/// A message authentication code over a line, its place and its version.
pub trait LineMac {
    /// Bits of its whole tags: no longer ones can be asked for.
    fn whole_bits(&self) -> u32;

    /// The tag of `text` under `nonce`: the first `bits` of the whole one.
    ///
    /// # Panics
    /// If no bits are asked for, or more than [`LineMac::whole_bits`].
    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag;

    /// Makes this the code of lines of this length; whether it can be that. Every code takes lines of 64 bytes.
    fn shorten(&mut self, length: LineLength) -> bool {
        length == LineLength::WHOLE
    }

    /// How many chunks of a line have tags of their own, which lie side by side in its tag: the first chunk's at the top.
    fn chunks(&self) -> u32 {
        1
    }

    /// The uses of a block cipher that a tag takes, if the code is made of one: those of its nonce, then those of the text, one
    /// after the other, one for each chunk's own tag, or one for the sum of all. Nothing if it has an engine of its own.
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
    fn tag_over(&self, _lines: &[(Nonce, Line)], _bits: u32) -> Option<Tag> {
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
    fn product(&self, text: &Line, bits: u32) -> Tag;

    /// What only the nonce decides, likewise.
    ///
    /// # Panics
    /// As [`LineMac::tag`].
    fn mask(&self, nonce: &Nonce, bits: u32) -> Tag;
}

/// A code that takes two lines, which have nothing to do with each other, in less time than one after the other.
pub trait Pairs {
    /// The tag of each by itself, as [`LineMac::tag`] gives it.
    ///
    /// # Panics
    /// As [`LineMac::tag`].
    fn tags(&self, lines: [(&Nonce, &Line); 2], bits: u32) -> [Tag; 2];
}
