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

/// Number of bits that every code provides: only a design with longer tags must check [`LineMac::whole_bits`].
pub const ALL_GIVE_BITS: u32 = 64;

/// A message authentication code over a line, its address and its version.
pub trait LineMac {
    /// Returns the number of bits of a whole tag, which is the most that a caller can request.
    fn whole_bits(&self) -> u32;

    /// Returns the tag of `text` under `nonce`: the first `bits` of the whole one.
    ///
    /// # Panics
    /// If `bits` is zero or more than [`LineMac::whole_bits`].
    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag;

    /// Makes this the code of lines of this length. Returns false if the code does not support it; every code
    /// supports lines of 64 bytes.
    fn shorten(&mut self, length: LineLength) -> bool {
        length == LineLength::WHOLE
    }

    /// Returns the number of chunks in a line with separate tags. These are side by side in the line's tag, the first
    /// chunk's at the top.
    fn chunks(&self) -> u32 {
        1
    }

    /// Returns the uses of a block cipher that a tag takes, or `None` if the code has a separate engine. The uses of
    /// the nonce are first. The uses of the text are in a chain, or one for each chunk's tag, or one for the sum of all
    /// blocks.
    fn uses(&self) -> Option<Uses> {
        None
    }

    /// Returns the halves of the code's tags, if it has any.
    fn halves(&self) -> Option<&dyn Halves> {
        None
    }

    /// Returns true if the tags are hashes that a mask hides. Only the nonce determines the mask, so a mask must never
    /// serve twice.
    fn is_masked(&self) -> bool {
        self.halves().is_some()
    }

    /// Returns the code for two lines at once, if that is faster on this computer.
    fn pairs(&self) -> Option<&dyn Pairs> {
        None
    }

    /// Returns one tag over several lines in this order, each under its nonce, or `None` if the code accepts one line
    /// only. The tag over a single line equals [`LineMac::tag`].
    ///
    /// # Panics
    /// See [`LineMac::tag`] for its conditions.
    fn tag_over(&self, _lines: &[(Nonce, Line)], _bits: u32) -> Option<Tag> {
        None
    }
}

/// A code with tags that are the XOR of a product and a mask. The product depends only on the text, and the mask only
/// on the nonce. So two components can compute them separately.
pub trait Halves {
    /// Returns the first `bits` of the product, which only the text determines.
    ///
    /// # Panics
    /// See [`LineMac::tag`] for its conditions.
    fn product(&self, text: &Line, bits: u32) -> Tag;

    /// Returns the first `bits` of the mask, which only the nonce determines.
    ///
    /// # Panics
    /// See [`LineMac::tag`] for its conditions.
    fn mask(&self, nonce: &Nonce, bits: u32) -> Tag;
}

/// A code that processes two independent lines in less time than one after the other.
pub trait Pairs {
    /// Returns the tag of each line, equal to that of [`LineMac::tag`].
    ///
    /// # Panics
    /// See [`LineMac::tag`] for its conditions.
    fn tags(&self, lines: [(&Nonce, &Line); 2], bits: u32) -> [Tag; 2];
}
