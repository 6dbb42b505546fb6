//! Authentication of data lines: which code, over what.
//!
//! # Contract
//! A tag is a function of the ciphertext, or of the plaintext, and of whatever [`Mac::new`] has to cover. It is over one
//! line or over the lines of a *tag group*, aligned to their number. Tags lie eight to a line in a region of their own, or
//! each with its line.

mod pairing;

use crate::counter::Counter;
use crate::memo::{Memo, Message};
use crate::placement::DataSlot;
use crate::planted::{Bug, Planted, without_last_block};
use arrayvec::ArrayVec;
use crypto::{Halves, LineMac, Nonce, Uses};
use pairing::Pairing;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::rc::Rc;
use strum::VariantArray;
use units::{Line, LineAddr};

/// The most lines under one tag.
pub const GROUP_MAX: usize = 4;

/// Where tags lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In a region of their own, eight to a line; through a cache of tags.
    #[default]
    Region,
    /// Each with its line, in spare bits of ECC modules (Saileshwar et al., "Synergy", HPCA 2018): they come and go with the
    /// line and cost no time.
    Ecc,
    /// Each behind its line in ordinary memory: the line takes 8 bytes more and no longer lies on one line of the channel,
    /// which moves two.
    Beside,
}

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

/// The authentication part of a scheme. Copies share the code with its expanded keys, and what it gave last.
#[derive(Clone)]
pub struct Mac {
    code: Rc<dyn LineMac>,
    bits: u32,
    coverage: Coverage,
    place: Place,
    group: u64,
    planted: Planted,
    memo: Rc<Memo<u64>>,
    pairing: Rc<Pairing>,
    computed: Rc<Cell<(u64, u64)>>,
}

impl Mac {
    /// A code, cut to this many bits, over what `coverage` says of each line.
    pub fn new(code: Box<dyn LineMac>, bits: u32, coverage: Coverage, planted: Planted) -> Mac {
        Mac {
            code: code.into(),
            bits,
            coverage,
            place: Place::Region,
            group: 1,
            planted,
            memo: Rc::default(),
            pairing: Rc::default(),
            computed: Rc::default(),
        }
    }

    /// The same, with tags lying there, each over so many lines.
    pub fn placed(self, place: Place, group: u64) -> Mac {
        Mac { place, group, ..self }
    }

    /// Whether each tag lies with its line.
    pub fn travels(&self) -> bool {
        self.place != Place::Region
    }

    /// Lines under one tag.
    pub fn group(&self) -> u64 {
        self.group
    }

    /// The index of the line that holds a data line's tag, and the tag's position in it.
    pub fn entry_of(&self, line: LineAddr) -> (u64, usize) {
        let tag = line.0 / self.group;
        (tag / TAGS_PER_LINE, (tag % TAGS_PER_LINE) as usize)
    }

    /// The uses of a block cipher that a line's tag takes, if the code is made of one.
    pub fn uses(&self) -> Option<Uses> {
        self.code.uses()
    }

    /// AES blocks of a line's mask: one, if the code has masks.
    pub fn mask_blocks(&self) -> u32 {
        self.code.is_masked().into()
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
    pub fn tag(&self, at: DataSlot, counter: Counter, text: &Line) -> u64 {
        #[cfg(test)]
        self.perform(1);
        let message = self.message(at, counter, text);
        self.memo.of(&message, || self.compute(&message))
    }

    /// Tags computed so far, those in pairs among them.
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

    fn message(&self, at: DataSlot, counter: Counter, text: &Line) -> Message {
        let text = if self.planted.has(Bug::TagWithoutLastBlock) { &without_last_block(text) } else { text };
        Message { place: at.bound(), version: counter.0, text: *text }
    }

    /// One tag over these lines, in order, each with its version and with what of it the tag is over.
    ///
    /// # Panics
    /// If there are several and the code takes one line only, which designs are checked for.
    pub fn tag_over(&self, lines: &[(DataSlot, Counter, Line)]) -> u64 {
        if let [(at, counter, text)] = lines {
            return self.tag(*at, *counter, text);
        }
        #[cfg(test)]
        self.perform(lines.len() as u32);
        self.count(lines.len() as u64, 0);
        let covered = lines.len() - usize::from(self.planted.has(Bug::GroupTagWithoutLast));
        let tag = self.code.tag_over(&self.named(&lines[..covered]), self.bits);
        tag.unwrap_or_else(|| unreachable!("a design with such a code has one tag for each line"))
    }

    /// The masks that one tag over these lines takes, with what each line brings to the hash; nothing if the code has no masks.
    pub fn masks(&self, lines: &[(DataSlot, Counter, Line)]) -> Option<Box<[(Nonce, Line)]>> {
        self.code.is_masked().then(|| self.named(lines).as_slice().into())
    }

    fn named(&self, lines: &[(DataSlot, Counter, Line)]) -> ArrayVec<(Nonce, Line), GROUP_MAX> {
        lines.iter().map(|(at, counter, text)| (self.nonce(at.bound(), *counter), *text)).collect()
    }

    /// What is left of a stored tag when the half that the text decides is taken away: the other half, if the tag fits.
    ///
    /// # Panics
    /// If the code has no halves, which designs are checked for.
    pub fn without_product(&self, stored: u64, text: &Line) -> u64 {
        #[cfg(test)]
        crate::work_done::mac();
        self.count(1, 0);
        stored ^ self.halves().product(text, self.bits)
    }

    /// The half of a line's tag that its place and its version decide.
    ///
    /// # Panics
    /// As [`Mac::without_product`].
    pub fn mask(&self, at: DataSlot, counter: Counter) -> u64 {
        #[cfg(test)]
        crate::work_done::blocks(self.mask_blocks());
        self.halves().mask(&self.nonce(at.bound(), counter), self.bits)
    }

    fn halves(&self) -> &dyn Halves {
        self.code
            .halves()
            .unwrap_or_else(|| unreachable!("a design that needs the halves of a tag has a code with halves"))
    }

    fn nonce(&self, place: u64, counter: Counter) -> Nonce {
        let address = self.coverage.address && !self.planted.has(Bug::TagWithoutAddress);
        let version = self.coverage.counter && !self.planted.has(Bug::TagWithoutCounter);
        let place = if address { place } else { 0 };
        let counter = if version { counter } else { Counter::default() };
        let place = if self.planted.has(Bug::TagAddressTruncated) { place % 64 } else { place };
        let line_of_tags = self.planted.has(Bug::TagNamesLineOfTags);
        let place = if line_of_tags { place / self.group / TAGS_PER_LINE } else { place };
        let counter = if self.planted.has(Bug::TagCounterTruncated) { Counter(counter.0 % 128) } else { counter };
        Nonce::new(place, counter.0)
    }

    /// Whether the share of a stored tag fits that one of so many pieces of a line has.
    pub fn fits_piece(&self, stored: u64, computed: u64, piece: u32, pieces: u32) -> bool {
        let below = |piece: u32| self.bits - piece * (self.bits / pieces) - piece.min(self.bits % pieces);
        let (top, bottom) = (below(piece), below(piece + 1));
        let share = |tag: u64| tag >> bottom & (u64::MAX >> (u64::BITS - (top - bottom)));
        let spare = piece == 0 && (stored ^ computed).checked_shr(self.bits).unwrap_or(0) != 0;
        self.fits(share(stored), share(computed)) && !spare
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
