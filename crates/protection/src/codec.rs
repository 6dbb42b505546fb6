//! The codec of lines: encryption and authentication together, over the bytes that go to memory and come from it.
//!
//! ```text
//! seal:   pad ─ encrypt ─ tag
//! open:   pad ─ decrypt ─┬ both at once; or the tag after the plaintext that it covers
//!         tag ─ compare ─┘
//! ```
//! A *chunk* is what cipher and code can do alone: the lines under one tag, for most designs one line. Where there are
//! several, a line's tag needs the *others*. What is missing is skipped: without encryption a line takes no pad, without
//! a code every line fits.

mod block_work;
mod candidates;
mod opening;
mod order;
mod speculated;

use crate::cipher::Cipher;
use crate::counter::Counter;
use crate::mac::{GROUP_MAX, Mac, StoredTag};
use crate::placement::DataSlot;
use crate::planted::{Bug, Planted};
use crate::slot::{Slot, Untrusted};
use crate::speculation::{Bitmap, Speculation};
use crate::verbs::{Arriving, Beats, Fault, Keystream, Verbs};
use arrayvec::ArrayVec;
pub(crate) use block_work::{Ahead, BlockWork, has_offset};
pub(crate) use candidates::OfferedCandidates;
use crypto::Tag;
pub(crate) use order::{Brought, Order};
use sim::join;
use units::{Line, LineLength, WORD_BYTES, Word, Words, ZERO_LINE};

/// A line with its version, with the bitmap that it lies by, and with what of it the tag is over.
type Named<'a> = (DataSlot, Counter, Bitmap, &'a Line);
/// The other lines under a line's tag: their versions and their ciphertexts.
pub(crate) type Others = Vec<(DataSlot, Counter, Line)>;
/// All lines under one tag, so named.
type Tagged = ArrayVec<(DataSlot, Counter, Line), GROUP_MAX>;

/// A line as memory returned it, with what it is checked against.
pub(crate) struct Arrived<'a> {
    /// Where it lies.
    pub at: DataSlot,
    /// Its version.
    pub counter: Counter,
    /// The bitmap that its words lie by, which may come later.
    pub order: Order<'a>,
    /// The word of it that was asked for first.
    pub word: Word,
    /// What memory returned.
    pub stored: Untrusted,
    /// When its words are there.
    pub beats: Beats,
    /// Its tag; anything without a code.
    pub tag: StoredTag,
    /// The other lines under its tag.
    pub others: Others,
}

impl Arrived<'_> {
    /// A line that is there as a whole, with no tag yet, and lies as it is.
    pub fn untagged(at: DataSlot, counter: Counter, stored: Untrusted) -> Self {
        let Arriving { content, beats } = Arriving::whole(stored);
        let (order, word) = (Order::AS_IT_IS, Word::FIRST);
        Arrived { at, counter, order, word, stored: content, beats, tag: StoredTag::NONE, others: Others::new() }
    }

    /// Waits for words of it.
    async fn await_words<V: Verbs>(&self, verbs: &V, planted: Planted, words: Words) {
        if !planted.has(Bug::WordsNotAwaited) {
            verbs.await_words(self.beats, words).await;
        }
    }

    /// Where the asked-for word lies, as far as that is known.
    fn likely_place(&self) -> Word {
        self.order.so_far().place_of(self.word)
    }

    /// The pieces of so many bytes of a line of this length, in the order in which they come.
    fn pieces(&self, length: LineLength, bytes: usize) -> impl Iterator<Item = Words> + use<> {
        let (count, first) = (length.bytes().div_ceil(bytes), self.likely_place().index() * WORD_BYTES / bytes);
        (0..count).map(move |turn| Words::with_bytes((turn ^ first) * bytes, bytes))
    }
}

/// What was begun of a line when its counter was there.
#[derive(Default)]
pub(crate) struct Begun {
    /// What needs the nonce alone.
    pub ahead: Option<Ahead>,
    /// The candidates of its chunks.
    pub candidates: OfferedCandidates,
}

impl Begun {
    /// The line is not opened.
    pub fn give_up<V: Verbs>(&self, verbs: &V) {
        if let OfferedCandidates::Now(offers) = &self.candidates {
            offers.give_up(verbs);
        }
    }
}

impl From<Option<Ahead>> for Begun {
    fn from(ahead: Option<Ahead>) -> Begun {
        Begun { ahead, ..Begun::default() }
    }
}

/// A line that is ready for memory.
#[derive(Clone)]
pub(crate) struct Sealed {
    /// Where it goes.
    pub at: DataSlot,
    /// Its version.
    pub counter: Counter,
    /// The bitmap that its words lie by.
    pub bitmap: Bitmap,
    /// What it hides: the line as it lies.
    pub plaintext: Line,
    /// What memory gets.
    pub ciphertext: Line,
}

impl Sealed {
    /// What memory gets, with a tag that travels with the line.
    pub fn with(&self, tag: Tag) -> Untrusted {
        Untrusted::with(self.ciphertext, tag.low_128())
    }
}

/// Encryption and authentication of lines.
#[derive(Clone)]
pub(crate) struct LineCodec {
    /// Encryption.
    pub cipher: Cipher,
    /// Authentication.
    pub mac: Option<Mac>,
    /// What of a line goes through block ciphers.
    pub work: BlockWork,
    /// Bytes of the pieces of a line that are opened each by itself: a line's, if it is opened as a whole.
    piece_bytes: usize,
    /// Speculation on what lines hold, if there is any.
    pub speculation: Option<Speculation>,
    /// What a planted bug leaves in memory of the key, whenever metadata leaves the chip; nothing without one.
    pub spilled: Box<[(Slot, Line)]>,
    /// Weaknesses of tests.
    pub planted: Planted,
}

impl LineCodec {
    /// These parts; counters must be decoded before they are known, or not.
    pub fn new(cipher: Cipher, mac: Option<Mac>, coded_counters: bool, planted: Planted) -> LineCodec {
        let masks = mac.as_ref().map_or(0, Mac::mask_blocks);
        let tag = mac.as_ref().and_then(Mac::uses);
        let work = BlockWork::new(cipher.uses(), tag, masks, coded_counters);
        let piece_bytes = block_work::piece_bytes(&work, mac.is_some());
        LineCodec { piece_bytes, cipher, mac, work, speculation: None, spilled: Box::default(), planted }
    }

    /// Bytes of the pieces of a line that are opened each by itself.
    pub fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }

    /// The plaintext of a line passes, and the table of values learns from it, if there is one.
    pub fn learn(&self, plaintext: &Line) {
        if let Some(speculation) = &self.speculation {
            speculation.learn(plaintext);
        }
    }

    /// Whether a line must be decrypted before it can be checked.
    pub fn checks_plaintext(&self) -> bool {
        self.mac.as_ref().is_some_and(Mac::covers_plaintext)
    }

    /// Whether each tag lies with its line.
    pub fn tags_travel(&self) -> bool {
        self.mac.as_ref().is_some_and(Mac::travels)
    }

    /// The tag that a line is checked against: its own, if tags travel with lines; else the one from the region of tags.
    pub fn tag_of(&self, stored: &Untrusted, in_region: StoredTag) -> StoredTag {
        if self.tags_travel() { Tag::from(stored.beside()).into() } else { in_region }
    }

    /// The plaintext of a line under a version, whose blocks are there.
    pub fn decrypt(&self, at: DataSlot, counter: Counter, stored: &Untrusted) -> Line {
        self.cipher.open(at, counter, &stored.examine())
    }

    /// Compares the tag of `text` with the stored one, if there are tags.
    pub async fn check<V: Verbs>(&self, verbs: &V, arrived: &Arrived<'_>, text: &Line) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        let bitmap = if mac.coverage.bitmap { arrived.order.known().await? } else { Bitmap::NONE };
        let named = (arrived.at, arrived.counter, bitmap, text);
        let computed = self.compute_tag(verbs, mac, named, &arrived.others).await;
        self.compare(mac, arrived, computed)
    }

    /// As [`LineCodec::check`], of a tag whose work is done, and which binds no bitmap.
    fn judge(&self, arrived: &Arrived<'_>, text: &Line) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        self.compare(mac, arrived, mac.tag(arrived.at, arrived.counter, Bitmap::NONE, text))
    }

    fn compare(&self, mac: &Mac, arrived: &Arrived<'_>, computed: Tag) -> Result<(), Fault> {
        let blank_passes = self.planted.has(Bug::BlankLinePasses) && arrived.stored.examine() == ZERO_LINE;
        if mac.fits(arrived.tag.get(), computed) || blank_passes { Ok(()) } else { Err(Fault::Tag(arrived.at.line())) }
    }

    /// Encrypts a line under a version, whose blocks are there, with its words in the order in which its bitmap lets them lie.
    pub fn encrypt(&self, at: DataSlot, counter: Counter, bitmap: Bitmap, plaintext: &Line) -> Sealed {
        let plaintext = bitmap.arrange(plaintext);
        let ciphertext = self.cipher.seal(at, counter, &plaintext);
        Sealed { at, counter, bitmap, plaintext, ciphertext }
    }

    /// The bitmap of a line that is sealed now; none where lines are not re-ordered.
    pub fn bitmap_of(&self, plaintext: &Line) -> Bitmap {
        self.speculation.as_ref().map_or(Bitmap::NONE, |speculation| speculation.bitmap_of(plaintext))
    }

    /// As [`LineCodec::encrypt`], of a line that is not re-ordered and will be decrypted in a moment.
    pub fn encrypt_for_now(&self, at: DataSlot, counter: Counter, plaintext: &Line) -> Sealed {
        let sealed = self.encrypt(at, counter, Bitmap::NONE, plaintext);
        self.cipher.learn(at, counter, plaintext, &sealed.ciphertext);
        sealed
    }

    /// Notes the pad that hides a line that leaves the chip, if one does: it serves from now on.
    pub fn spend_pad<V: Verbs>(&self, verbs: &V, sealed: &Sealed) {
        let Sealed { at, counter, ref plaintext, .. } = *sealed;
        verbs.spend(at.slot(), || self.cipher.nonce(at, counter).map(|nonce| Keystream::Pad(nonce, *plaintext)));
    }

    /// Notes the masks of the tag of a line that leaves the chip, if tags have masks: they serve from now on.
    pub fn spend_masks<V: Verbs>(&self, verbs: &V, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) {
        if let Some(mac) = &self.mac {
            let masks = || mac.masks(&among(self.named(mac, sealed), others));
            verbs.spend(sealed.at.slot(), || masks().map(Keystream::Masks));
        }
    }

    /// Computes the tag of a line and of those under the same tag, if there are tags: that took its time with the ciphertext, where
    /// it is made with it.
    pub async fn tag<V: Verbs>(&self, verbs: &V, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) -> Option<Tag> {
        let mac = self.mac.as_ref()?;
        let (at, counter, bitmap, text) = self.named(mac, sealed);
        if self.work.seals_with_tag() {
            return Some(mac.tag(at, counter, bitmap, text));
        }
        Some(self.compute_tag(verbs, mac, (at, counter, bitmap, text), others).await)
    }

    /// The tag of a line that booting puts into memory, and of those that are there already; it takes no time.
    pub fn tag_at_boot(&self, mac: &Mac, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) -> Tag {
        mac.tag_over(&among(self.named(mac, sealed), others))
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
        // The line's own mask is made with its pad.
        join!(self.work.masks(verbs, lines.len() - 1), self.work.to_tag(verbs, lines.len()));
        mac.tag_over(&lines)
    }
}

/// A line among others under the same tag, in order.
fn among((at, counter, _, text): Named<'_>, others: &[(DataSlot, Counter, Line)]) -> Tagged {
    let place = others.partition_point(|(other, ..)| *other < at);
    let (below, above) = others.split_at(place);
    below.iter().copied().chain([(at, counter, *text)]).chain(above.iter().copied()).collect()
}
