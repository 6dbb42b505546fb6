//! Opens a line: as a whole, or piece by piece as its words arrive, with the requested piece first.
//!
//! ```text
//! piece:   words ─ block through the inverse cipher ─┐ asked-for piece: released before the rest, if nothing else
//! tag:     words, or plaintext ─ block ─ compare     ┘ vouches for it than its own tag, or nothing at all
//! ```
//! A piece is the smallest part of a line that cipher and code process separately: a block, or a word if all blocks
//! were computed in advance. A tag over the whole line needs all pieces. A chain of blocks waits for each piece in
//! turn, and a sum of blocks waits once for all. The line is then released as a whole.
//!
//! Decryption and verification process the words in their order in memory. Before the release, the words are put back
//! into program order. In designs that re-order lines, this step waits for the line's bitmap ([`order`](super::order)).
//!
//! If the line has candidates, a piece gets the value of its matching candidate when the two are compared, unless the
//! piece is decrypted and verified earlier ([`speculated`](super::speculated)). Candidates with tags that cover the
//! line's bitmap are offered when the bitmap arrives, while the line is decrypted.

use super::speculated::{Speculating, number_of};
use super::{Arrived, EarlyBlocks, LineCodec, OpeningWork};
use crate::mac::Mac;
use crate::planted::Bug;
use crate::speculation::Bitmap;
use crate::verbs::{AesUnits, Blocks, Fault, Known, Passing, Plaintext, Purpose, Verbs, Wanted};
use crypto::{BlockOrder, Uses};
use sim::{Once, join, join_all, race};
use std::cell::{Cell, OnceCell};
use std::future::Future;
use units::{Line, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// A line that is being decrypted and verified.
struct LineOpening<'a, V, F> {
    codec: &'a LineCodec,
    verbs: &'a V,
    arrived: &'a Arrived<'a>,
    plaintext: Cell<Plaintext>,
    /// Speculation on the pieces of the line, if the line has candidates.
    speculating: Option<Speculating<'a, V>>,
    /// Set for each word when the blocks of its decryption that need only the nonce are complete.
    padded: [Once<()>; WORDS_PER_LINE],
    /// Set when the blocks of the tag that need only the nonce are complete.
    tag_begun: Once<()>,
    /// Set for each word that has been decrypted.
    decrypted: [Once<()>; WORDS_PER_LINE],
    /// Callback that releases words before the remaining words; the first release consumes it.
    release_first: Cell<Option<F>>,
}

impl LineCodec {
    /// Returns the part of a line that must have arrived before a reader that requests this word first can use any
    /// word.
    pub fn wanted(&self, word: Word) -> Wanted {
        Wanted::piece(word, self.piece_bytes)
    }

    /// Decrypts and verifies a line, both at once unless the tag is over the plaintext. If the mode can start before
    /// the ciphertext arrives, `begun` contains the pad, which the units are computing. Words that are opened before
    /// the remaining words go to `release_first`.
    pub async fn open<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived<'_>,
        begun: OpeningWork,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        let is_in_pieces = arrived.beats.come_apart() || self.work.tags_by_pieces() || begun.candidates.is_now();
        if is_in_pieces || arrived.order.is_by_bitmap() {
            return Box::pin(self.open_by_pieces(verbs, arrived, begun, release_first)).await;
        }
        let pad = begun.early;
        // A closure, not a future: a future would be moved to the point where it is awaited, together with its whole
        // state.
        let open = async || {
            if self.work.blocks() > 0 {
                self.work.to_open(verbs, pad).await;
            }
            self.decrypt(arrived.at, arrived.counter, &arrived.stored)
        };
        let plaintext = |bytes| Plaintext { bytes, verified: self.mac.is_some() };
        if self.mac.is_none() {
            return (plaintext(open().await), Ok(()));
        }
        if self.checks_plaintext() {
            let opened = open().await;
            return (plaintext(opened), self.check(verbs, arrived, &opened).await);
        }
        let (opened, verdict) = join!(open(), self.check(verbs, arrived, &arrived.stored.examine()));
        (plaintext(opened), verdict)
    }

    /// Decrypts a line before its verification: each piece when its candidate matches, or when the cipher has decrypted
    /// it. `lying` receives the line in its order in memory, as soon as the whole line is decrypted. The returned line
    /// is in program order.
    pub async fn open_unverified<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived<'_>,
        begun: OpeningWork,
        lying: impl FnOnce(&Line),
    ) -> Result<Line, Fault> {
        if !begun.candidates.is_now() {
            self.work.to_open(verbs, begun.early).await;
            let opened = self.decrypt(arrived.at, arrived.counter, &arrived.stored);
            lying(&opened);
            return Ok(arrived.order.known().await?.restore(&opened));
        }
        Box::pin(async {
            let (early, opening) = LineOpening::new(self, verbs, arrived, begun, |_, _| ());
            let work = async {
                join!(opening.early(early), opening.decrypt_all());
                let opened = opening.plaintext.get().bytes;
                lying(&opened);
                Ok(arrived.order.known().await?.restore(&opened))
            };
            opening.raced(work).await
        })
        .await
    }

    /// Decrypts and verifies a line piece by piece, and releases the requested piece before the other pieces if
    /// possible.
    async fn open_by_pieces<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived<'_>,
        begun: OpeningWork,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        let (early, opening) = LineOpening::new(self, verbs, arrived, begun, release_first);
        let work = async { (opening.work(early).await, arrived.order.known().await) };
        let (verdict, bitmap) = opening.raced(work).await;
        let lying = opening.plaintext.get();
        match bitmap {
            Ok(bitmap) => (in_order(self, bitmap, lying), verdict),
            Err(fault) => (lying, Err(fault)),
        }
    }
}

/// Restores the program order of a line's words by the bitmap.
fn in_order(codec: &LineCodec, bitmap: Bitmap, lying: Plaintext) -> Plaintext {
    let bytes = bitmap.restore(&lying.bytes);
    let present = codec.planted.has(Bug::OrderOfPresentTable);
    let bytes = if present { codec.bitmap_of(&bytes).restore(&lying.bytes) } else { bytes };
    Plaintext { bytes, ..lying }
}

impl<'a, V: Verbs, F: FnOnce(Plaintext, Words)> LineOpening<'a, V, F> {
    /// Returns a line without a decrypted piece, and the work that began in advance.
    fn new(
        codec: &'a LineCodec,
        verbs: &'a V,
        arrived: &'a Arrived<'a>,
        OpeningWork { early, candidates }: OpeningWork,
        release_first: F,
    ) -> (Option<EarlyBlocks>, LineOpening<'a, V, F>) {
        let bytes = codec.decrypt(arrived.at, arrived.counter, &arrived.stored);
        let plaintext = Cell::new(Plaintext { bytes, verified: codec.mac.is_some() });
        let release_first = Cell::new(Some(release_first));
        let speculating = Speculating::new(codec, verbs, arrived, candidates);
        let (padded, tag_begun): ([Once<()>; WORDS_PER_LINE], _) = Default::default();
        let decrypted: [Once<()>; WORDS_PER_LINE] = Default::default();
        // The words after the end of a short line count as decrypted.
        decrypted[codec.cipher.length().bytes() / WORD_BYTES..].iter().for_each(|word| word.set(()));
        let opening =
            LineOpening { codec, verbs, arrived, plaintext, speculating, padded, tag_begun, decrypted, release_first };
        (early, opening)
    }
}

impl<V: Verbs, F: FnOnce(Plaintext, Words)> LineOpening<'_, V, F> {
    /// Decrypts and verifies the line.
    async fn work(&self, early: Option<EarlyBlocks>) -> Result<(), Fault> {
        join!(self.early(early), self.decrypt_all(), self.verdict()).2
    }

    /// Returns the outcome of `work`, while pieces of the line may match their candidates.
    async fn raced<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.speculating {
            Some(speculating) => speculating.race(&self.plaintext, work).await,
            None => work.await,
        }
    }

    /// Waits for the blocks that need only the nonce: separately for decryption and for the tag, if these blocks are in
    /// two batches, and separately for each piece, if its pad entered the units alone.
    async fn early(&self, begun: Option<EarlyBlocks>) {
        let begun = begun.or_else(|| self.codec.work.begin_pad(self.verbs, false));
        let Some(EarlyBlocks { first, second, pads }) = begun else {
            self.set_padded(Words::ALL);
            return self.tag_begun.set(());
        };
        let (has_second, has_pads) = (second.is_some(), pads.is_some());
        let first = async {
            self.verbs.await_blocks(first).await;
            if !has_pads {
                self.set_padded(Words::ALL);
            }
            if !has_second {
                self.tag_begun.set(());
            }
        };
        let second = async {
            if let Some(second) = second {
                self.verbs.await_blocks(*second).await;
                self.tag_begun.set(());
            }
        };
        let pad = async |(piece, pad)| {
            self.verbs.await_blocks(pad).await;
            self.set_padded(piece);
        };
        join!(first, second, join_all(pads.into_iter().flatten().map(pad)));
    }

    fn set_padded(&self, words: Words) {
        words.iter().for_each(|word| self.padded[word.index()].set(()));
    }

    async fn padded(&self, words: Words) {
        for word in words.iter() {
            self.padded[word.index()].wait().await;
        }
    }

    async fn decrypt_all(&self) {
        let pieces = self.arrived.pieces(self.codec.cipher.length(), self.codec.piece_bytes);
        join_all(pieces.map(|piece| self.decrypt(piece))).await;
    }

    /// Decrypts a piece when its words have arrived.
    async fn decrypt(&self, piece: Words) {
        let work = &self.codec.work;
        let speculating = self.speculating.as_ref().filter(|speculating| speculating.targets().ciphertext);
        match speculating.and_then(Speculating::now) {
            Some(speculated) => speculated.there(piece).await,
            None => self.await_words(piece).await,
        }
        if work.is_masked_before() {
            self.padded(piece).await;
        }
        let passing = work.opening_of_piece(piece).map(|blocks| self.begin(blocks));
        let by_cipher = async {
            if self.codec.planted.has(Bug::SmallNumbersEarly) && self.is_of_small_numbers(piece) {
                return;
            }
            if let Some(passing) = passing {
                self.verbs.await_blocks(passing).await;
            }
            // In CBC, a decrypted block is XOR-ed with the previous block of ciphertext, and the first block with the
            // encrypted nonce.
            match work.block_before(piece) {
                Some(before) => self.await_words(before).await,
                None if work.is_masked_after() => self.padded(piece).await,
                None => {}
            }
        };
        match speculating {
            Some(speculating) => {
                race(speculating.matched(piece), by_cipher).await;
                speculating.decrypted(piece);
            }
            None => by_cipher.await,
        }
        piece.iter().for_each(|word| self.decrypted[word.index()].set(()));
        if self.codec.mac.is_none() || self.codec.planted.has(Bug::FirstPieceUnchecked) {
            self.release_requested(piece).await;
        }
    }

    /// Returns true if the upper half of each word is zero. A planted bug does not wait for the cipher in this case.
    fn is_of_small_numbers(&self, piece: Words) -> bool {
        let plaintext = self.plaintext.get().bytes;
        piece.iter().all(|word| word.of(&plaintext)[WORD_BYTES / 2..].iter().all(|byte| *byte == 0))
    }

    async fn await_words(&self, words: Words) {
        self.arrived.await_words(self.verbs, self.codec.planted, words).await;
    }

    fn begin(&self, blocks: Blocks) -> Passing {
        self.verbs.pad(AesUnits::Controller, blocks, Known::default())
    }

    fn through_cipher(&self, blocks: Blocks) -> impl Future<Output = ()> {
        self.verbs.await_blocks(self.begin(blocks))
    }

    /// Releases a piece to the core if it contains the requested word, as soon as the bitmap shows which words the
    /// piece contains.
    async fn release_requested(&self, piece: Words) {
        let Ok(bitmap) = self.arrived.order.known().await else { return };
        let has = |bug| self.codec.planted.has(bug);
        let position = if has(Bug::FirstWordsUnplaced) { Bitmap::NONE } else { bitmap }.position_of(self.arrived.word);
        if piece.contains(Words::of(position))
            && let Some(release_first) = self.release_first.take()
        {
            let words = if has(Bug::FirstWordsMisplaced) { piece } else { bitmap.words_at(piece) };
            release_first(in_order(self.codec, bitmap, self.plaintext.get()), words);
        }
    }

    /// Waits until the text that a tag covers is available for these words.
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
            Some(uses) if uses.order == BlockOrder::Parallel => self.check_pieces(mac, uses).await,
            Some(uses) if uses.order == BlockOrder::Chained => self.check_chain(uses).await,
            _ => {
                self.text(Words::ALL).await;
                if self.codec.work.tag.is_some() {
                    // A tag over several lines: its chain of blocks begins with the encrypted nonce.
                    self.tag_begun.wait().await;
                }
                self.codec.check(self.verbs, self.arrived, &self.covered()).await
            }
        }
    }

    /// Returns the text that the line's tag covers: plaintext or ciphertext.
    fn covered(&self) -> Line {
        if self.codec.checks_plaintext() { self.plaintext.get().bytes } else { self.arrived.stored.examine() }
    }

    /// Compares the tag of each piece with the stored tag of the piece.
    async fn check_pieces(&self, mac: &Mac, uses: Uses) -> Result<(), Fault> {
        let Arrived { at, counter, order, .. } = *self.arrived;
        let covered = self.covered();
        let tag = |bitmap| mac.tag(at, counter, bitmap, &covered);
        let computed = OnceCell::new();
        if !mac.coverage.bitmap {
            computed.get_or_init(|| tag(Bitmap::NONE));
        }
        let check = async |piece: Words| {
            self.text(piece).await;
            let by_code = async {
                self.padded(piece).await;
                self.tag_begun.wait().await;
                if mac.coverage.bitmap && order.known().await.is_err() {
                    return false;
                }
                let computed = *computed.get_or_init(|| tag(order.so_far()));
                self.through_cipher(Blocks::of_piece(uses.cipher, Purpose::Tag, piece)).await;
                self.plaintext(piece).await;
                mac.fits_chunk(self.arrived.tag.get(), computed, number_of(piece, uses.block_bytes()) as u32)
            };
            let fits = match self.speculating.as_ref().filter(|speculating| speculating.targets().tag) {
                Some(speculating) => {
                    let fits = race(speculating.vouched(piece), by_code).await;
                    speculating.verified(piece);
                    fits
                }
                None => by_code.await,
            };
            if fits {
                self.release_requested(piece).await;
            }
            fits
        };
        let unchecked = if self.codec.planted.has(Bug::TrailingChunksUnchecked) { 1 } else { usize::MAX };
        let verdicts =
            join_all(self.arrived.pieces(self.codec.cipher.length(), uses.block_bytes()).take(unchecked).map(check))
                .await;
        if verdicts.into_iter().all(|fits| fits) { Ok(()) } else { Err(Fault::Tag(self.arrived.at.line())) }
    }

    /// Verifies the line by a tag that is a chain of blocks, from the first block to the last.
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
