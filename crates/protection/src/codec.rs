//! The codec of lines: encryption and authentication of the lines that the controller writes to memory and reads from
//! memory.
//!
//! ```text
//! seal:   pad ─ encrypt ─ tag
//! open:   pad ─ decrypt ─┬ both at once; or the tag after the plaintext that it covers
//!         tag ─ compare ─┘
//! ```
//! A *tag group* is the set of lines under one tag, for most designs one line. Cipher and code process a group without
//! lines outside it. If a group has several lines, the tag of a line also needs the *other* lines of the group. The
//! codec skips missing parts: without encryption a line needs no pad, and without an authentication code every line
//! passes the check.

mod block_work;
mod candidates;
mod early_blocks;
mod opening;
mod order;
mod speculated;

use crate::cipher::Cipher;
use crate::counter::Counter;
use crate::mac::{GROUP_MAX, Mac, StoredTag};
use crate::placement::DataSlot;
use crate::planted::{Bug, PlantedBug};
use crate::slot::{Slot, Untrusted};
use crate::speculation::{Bitmap, Speculation, StartOrder};
use crate::verbs::{Arriving, Beats, Fault, Keystream, Verbs};
use arrayvec::ArrayVec;
pub(crate) use block_work::{BlockWork, has_offset};
pub(crate) use candidates::OfferedCandidates;
use crypto::Tag;
pub(crate) use early_blocks::EarlyBlocks;
pub(crate) use order::{BitmapOrder, Brought};
use sim::join;
use units::{Line, LineLength, WORD_BYTES, Word, Words, ZERO_LINE};

/// A line with its version, the bitmap that gives the order of its words, and the text that its tag covers.
type Named<'a> = (DataSlot, Counter, Bitmap, &'a Line);
/// The other lines under a line's tag, with their versions and ciphertexts.
pub(crate) type Others = Vec<(DataSlot, Counter, Line)>;
/// All lines under one tag, with places and versions.
type Tagged = ArrayVec<(DataSlot, Counter, Line), GROUP_MAX>;

/// A line as memory returned it, with the values it is checked against.
pub(crate) struct Arrived<'a> {
    /// Place of the line.
    pub at: DataSlot,
    /// Version of the line.
    pub counter: Counter,
    /// Order of the line's words in memory, from a bitmap that may arrive later.
    pub order: BitmapOrder<'a>,
    /// Word of the line that was requested first.
    pub word: Word,
    /// Content that memory returned.
    pub stored: Untrusted,
    /// Arrival times of the line's words.
    pub beats: Beats,
    /// Tag of the line; ignored in designs without a code.
    pub tag: StoredTag,
    /// The other lines under its tag.
    pub others: Others,
}

impl Arrived<'_> {
    /// Returns a line that has arrived completely, without a tag, and without re-ordered words.
    pub fn untagged(at: DataSlot, counter: Counter, stored: Untrusted) -> Self {
        let Arriving { content, beats } = Arriving::whole(stored);
        let (order, word) = (BitmapOrder::AS_IT_IS, Word::FIRST);
        Arrived { at, counter, order, word, stored: content, beats, tag: StoredTag::NONE, others: Others::new() }
    }

    /// Waits for words of the line.
    async fn await_words<V: Verbs>(&self, verbs: &V, planted: PlantedBug, words: Words) {
        if !planted.has(Bug::WordsNotAwaited) {
            verbs.await_words(self.beats, words).await;
        }
    }

    /// Returns the position in memory of the requested word, according to the bitmap if it is known.
    fn likely_position(&self) -> Word {
        self.order.so_far().position_of(self.word)
    }

    /// Returns the pieces of `bytes` bytes of a line of this length, in the order in which they arrive.
    fn pieces(&self, length: LineLength, bytes: usize) -> impl Iterator<Item = Words> + use<> {
        pieces(self.likely_position(), length, bytes)
    }
}

/// Returns the pieces of `bytes` bytes of a line of this length, those of the requested word first.
fn pieces(requested: Word, length: LineLength, bytes: usize) -> impl Iterator<Item = Words> {
    let (count, first) = (length.bytes().div_ceil(bytes), requested.index() * WORD_BYTES / bytes);
    (0..count).map(move |turn| Words::with_bytes((turn ^ first) * bytes, bytes))
}

/// Work that the units began for a line when its counter was known.
#[derive(Default)]
pub(crate) struct OpeningWork {
    /// Blocks that need only the nonce.
    pub early: Option<EarlyBlocks>,
    /// Candidates for the line's chunks, offered to idle cipher units.
    pub candidates: OfferedCandidates,
}

impl OpeningWork {
    /// Gives up the offered candidates of a line that is not opened.
    pub fn give_up<V: Verbs>(&self, verbs: &V) {
        if let OfferedCandidates::Now(offers) = &self.candidates {
            offers.give_up(verbs);
        }
    }
}

impl From<Option<EarlyBlocks>> for OpeningWork {
    fn from(early: Option<EarlyBlocks>) -> OpeningWork {
        OpeningWork { early, ..OpeningWork::default() }
    }
}

/// A line that is ready for memory.
#[derive(Clone)]
pub(crate) struct Sealed {
    /// Place that the line is written to.
    pub at: DataSlot,
    /// Version of the line.
    pub counter: Counter,
    /// Bitmap that gives the order of the line's words in memory.
    pub bitmap: Bitmap,
    /// Plaintext of the line, in the order of its words in memory.
    pub plaintext: Line,
    /// Ciphertext that is written to memory.
    pub ciphertext: Line,
}

impl Sealed {
    /// Returns the content for memory, with a tag in the line's spare bits.
    pub fn with(&self, tag: Tag) -> Untrusted {
        Untrusted::with(self.ciphertext, tag.low_128())
    }
}

/// Encryption and authentication of lines.
#[derive(Clone)]
pub(crate) struct LineCodec {
    /// Cipher that encrypts the lines.
    pub cipher: Cipher,
    /// Code that authenticates the lines.
    pub mac: Option<Mac>,
    /// Block cipher operations for a line.
    pub work: BlockWork,
    /// Length in bytes of the separately decrypted pieces of a line: the length of the line, if it is decrypted as a
    /// whole.
    piece_bytes: usize,
    /// Speculation on the content of lines, if the design speculates.
    pub speculation: Option<Speculation>,
    /// Order of lines that memory has from before the machine began.
    pub start_order: StartOrder,
    /// Parts of the key that a planted bug stores in memory whenever metadata leaves the chip; empty without the bug.
    pub spilled: Box<[(Slot, Line)]>,
    /// Planted weaknesses of tests.
    pub planted: PlantedBug,
}

impl LineCodec {
    /// Returns a codec of these parts; `coded_counters` is true if counters must be decoded before they are known.
    pub fn new(cipher: Cipher, mac: Option<Mac>, coded_counters: bool, planted: PlantedBug) -> LineCodec {
        let masks = mac.as_ref().map_or(0, Mac::mask_blocks);
        let tag = mac.as_ref().and_then(Mac::uses);
        let work = BlockWork::new(cipher.uses(), tag, masks, coded_counters);
        let piece_bytes = block_work::piece_bytes(&work, mac.is_some());
        let (speculation, start_order, spilled) = Default::default();
        LineCodec { piece_bytes, cipher, mac, work, speculation, start_order, spilled, planted }
    }

    /// Length in bytes of the separately decrypted pieces of a line.
    pub fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }

    /// Passes the plaintext of a line to the table of frequent values, if the design has one; the table learns from it.
    pub fn learn(&self, plaintext: &Line) {
        if let Some(speculation) = &self.speculation {
            speculation.learn(plaintext);
        }
    }

    /// Returns whether a line must be decrypted before it can be checked.
    pub fn checks_plaintext(&self) -> bool {
        self.mac.as_ref().is_some_and(Mac::covers_plaintext)
    }

    /// Returns whether each tag is stored in the spare bits of its line.
    pub fn tags_travel(&self) -> bool {
        self.mac.as_ref().is_some_and(Mac::travels)
    }

    /// Returns the stored tag of a line: from the line's spare bits, if tags travel with lines, otherwise from the
    /// region of tags.
    pub fn tag_of(&self, stored: &Untrusted, in_region: StoredTag) -> StoredTag {
        if self.tags_travel() { Tag::from(stored.spare_bits()).into() } else { in_region }
    }

    /// Returns the plaintext of a line under a version. The cipher's blocks must be complete.
    pub fn decrypt(&self, at: DataSlot, counter: Counter, stored: &Untrusted) -> Line {
        self.cipher.open(at, counter, &stored.examine())
    }

    /// Compares the tag of `text` with the stored one, if the design has tags.
    pub async fn check<V: Verbs>(&self, verbs: &V, arrived: &Arrived<'_>, text: &Line) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        let bitmap = if mac.coverage.bitmap { arrived.order.known().await? } else { Bitmap::NONE };
        let named = (arrived.at, arrived.counter, bitmap, text);
        let computed = self.compute_tag(verbs, mac, named, &arrived.others).await;
        self.compare(mac, arrived, computed)
    }

    /// Like [`LineCodec::check`], for a tag that binds no bitmap, after the time of its work has passed.
    fn judge(&self, arrived: &Arrived<'_>, text: &Line) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        self.compare(mac, arrived, mac.tag(arrived.at, arrived.counter, Bitmap::NONE, text))
    }

    fn compare(&self, mac: &Mac, arrived: &Arrived<'_>, computed: Tag) -> Result<(), Fault> {
        let blank_passes = self.planted.has(Bug::BlankLinePasses) && arrived.stored.examine() == ZERO_LINE;
        if mac.fits(arrived.tag.get(), computed) || blank_passes { Ok(()) } else { Err(Fault::Tag(arrived.at.line())) }
    }

    /// Encrypts a line under a version, with its words in the order that the bitmap gives. The cipher's blocks must be
    /// complete.
    pub fn encrypt(&self, at: DataSlot, counter: Counter, bitmap: Bitmap, plaintext: &Line) -> Sealed {
        let plaintext = bitmap.arrange(plaintext);
        let ciphertext = self.cipher.seal(at, counter, &plaintext);
        Sealed { at, counter, bitmap, plaintext, ciphertext }
    }

    /// Returns the bitmap of a line that is sealed now, or no bitmap in designs without re-ordering.
    pub fn bitmap_of(&self, plaintext: &Line) -> Bitmap {
        self.speculation.as_ref().map_or(Bitmap::NONE, |speculation| speculation.bitmap_of(plaintext))
    }

    /// Like [`LineCodec::encrypt`], for a line that memory has from before the machine began, and that will be decrypted
    /// next.
    pub fn encrypt_for_now(&self, at: DataSlot, counter: Counter, plaintext: &Line) -> Sealed {
        let sealed = self.encrypt(at, counter, self.start_order.bitmap_of(plaintext), plaintext);
        self.cipher.learn(at, counter, &sealed.plaintext, &sealed.ciphertext);
        sealed
    }

    /// Records that the pad of a line that leaves the chip is used, if the cipher uses pads.
    pub fn spend_pad<V: Verbs>(&self, verbs: &V, sealed: &Sealed) {
        let Sealed { at, counter, ref plaintext, .. } = *sealed;
        verbs.spend(at.slot(), || self.cipher.nonce(at, counter).map(|nonce| Keystream::Pad(nonce, *plaintext)));
    }

    /// Records that the masks of the tag of a line that leaves the chip are used, if tags have masks.
    pub fn spend_masks<V: Verbs>(&self, verbs: &V, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) {
        if let Some(mac) = &self.mac {
            let masks = || mac.masks(&among(self.named(mac, sealed), others));
            verbs.spend(sealed.at.slot(), || masks().map(Keystream::Masks));
        }
    }

    /// Computes the tag over a line and the other lines under the same tag, if the design has tags. Takes no time if
    /// the cipher computed the tag together with the ciphertext.
    pub async fn tag<V: Verbs>(&self, verbs: &V, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) -> Option<Tag> {
        let mac = self.mac.as_ref()?;
        let (at, counter, bitmap, text) = self.named(mac, sealed);
        if self.work.seals_with_tag() {
            return Some(mac.tag(at, counter, bitmap, text));
        }
        Some(self.compute_tag(verbs, mac, (at, counter, bitmap, text), others).await)
    }

    /// Returns the tag over a line that booting puts into memory and over the lines of its tag group that are in memory
    /// already. Takes no time.
    pub fn tag_at_boot(&self, mac: &Mac, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) -> Tag {
        let (at, counter, bitmap, text) = self.named(mac, sealed);
        if others.is_empty() {
            return mac.tag(at, counter, bitmap, text);
        }
        mac.tag_over(&among((at, counter, bitmap, text), others))
    }

    fn named<'a>(&self, mac: &Mac, sealed: &'a Sealed) -> Named<'a> {
        (sealed.at, sealed.counter, sealed.bitmap, mac.covered(&sealed.plaintext, &sealed.ciphertext))
    }

    async fn compute_tag<V: Verbs>(
        &self,
        verbs: &V,
        mac: &Mac,
        (at, counter, bitmap, text): Named<'_>,
        others: &[(DataSlot, Counter, Line)],
    ) -> Tag {
        if others.is_empty() {
            mac.schedule(at, counter, bitmap, text);
            self.work.to_tag(verbs, 1).await;
            return mac.tag(at, counter, bitmap, text);
        }
        Box::pin(self.compute_common_tag(verbs, mac, among((at, counter, bitmap, text), others))).await
    }

    async fn compute_common_tag<V: Verbs>(&self, verbs: &V, mac: &Mac, lines: Tagged) -> Tag {
        // The mask of the line itself is computed together with its pad.
        join!(self.work.masks(verbs, lines.len() - 1), self.work.to_tag(verbs, lines.len()));
        mac.tag_over(&lines)
    }
}

/// Returns a line and the other lines under the same tag, in the order of their places.
fn among((at, counter, _, text): Named<'_>, others: &[(DataSlot, Counter, Line)]) -> Tagged {
    let position = others.partition_point(|(other, ..)| *other < at);
    let (below, above) = others.split_at(position);
    below.iter().copied().chain([(at, counter, *text)]).chain(above.iter().copied()).collect()
}
