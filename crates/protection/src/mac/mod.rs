//! Authentication of data lines: the authentication code, and the inputs that its tags cover.
//!
//! # Contract
//! A tag is a function of the ciphertext, or of the plaintext, and of the other inputs in its [`Coverage`]. It covers
//! one line, or the lines of an aligned *tag group*. Tags are stored in a separate region, or each with its line
//! ([`TagLayout`]).

mod comparison;
mod pairing;
mod stored;
mod tag_layout;

pub(crate) use stored::StoredTag;
pub use tag_layout::{TagLayout, TagLocation};

use crate::counter::Counter;
use crate::memo::{MacInput, Memo};
use crate::placement::DataSlot;
use crate::planted::{Bug, PlantedBug, without_last_block};
use crate::speculation::Bitmap;
use arrayvec::ArrayVec;
use comparison::Comparison;
use crypto::{Halves, LineMac, Nonce, Tag, Uses};
use pairing::Pairing;
use std::cell::Cell;
use std::rc::Rc;
use units::Line;

/// Maximum number of lines under one tag.
pub const GROUP_MAX: usize = 4;

/// Inputs that a tag covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// Includes the line's place.
    pub address: bool,
    /// Includes the line's version.
    pub counter: bool,
    /// Covers the line's plaintext; otherwise its ciphertext.
    pub plaintext: bool,
    /// Includes the bitmap by which the line's words were re-ordered.
    pub bitmap: bool,
}

/// The authentication part of a scheme. Copies share the code with its expanded keys, and its latest tags.
#[derive(Clone)]
pub struct Mac {
    code: Rc<dyn LineMac>,
    bits: u32,
    pub(crate) comparison: Comparison,
    pub(crate) coverage: Coverage,
    tag_layout: TagLayout,
    planted: PlantedBug,
    memo: Rc<Memo<Tag>>,
    pairing: Rc<Pairing>,
    computed: Rc<Cell<(u64, u64)>>,
}

impl Mac {
    /// An authentication code over the inputs in `coverage`, with tags truncated to `bits`. Tags are in a separate
    /// region, one for each line.
    pub fn new(code: Box<dyn LineMac>, bits: u32, coverage: Coverage, planted: PlantedBug) -> Mac {
        Mac {
            comparison: Comparison { bits, chunks: code.chunks(), planted },
            code: code.into(),
            bits,
            coverage,
            tag_layout: TagLayout::of(bits, TagLocation::Region, 1),
            planted,
            memo: Rc::default(),
            pairing: Rc::default(),
            computed: Rc::default(),
        }
    }

    /// The same code with its tags at `line_number`, each over `lines` lines.
    pub fn placed(self, line_number: TagLocation, lines: u64) -> Mac {
        Mac { tag_layout: TagLayout::of(self.bits, line_number, lines), ..self }
    }

    /// Returns the layout of the tags.
    pub fn tag_layout(&self) -> TagLayout {
        self.tag_layout
    }

    /// Returns true if each tag is stored with its line.
    pub fn travels(&self) -> bool {
        self.tag_layout.location != TagLocation::Region
    }

    /// The block cipher operations for a line's tag, if the code is built from a block cipher.
    pub fn uses(&self) -> Option<Uses> {
        self.code.uses()
    }

    /// Number of AES blocks for a line's mask: one if the code has masks, otherwise zero.
    pub fn mask_blocks(&self) -> u32 {
        self.code.is_masked().into()
    }

    /// Returns true if the tag covers the plaintext: then a line must be decrypted before it can be checked.
    pub fn covers_plaintext(&self) -> bool {
        self.coverage.plaintext
    }

    /// Returns the text that the tag covers: the plaintext or the ciphertext.
    pub fn covered<'a>(&self, plaintext: &'a Line, ciphertext: &'a Line) -> &'a Line {
        if self.coverage.plaintext { plaintext } else { ciphertext }
    }

    /// Returns the tag of a line in the order of this bitmap. `text` is the text that the tag covers.
    pub fn tag(&self, at: DataSlot, counter: Counter, bitmap: Bitmap, text: &Line) -> Tag {
        #[cfg(test)]
        self.perform(1);
        self.tag_in_advance(at, counter, bitmap, text)
    }

    /// Like `tag`, but does not count as work of the design's engine: the simulator computes it in advance, or for a
    /// candidate.
    pub fn tag_in_advance(&self, at: DataSlot, counter: Counter, bitmap: Bitmap, text: &Line) -> Tag {
        let message = self.message(at, counter, bitmap, text);
        self.memo.of(&message, || self.compute(&message))
    }

    /// Returns the number of tags computed so far, and the number of those that were computed in pairs.
    pub fn computed(&self) -> (u64, u64) {
        self.computed.get()
    }

    #[cfg(test)]
    fn perform(&self, lines: u32) {
        match self.uses() {
            Some(uses) => crate::work_done::blocks(lines * uses.blocks()),
            None => (0..lines).for_each(|_| crate::work_done::mac()),
        }
        crate::work_done::blocks(lines * self.mask_blocks());
    }

    fn count(&self, tags: u64, in_pairs: u64) {
        let (before, in_pairs_before) = self.computed.get();
        self.computed.set((before + tags, in_pairs_before + in_pairs));
    }

    fn message(&self, at: DataSlot, counter: Counter, bitmap: Bitmap, text: &Line) -> MacInput {
        let text = if self.planted.has(Bug::TagWithoutLastBlock) { &without_last_block(text) } else { text };
        let bound = self.coverage.bitmap && !self.planted.has(Bug::TagWithoutBitmap);
        let bitmap = if bound { bitmap.0 } else { 0 };
        MacInput { line_number: at.bound(), version: counter.0, bitmap, text: *text }
    }

    /// Returns one tag over these lines, in order, each with its version and its covered text. The lines are not re-ordered.
    ///
    /// # Panics
    /// If several lines are passed to a code over one line, which the check of a design excludes.
    pub fn tag_over(&self, lines: &[(DataSlot, Counter, Line)]) -> Tag {
        if let [(at, counter, text)] = lines {
            return self.tag(*at, *counter, Bitmap::NONE, text);
        }
        #[cfg(test)]
        self.perform(lines.len() as u32);
        self.count(lines.len() as u64, 0);
        let covered = lines.len() - usize::from(self.planted.has(Bug::GroupTagWithoutLast));
        let tag = self.code.tag_over(&self.named(&lines[..covered]), self.bits);
        tag.unwrap_or_else(|| unreachable!("a design with such a code has one tag for each line"))
    }

    /// Returns the nonces of the masks of one tag over these lines, each with the line's input to the hash. Returns `None`
    /// if the code has no masks.
    pub fn masks(&self, lines: &[(DataSlot, Counter, Line)]) -> Option<Box<[(Nonce, Line)]>> {
        self.code.is_masked().then(|| self.named(lines).as_slice().into())
    }

    fn named(&self, lines: &[(DataSlot, Counter, Line)]) -> ArrayVec<(Nonce, Line), GROUP_MAX> {
        lines.iter().map(|(at, counter, text)| (self.nonce(at.bound(), *counter), *text)).collect()
    }

    /// Removes the product of the text from a stored tag. The remainder is the mask if the tag matches.
    ///
    /// # Panics
    /// If the code's tags have no two halves, which the check of a design excludes.
    pub fn without_product(&self, stored: Tag, text: &Line) -> Tag {
        #[cfg(test)]
        crate::work_done::mac();
        self.count(1, 0);
        stored ^ self.halves().product(text, self.bits)
    }

    /// Returns the mask of a line's tag: the half that depends only on address and version.
    ///
    /// # Panics
    /// If the code's tags have no two halves, like [`Mac::without_product`].
    pub fn mask(&self, at: DataSlot, counter: Counter) -> Tag {
        #[cfg(test)]
        crate::work_done::blocks(self.mask_blocks());
        self.halves().mask(&self.nonce(at.bound(), counter), self.bits)
    }

    fn halves(&self) -> &dyn Halves {
        self.code
            .halves()
            .unwrap_or_else(|| unreachable!("a design that needs the halves of a tag has a code with halves"))
    }

    fn nonce(&self, line_number: u64, counter: Counter) -> Nonce {
        let address = self.coverage.address && !self.planted.has(Bug::TagWithoutAddress);
        let version = self.coverage.counter && !self.planted.has(Bug::TagWithoutCounter);
        let line_number = if address { line_number } else { 0 };
        let counter = if version { counter } else { Counter::default() };
        let line_number = if self.planted.has(Bug::TagAddressTruncated) { line_number % 64 } else { line_number };
        let tag_line = self.planted.has(Bug::TagNamesLineOfTags);
        let line_number =
            if tag_line { line_number / self.tag_layout.lines / self.tag_layout.per_line() } else { line_number };
        let counter = if self.planted.has(Bug::TagCounterTruncated) { Counter(counter.0 % 128) } else { counter };
        Nonce::new(line_number, counter.0)
    }

    /// Returns true if a stored tag matches the computed one. Compares all bits, unused ones included.
    pub fn fits(&self, stored: Tag, computed: Tag) -> bool {
        self.comparison.fits(stored, computed)
    }

    /// Returns true if the tag of a chunk matches. Both arguments hold the tags of all chunks of the line.
    pub fn fits_chunk(&self, stored: Tag, computed: Tag, chunk: u32) -> bool {
        self.comparison.fits_chunk(stored, computed, chunk)
    }
}
