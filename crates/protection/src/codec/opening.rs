//! How a line is opened: as a whole, or piece by piece as its words come, the asked-for piece first.
//!
//! ```text
//! piece:   words ─ block through the inverse cipher ─┐ asked-for piece: released before the rest, if nothing else
//! tag:     words, or plaintext ─ block ─ compare     ┘ vouches for it than its own tag, or nothing at all
//! ```
//! A piece is what cipher or code can do by itself: a block, or a word where all blocks were made ahead. A tag over the line
//! waits for all of it, in a chain of blocks for each of its links, in a sum of blocks once; then the line is released as a whole.
//!
//! All this is about the line as it lies. What is released has its words in their order again: a line that was re-ordered is there
//! with its bitmap only (`scheme/access.rs`).
//!
//! Where the line was speculated on, a piece is what the matching candidate is from the moment at which the two are compared,
//! unless it is decrypted and verified before that ([`speculated`](super::speculated)).

use super::block_work::Ahead;
use super::candidates::Matching;
use super::speculated::{Speculated, number_of};
use super::{Arrived, Begun, LineCodec};
use crate::mac::Mac;
use crate::planted::Bug;
use crate::verbs::{AesUnits, Blocks, Fault, Known, Passing, Plaintext, Purpose, Verbs, Wanted};
use crypto::{Order, Uses};
use sim::{Once, join, join_all, race};
use std::cell::Cell;
use std::future::{Future, pending};
use units::{LINE_BYTES, Line, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// A line that is being opened.
struct Opening<'a, V, F> {
    codec: &'a LineCodec,
    verbs: &'a V,
    arrived: &'a Arrived,
    plaintext: Cell<Plaintext>,
    /// What was speculated on its pieces.
    speculated: Option<Speculated<'a>>,
    /// What decryption needs of the nonce alone is done.
    padded: Once<()>,
    /// What the tag needs of it is.
    tag_begun: Once<()>,
    /// Which words have been decrypted.
    decrypted: [Once<()>; WORDS_PER_LINE],
    /// Releases words before the rest, once.
    release_first: Cell<Option<F>>,
}

impl LineCodec {
    /// How much of a line must be there before the first of it is of use to a reader that asks for this word first.
    pub fn wanted(&self, word: Word) -> Wanted {
        Wanted::piece(word, self.piece_bytes)
    }

    /// Decrypts and verifies a line, both at once unless the tag is over the plaintext. A mode that starts early has
    /// its pad under way. What is opened before the rest goes to `release_first`.
    pub async fn open<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived,
        begun: Begun,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        if arrived.beats.come_apart() || self.work.tags_by_pieces() || begun.offers.is_some() {
            return Box::pin(self.open_by_pieces(verbs, arrived, begun, release_first)).await;
        }
        let pad = begun.ahead;
        // A closure, not a future: that would be moved to where it is awaited, with all room that it ever needs.
        let open = async || {
            if self.work.blocks() > 0 {
                self.work.to_open(verbs, pad).await;
            }
            self.decrypt(arrived.at, arrived.counter, &arrived.stored)
        };
        let in_order = |lying| in_order(self, arrived, Plaintext { bytes: lying, verified: self.mac.is_some() });
        if self.mac.is_none() {
            return (in_order(open().await), Ok(()));
        }
        if self.checks_plaintext() {
            let lying = open().await;
            return (in_order(lying), self.check(verbs, arrived, &lying).await);
        }
        let (lying, verdict) = join!(open(), self.check(verbs, arrived, &arrived.stored.examine()));
        (in_order(lying), verdict)
    }

    /// Decrypts a line that nothing vouches for yet, as it lies: its pieces as they match or as they come out.
    pub async fn open_unverified<V: Verbs>(&self, verbs: &V, arrived: &Arrived, begun: Begun) -> Line {
        if begun.offers.is_none() {
            self.work.to_open(verbs, begun.ahead).await;
            return self.decrypt(arrived.at, arrived.counter, &arrived.stored);
        }
        Box::pin(async {
            let (ahead, opening) = Opening::new(self, verbs, arrived, begun, |_, _| ());
            let by_cipher = async { join!(opening.ahead(ahead), opening.decrypt_all()).1 };
            opening.raced(by_cipher).await;
            opening.plaintext.get().bytes
        })
        .await
    }

    /// Decrypts and verifies a line piece by piece, and releases the asked-for one before the rest where it can be.
    async fn open_by_pieces<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived,
        begun: Begun,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        let (ahead, opening) = Opening::new(self, verbs, arrived, begun, release_first);
        let verdict = opening.raced(opening.work(ahead)).await;
        (in_order(self, arrived, opening.plaintext.get()), verdict)
    }
}

/// The words of a line in their order, as its bitmap says.
fn in_order(codec: &LineCodec, Arrived { bitmap, .. }: &Arrived, lying: Plaintext) -> Plaintext {
    let bytes = bitmap.restore(&lying.bytes);
    let present = codec.planted.has(Bug::OrderOfPresentTable);
    let bytes = if present { codec.bitmap_of(&bytes).restore(&lying.bytes) } else { bytes };
    Plaintext { bytes, ..lying }
}

impl<'a, V: Verbs, F: FnOnce(Plaintext, Words)> Opening<'a, V, F> {
    /// A line of which nothing is opened, and what was begun ahead.
    fn new(
        codec: &'a LineCodec,
        verbs: &'a V,
        arrived: &'a Arrived,
        Begun { ahead, offers }: Begun,
        release_first: F,
    ) -> (Option<Ahead>, Opening<'a, V, F>) {
        let bytes = codec.decrypt(arrived.at, arrived.counter, &arrived.stored);
        let speculated = codec.speculation.as_ref().zip(offers);
        let speculated = speculated.map(|(speculation, offers)| {
            let matches = Matching { codec, offers: &offers, arrived, plaintext: &bytes }.of(speculation);
            Speculated::new(speculation, offers, matches)
        });
        let plaintext = Cell::new(Plaintext { bytes, verified: codec.mac.is_some() });
        let release_first = Cell::new(Some(release_first));
        let (padded, tag_begun, decrypted) = Default::default();
        let opening =
            Opening { codec, verbs, arrived, plaintext, speculated, padded, tag_begun, decrypted, release_first };
        (ahead, opening)
    }
}

impl<V: Verbs, F: FnOnce(Plaintext, Words)> Opening<'_, V, F> {
    /// The outcome of work, while pieces of the line may match their candidates.
    async fn raced<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.speculated {
            Some(speculated) => race(self.speculate(speculated), work).await,
            None => work.await,
        }
    }

    /// Decrypts and verifies.
    async fn work(&self, ahead: Option<Ahead>) -> Result<(), Fault> {
        join!(self.ahead(ahead), self.decrypt_all(), self.verdict()).2
    }

    /// Compares the pieces of the line with their candidates as they come. It has no end: the line is opened without it.
    async fn speculate<T>(&self, speculated: &Speculated<'_>) -> T {
        if speculated.targets().ciphertext {
            let compare = async |piece: Words| {
                self.await_words(piece).await;
                let candidate = speculated.compared(self.verbs, piece).await;
                self.take_over(piece, &candidate);
                speculated.is_matched(piece);
            };
            join_all(self.pieces(speculated.chunk_bytes()).map(compare)).await;
        }
        pending().await
    }

    /// A piece of the plaintext is what it is in this line.
    fn take_over(&self, piece: Words, line: &Line) {
        let mut plaintext = self.plaintext.get();
        for word in piece.iter() {
            let bytes = word.index() * WORD_BYTES..(word.index() + 1) * WORD_BYTES;
            plaintext.bytes[bytes.clone()].copy_from_slice(&line[bytes]);
        }
        self.plaintext.set(plaintext);
    }

    /// Waits for what needs the nonce alone: of decryption and of the tag, each by itself where they are in two pieces.
    async fn ahead(&self, pad: Option<Ahead>) {
        let begun = pad.or_else(|| self.codec.work.pad_ahead(self.verbs, false));
        let (pad, tag) = begun.map_or((None, None), |(pad, tag)| (Some(pad), tag));
        let is_one = tag.is_none();
        let pad = async {
            if let Some(pad) = pad {
                self.verbs.await_blocks(pad).await;
            }
            self.padded.set(());
        };
        let tag = async {
            if let Some(tag) = tag {
                self.verbs.await_blocks(*tag).await;
                self.tag_begun.set(());
            }
        };
        join!(pad, tag);
        if is_one {
            self.tag_begun.set(());
        }
    }

    /// The pieces of so many bytes, in the order in which they come.
    fn pieces(&self, bytes: usize) -> impl Iterator<Item = Words> + use<V, F> {
        let (count, first) = (LINE_BYTES / bytes, self.arrived.word.index() * WORD_BYTES / bytes);
        (0..count).map(move |turn| Words::with_bytes((turn ^ first) * bytes, bytes))
    }

    fn is_asked_for(&self, piece: Words) -> bool {
        piece.contains(Words::of(self.arrived.word))
    }

    async fn decrypt_all(&self) {
        let pieces = self.pieces(self.codec.piece_bytes);
        join_all(pieces.map(|piece| self.decrypt(piece))).await;
    }

    /// Decrypts a piece when its words are there.
    async fn decrypt(&self, piece: Words) {
        let work = &self.codec.work;
        let speculated = self.speculated.as_ref().filter(|speculated| speculated.targets().ciphertext);
        match speculated {
            Some(speculated) => speculated.there(piece).await,
            None => self.await_words(piece).await,
        }
        if work.is_masked_before() {
            self.padded.wait().await;
        }
        let passing = work.opening_of_piece(piece).map(|blocks| self.begin(blocks));
        let by_cipher = async {
            if self.codec.planted.has(Bug::SmallNumbersEarly) && self.is_of_small_numbers(piece) {
                return;
            }
            if let Some(passing) = passing {
                self.verbs.await_blocks(passing).await;
            }
            // In CBC the block before is for what comes out, and the nonce's for the first.
            match work.block_before(piece) {
                Some(before) => self.await_words(before).await,
                None if work.is_masked_after() => {
                    self.padded.wait().await;
                }
                None => {}
            }
        };
        match speculated {
            Some(speculated) => {
                race(speculated.matched(piece), by_cipher).await;
                speculated.decrypted(self.verbs, piece);
            }
            None => by_cipher.await,
        }
        piece.iter().for_each(|word| self.decrypted[word.index()].set(()));
        if self.codec.mac.is_none() || self.codec.planted.has(Bug::FirstPieceUnchecked) {
            self.release_asked_for(piece);
        }
    }

    /// What a planted bug takes for short.
    fn is_of_small_numbers(&self, piece: Words) -> bool {
        let plaintext = self.plaintext.get().bytes;
        piece.iter().all(|word| word.of(&plaintext)[WORD_BYTES / 2..].iter().all(|byte| *byte == 0))
    }

    async fn await_words(&self, words: Words) {
        if !self.codec.planted.has(Bug::WordsNotAwaited) {
            self.verbs.await_words(self.arrived.beats, words).await;
        }
    }

    fn begin(&self, blocks: Blocks) -> Passing {
        self.verbs.pad(AesUnits::Controller, blocks, Known::default())
    }

    fn through_cipher(&self, blocks: Blocks) -> impl Future<Output = ()> {
        self.verbs.await_blocks(self.begin(blocks))
    }

    fn release_asked_for(&self, piece: Words) {
        if self.is_asked_for(piece)
            && let Some(release_first) = self.release_first.take()
        {
            let plaintext = in_order(self.codec, self.arrived, self.plaintext.get());
            release_first(plaintext, self.arrived.bitmap.words_at(piece));
        }
    }

    /// Waits for what a tag is over.
    async fn text(&self, words: Words) {
        if !self.codec.checks_plaintext() {
            return self.await_words(words).await;
        }
        self.plaintext(words).await;
    }

    async fn plaintext(&self, words: Words) {
        for word in words.iter() {
            self.decrypted[word.index()].wait().await;
        }
    }

    async fn verdict(&self) -> Result<(), Fault> {
        let Some(mac) = &self.codec.mac else { return Ok(()) };
        match self.codec.work.tag.filter(|_| self.arrived.others.is_empty()) {
            Some(uses) if uses.order == Order::Parallel => self.check_pieces(mac, uses).await,
            Some(uses) if uses.order == Order::Chained => self.check_chain(uses).await,
            _ => {
                self.text(Words::ALL).await;
                if self.codec.work.tag.is_some() {
                    // Over several lines: a chain begins with what the nonce makes.
                    self.tag_begun.wait().await;
                }
                self.codec.check(self.verbs, self.arrived, &self.covered()).await
            }
        }
    }

    /// What of the line its tag is over.
    fn covered(&self) -> Line {
        if self.codec.checks_plaintext() { self.plaintext.get().bytes } else { self.arrived.stored.examine() }
    }

    /// Checks each piece against its own tag.
    async fn check_pieces(&self, mac: &Mac, uses: Uses) -> Result<(), Fault> {
        let Arrived { at, counter, bitmap, .. } = *self.arrived;
        let computed = mac.tag(at, counter, bitmap, &self.covered());
        let check = async |piece: Words| {
            self.text(piece).await;
            let by_code = async {
                self.padded.wait().await;
                self.tag_begun.wait().await;
                self.through_cipher(Blocks::of_piece(uses.cipher, Purpose::Tag, piece)).await;
                self.plaintext(piece).await;
                mac.fits_chunk(self.arrived.tag.get(), computed, number_of(piece, uses.block_bytes()) as u32)
            };
            let fits = match self.speculated.as_ref().filter(|speculated| speculated.targets().tag) {
                Some(speculated) => {
                    let fits = race(speculated.vouched(self.verbs, piece), by_code).await;
                    speculated.verified(self.verbs, piece);
                    fits
                }
                None => by_code.await,
            };
            if fits {
                self.release_asked_for(piece);
            }
            fits
        };
        let unchecked = if self.codec.planted.has(Bug::TrailingChunksUnchecked) { 1 } else { usize::MAX };
        let verdicts = join_all(self.pieces(uses.block_bytes()).take(unchecked).map(check)).await;
        if verdicts.into_iter().all(|fits| fits) { Ok(()) } else { Err(Fault::Tag(self.arrived.at.line())) }
    }

    /// Checks the line against a tag whose blocks are a chain, from the first to the last.
    async fn check_chain(&self, uses: Uses) -> Result<(), Fault> {
        self.tag_begun.wait().await;
        for number in 0..uses.of_line as usize {
            let piece = Words::with_bytes(number * uses.block_bytes(), uses.block_bytes());
            self.text(piece).await;
            self.through_cipher(Blocks::of_piece(uses.cipher, Purpose::Tag, piece)).await;
        }
        self.codec.judge(self.arrived, &self.covered())
    }
}
