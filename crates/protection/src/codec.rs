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

use crate::cipher::Cipher;
use crate::counter::Counter;
use crate::mac::{GROUP_MAX, Mac};
use crate::placement::DataSlot;
use crate::planted::{Bug, Planted};
use crate::slot::Untrusted;
use crate::verbs::{AesUnits, Blocks, Fault, Keystream, Known, Plaintext, Verbs, Wanted};
use arrayvec::ArrayVec;
use crypto::{BlockCipher, Order, Uses};
use sim::{join, join_all};
use std::future::Future;
use units::{Line, ZERO_LINE};

/// A line with its version and with what of it the tag is over.
type Named<'a> = (DataSlot, Counter, &'a Line);
/// The other lines under a line's tag: their versions and their ciphertexts.
pub(crate) type Others = Vec<(DataSlot, Counter, Line)>;
/// All lines under one tag, so named.
type Tagged = ArrayVec<(DataSlot, Counter, Line), GROUP_MAX>;

/// A line as memory returned it, with what it is checked against.
pub(crate) struct Arrived {
    /// Where it lies.
    pub at: DataSlot,
    /// Its version.
    pub counter: Counter,
    /// What memory returned.
    pub stored: Untrusted,
    /// Its tag; anything without a code.
    pub tag: u64,
    /// The other lines under its tag.
    pub others: Others,
}

/// A line that is ready for memory.
pub(crate) struct Sealed {
    /// Where it goes.
    pub at: DataSlot,
    /// Its version.
    pub counter: Counter,
    /// What it hides.
    pub plaintext: Line,
    /// What memory gets.
    pub ciphertext: Line,
}

impl Sealed {
    /// What memory gets, with a tag that travels with the line.
    pub fn with(&self, tag: u64) -> Untrusted {
        Untrusted::with(self.ciphertext, tag)
    }
}

/// Encryption and authentication of lines.
#[derive(Clone)]
pub(crate) struct LineCodec {
    /// Encryption.
    pub cipher: Cipher,
    /// Authentication.
    pub mac: Option<Mac>,
    /// Whether a counter must be decoded before it is known.
    pub coded_counters: bool,
    /// Weaknesses of tests.
    pub planted: Planted,
}

impl LineCodec {
    /// Whether a line must be decrypted before it can be checked.
    pub fn checks_plaintext(&self) -> bool {
        self.mac.as_ref().is_some_and(Mac::covers_plaintext)
    }

    /// Whether each tag lies with its line.
    pub fn tags_travel(&self) -> bool {
        self.mac.as_ref().is_some_and(Mac::travels)
    }

    /// How much of a line must be there before the first of it is of use.
    pub fn wanted(&self) -> Wanted {
        if self.mac.is_none() && self.cipher.works_by_word() { Wanted::FirstWord } else { Wanted::Line }
    }

    /// Uses of block ciphers that a line takes, and that of its tag's mask (EMCC, section V: five).
    pub fn blocks(&self) -> u32 {
        self.cipher.uses().map_or(0, |uses| uses.blocks()) + self.mask_blocks()
    }

    fn mask_blocks(&self) -> u32 {
        self.mac.as_ref().map_or(0, Mac::mask_blocks)
    }

    /// What of a line's encryption needs its counter alone: to seal and to open alike.
    fn ahead(&self) -> Option<Blocks> {
        let Uses { cipher, of_nonce, of_line, order } = self.cipher.uses()?;
        let parallel = if order == Order::Ahead { of_line } else { 0 };
        Blocks { cipher, chained: of_nonce, parallel, inverse: false }.any()
    }

    /// What of sealing a line waits for that.
    fn to_seal(&self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.cipher.uses()?;
        match order {
            Order::Ahead => None,
            Order::Parallel => Some(Blocks::parallel(cipher, of_line)),
            Order::Chained => Some(Blocks { cipher, chained: of_line, parallel: 0, inverse: false }),
        }
    }

    /// What of opening a line waits for that, and for the ciphertext.
    fn to_open(&self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.cipher.uses()?;
        (order != Order::Ahead).then_some(Blocks { inverse: true, ..Blocks::parallel(cipher, of_line) })
    }

    /// The masks of so many lines, if tags have masks.
    fn mask_work(&self, lines: u32) -> Option<Blocks> {
        Blocks::parallel(BlockCipher::Aes, lines * self.mask_blocks()).any()
    }

    /// What of a line needs its counter alone: of its encryption, and the mask of its tag. What the same units can begin at
    /// once is one piece of work.
    fn ahead_with_mask(&self) -> [Option<Blocks>; 2] {
        match (self.ahead(), self.mask_work(1)) {
            (Some(ahead @ Blocks { cipher: BlockCipher::Aes, chained: 0, .. }), Some(mask)) => {
                [Some(Blocks { parallel: ahead.parallel + mask.parallel, ..ahead }), None]
            }
            (None, mask) => [mask, None],
            apart => apart.into(),
        }
    }

    /// What an L2 does of a line ahead: all that needs its counter alone.
    pub fn ahead_in_l2(&self) -> Blocks {
        Blocks::parallel(BlockCipher::Aes, self.blocks())
    }

    /// Decodes a line of counters, if the organisation asks for it.
    pub fn decode<V: Verbs>(&self, verbs: &V) -> Known {
        if self.coded_counters { verbs.decode() } else { Known::default() }
    }

    /// Begins what needs only a line's counter, whose line of counters is there and is decoded first: its pad or its offsets, and
    /// the mask of its tag.
    pub fn pad_ahead<'a, V: Verbs>(&self, verbs: &'a V) -> Option<impl Future<Output = ()> + use<'a, V>> {
        let [first, second] = self.ahead_with_mask();
        let known = first.map(|_| self.decode(verbs))?;
        let first = verbs.pad(AesUnits::Controller, first?, known);
        // Apart in memory, as what few lines need.
        let second = second.map(|blocks| Box::pin(verbs.pad(AesUnits::Controller, blocks, known)));
        Some(async move {
            first.await;
            if let Some(second) = second {
                second.await;
            }
        })
    }

    /// Waits for what was begun of a line ahead, or for the whole of it.
    async fn padded<V: Verbs>(&self, verbs: &V, pad: Option<impl Future<Output = ()>>) {
        match pad {
            Some(pad) => pad.await,
            None => {
                if let Some(pad) = self.pad_ahead(verbs) {
                    pad.await;
                }
            }
        }
    }

    /// Waits for the blocks that open a line whose ciphertext is there, of which some may be under way.
    pub async fn ready_to_open<V: Verbs>(&self, verbs: &V, pad: Option<impl Future<Output = ()>>) {
        self.padded(verbs, pad).await;
        if let Some(blocks) = self.to_open() {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// Waits for the blocks that seal a line, and for the mask of its tag.
    pub async fn ready_to_seal<V: Verbs>(&self, verbs: &V) {
        self.padded(verbs, self.pad_ahead(verbs)).await;
        if let Some(blocks) = self.to_seal() {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// Waits for the blocks that open a line and those that seal it again, without masks.
    pub async fn ready_to_reseal<V: Verbs>(&self, verbs: &V) {
        let counter = self.decode(verbs);
        let pad = |blocks| verbs.pad(AesUnits::Controller, blocks, counter);
        let pads = [self.ahead().map(pad), self.ahead().map(pad)];
        join_all(pads.into_iter().flatten()).await;
        for blocks in [self.to_open(), self.to_seal()].into_iter().flatten() {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// Waits for the masks of so many lines, if tags have masks.
    pub async fn masks<V: Verbs>(&self, verbs: &V, lines: usize) {
        if let Some(blocks) = self.mask_work(lines as u32) {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// The tag that a line is checked against: its own, if tags travel with lines; else the one from the region of tags.
    pub fn tag_of(&self, stored: &Untrusted, in_region: u64) -> u64 {
        if self.tags_travel() { stored.beside() } else { in_region }
    }

    /// The plaintext of a line under a version, whose blocks are there.
    pub fn decrypt(&self, at: DataSlot, counter: Counter, stored: &Untrusted) -> Line {
        self.cipher.open(at, counter, &stored.examine())
    }

    /// Decrypts and verifies a line, both at once unless the tag is over the plaintext. A mode that starts early has
    /// its pad under way.
    pub async fn open<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived,
        pad: Option<impl Future<Output = ()>>,
    ) -> (Plaintext, Result<(), Fault>) {
        let open = async {
            self.ready_to_open(verbs, pad).await;
            let bytes = self.decrypt(arrived.at, arrived.counter, &arrived.stored);
            Plaintext { bytes, verified: self.mac.is_some() }
        };
        if self.mac.is_none() {
            return (open.await, Ok(()));
        }
        if self.checks_plaintext() {
            let plaintext = open.await;
            return (plaintext, self.check(verbs, arrived, &plaintext.bytes).await);
        }
        join!(open, self.check(verbs, arrived, &arrived.stored.examine()))
    }

    /// Compares the tag of `text` with the stored one, if there are tags.
    pub async fn check<V: Verbs>(&self, verbs: &V, arrived: &Arrived, text: &Line) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        let computed = self.compute_tag(verbs, mac, (arrived.at, arrived.counter, text), &arrived.others).await;
        let blank_passes = self.planted.has(Bug::BlankLinePasses) && arrived.stored.examine() == ZERO_LINE;
        if mac.fits(arrived.tag, computed) || blank_passes { Ok(()) } else { Err(Fault::Tag(arrived.at.line())) }
    }

    /// Encrypts a line under a version, whose blocks are there.
    pub fn encrypt(&self, at: DataSlot, counter: Counter, plaintext: &Line) -> Sealed {
        let ciphertext = self.cipher.seal(at, counter, plaintext);
        Sealed { at, counter, plaintext: *plaintext, ciphertext }
    }

    /// As [`LineCodec::encrypt`], of a line that will be decrypted in a moment.
    pub fn encrypt_for_now(&self, at: DataSlot, counter: Counter, plaintext: &Line) -> Sealed {
        let sealed = self.encrypt(at, counter, plaintext);
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

    /// Computes the tag of a line and of those under the same tag, if there are tags.
    pub async fn tag<V: Verbs>(&self, verbs: &V, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) -> Option<u64> {
        let mac = self.mac.as_ref()?;
        Some(self.compute_tag(verbs, mac, self.named(mac, sealed), others).await)
    }

    /// The tag of a line that booting puts into memory, and of those that are there already; it takes no time.
    pub fn tag_at_boot(&self, mac: &Mac, sealed: &Sealed, others: &[(DataSlot, Counter, Line)]) -> u64 {
        mac.tag_over(&among(self.named(mac, sealed), others))
    }

    fn named<'a>(&self, mac: &Mac, sealed: &'a Sealed) -> Named<'a> {
        (sealed.at, sealed.counter, mac.covered(&sealed.plaintext, &sealed.ciphertext))
    }

    async fn compute_tag<V: Verbs>(
        &self,
        verbs: &V,
        mac: &Mac,
        (at, counter, text): Named<'_>,
        others: &[(DataSlot, Counter, Line)],
    ) -> u64 {
        if others.is_empty() {
            mac.schedule(at, counter, text);
            verbs.mac().await;
            return mac.tag(at, counter, text);
        }
        Box::pin(self.compute_common_tag(verbs, mac, among((at, counter, text), others))).await
    }

    async fn compute_common_tag<V: Verbs>(&self, verbs: &V, mac: &Mac, lines: Tagged) -> u64 {
        // The line's own mask is made with its pad.
        join!(self.masks(verbs, lines.len() - 1), join_all(lines.iter().map(|_| verbs.mac())));
        mac.tag_over(&lines)
    }
}

/// A line among others under the same tag, in order.
fn among((at, counter, text): Named<'_>, others: &[(DataSlot, Counter, Line)]) -> Tagged {
    let place = others.partition_point(|(other, ..)| *other < at);
    let (below, above) = others.split_at(place);
    below.iter().copied().chain([(at, counter, *text)]).chain(above.iter().copied()).collect()
}
