//! Authentication of data lines: which code, over what.
//!
//! # Contract
//! A tag is a function of the ciphertext, or of the plaintext, and of whatever [`Mac::new`] was told to cover. Tags lie eight to a line in a
//! region of their own.

use crate::counter::Counter;
use crate::planted::{Bug, Planted, without_last_block};
use crypto::{LineMac, Nonce};
use units::{Line, LineAddr};

/// Bytes that a tag takes in memory, whatever its length.
pub const TAG_BYTES: usize = 8;
/// Tags in one line.
pub const TAGS_PER_LINE: u64 = (units::LINE_BYTES / TAG_BYTES) as u64;

/// What a tag vouches for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// The line's place.
    pub address: bool,
    /// The line's version.
    pub counter: bool,
    /// The line's plaintext; otherwise its ciphertext.
    pub plaintext: bool,
}

/// The authentication part of a scheme.
pub struct Mac {
    code: Box<dyn LineMac>,
    bits: u32,
    coverage: Coverage,
    planted: Planted,
}

impl Mac {
    /// A code, cut to this many bits, over what `coverage` says.
    pub fn new(code: Box<dyn LineMac>, bits: u32, coverage: Coverage, planted: Planted) -> Mac {
        Mac { code, bits, coverage, planted }
    }

    /// Whether the tag is over the plaintext, so that a line must be decrypted before it can be checked.
    pub fn covers_plaintext(&self) -> bool {
        self.coverage.plaintext
    }

    /// What of a line the tag is over.
    pub fn covered<'a>(&self, plaintext: &'a Line, ciphertext: &'a Line) -> &'a Line {
        if self.coverage.plaintext { plaintext } else { ciphertext }
    }

    /// The tag of a line, of which `text` is what the tag is over.
    pub fn tag(&self, line: LineAddr, counter: Counter, text: &Line) -> u64 {
        #[cfg(test)]
        crate::performed::mac();
        let address = self.coverage.address && !self.planted.has(Bug::TagWithoutAddress);
        let version = self.coverage.counter && !self.planted.has(Bug::TagWithoutCounter);
        let line = if address { line } else { LineAddr(0) };
        let counter = if version { counter } else { Counter::default() };
        let line = if self.planted.has(Bug::TagAddressTruncated) { LineAddr(line.0 % 64) } else { line };
        let line = if self.planted.has(Bug::TagNamesLineOfTags) { LineAddr(place(line).0) } else { line };
        let counter = if self.planted.has(Bug::TagCounterTruncated) { Counter(counter.0 % 128) } else { counter };
        let bits = if self.planted.has(Bug::TagCutShort) { self.bits / 2 } else { self.bits };
        let text = if self.planted.has(Bug::TagWithoutLastBlock) { &without_last_block(text) } else { text };
        let nonce = Nonce::new(line, counter.0);
        self.code.tag(&nonce, text, bits)
    }

    /// Whether a stored tag fits. Compares all of it, unused bits included.
    pub fn fits(&self, stored: u64, computed: u64) -> bool {
        if self.planted.has(Bug::ShortComparison) {
            return stored as u8 == computed as u8;
        }
        if self.planted.has(Bug::SpareTagBitsIgnored) {
            return (stored ^ computed) << (u64::BITS - self.bits) == 0;
        }
        if self.planted.has(Bug::ZeroTagFits) && stored == 0 {
            return true;
        }
        stored == computed
    }

    /// Length of a tag in bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }
}

/// The index of the line that holds a data line's tag, and the tag's position in it.
pub fn place(line: LineAddr) -> (u64, usize) {
    (line.0 / TAGS_PER_LINE, (line.0 % TAGS_PER_LINE) as usize)
}

/// A tag out of a line of tags; also how tree nodes hold the tags of their children.
pub fn entry(tags: &Line, position: usize) -> u64 {
    let mut bytes = [0; TAG_BYTES];
    bytes.copy_from_slice(&tags[position * TAG_BYTES..(position + 1) * TAG_BYTES]);
    u64::from_le_bytes(bytes)
}

/// Puts a tag into a line of tags.
pub fn set_entry(tags: &mut Line, position: usize, tag: u64) {
    tags[position * TAG_BYTES..(position + 1) * TAG_BYTES].copy_from_slice(&tag.to_le_bytes());
}
