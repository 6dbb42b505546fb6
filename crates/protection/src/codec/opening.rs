//! How a line is opened: as a whole, or piece by piece as its words come, the asked-for piece first.
//!
//! ```text
//! piece:   words ─ block through the inverse cipher ─┐ asked-for piece: released before the rest, if nothing else
//! tag:     words, or plaintext ─ block ─ compare     ┘ vouches for it than its own tag, or nothing at all
//! ```
//! A piece is what cipher or code can do by itself: a block, or a word where all blocks were made ahead. A tag over the line
//! waits for all of it, in a chain of blocks for each of its links, in a sum of blocks once; then the line is released as a whole.

use super::block_work::Ahead;
use super::{Arrived, LineCodec};
use crate::mac::Mac;
use crate::planted::Bug;
use crate::verbs::{AesUnits, Blocks, Fault, Known, Plaintext, Purpose, Verbs, Wanted};
use crypto::{Order, Uses};
use sim::{Once, join, join_all};
use std::cell::Cell;
use std::future::Future;
use units::{LINE_BYTES, Line, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// A line that is being opened.
struct Opening<'a, V, F> {
    codec: &'a LineCodec,
    verbs: &'a V,
    arrived: &'a Arrived,
    plaintext: Plaintext,
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
        pad: Option<Ahead>,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        if arrived.beats.come_apart() || self.work.tags_by_pieces() {
            return Box::pin(self.open_by_pieces(verbs, arrived, pad, release_first)).await;
        }
        // A closure, not a future: that would be moved to where it is awaited, with all room that it ever needs.
        let open = async || {
            if self.work.blocks() > 0 {
                self.work.to_open(verbs, pad).await;
            }
            let bytes = self.decrypt(arrived.at, arrived.counter, &arrived.stored);
            Plaintext { bytes, verified: self.mac.is_some() }
        };
        if self.mac.is_none() {
            return (open().await, Ok(()));
        }
        if self.checks_plaintext() {
            let plaintext = open().await;
            return (plaintext, self.check(verbs, arrived, &plaintext.bytes).await);
        }
        join!(open(), self.check(verbs, arrived, &arrived.stored.examine()))
    }

    /// Decrypts and verifies a line piece by piece, and releases the asked-for one before the rest where it can be.
    async fn open_by_pieces<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived,
        pad: Option<Ahead>,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        let bytes = self.decrypt(arrived.at, arrived.counter, &arrived.stored);
        let plaintext = Plaintext { bytes, verified: self.mac.is_some() };
        let release_first = Cell::new(Some(release_first));
        let (padded, tag_begun, decrypted) = Default::default();
        let opening = Opening { codec: self, verbs, arrived, plaintext, padded, tag_begun, decrypted, release_first };
        let ((), _, verdict) = join!(opening.ahead(pad), opening.decrypt_all(), opening.verdict());
        (plaintext, verdict)
    }
}

impl<V: Verbs, F: FnOnce(Plaintext, Words)> Opening<'_, V, F> {
    /// Waits for what needs the nonce alone: of decryption and of the tag, each by itself where they are in two pieces.
    async fn ahead(&self, pad: Option<Ahead>) {
        let begun = pad.or_else(|| self.codec.work.pad_ahead(self.verbs));
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
        let work = self.codec.work;
        self.await_words(piece).await;
        if work.is_masked_before() {
            self.padded.wait().await;
        }
        if let Some(blocks) = work.opening_of_piece(piece) {
            self.through_cipher(blocks).await;
        }
        // In CBC the block before is for what comes out, and the nonce's for the first.
        match work.block_before(piece) {
            Some(before) => self.await_words(before).await,
            None if work.is_masked_after() => {
                self.padded.wait().await;
            }
            None => {}
        }
        piece.iter().for_each(|word| self.decrypted[word.index()].set(()));
        if self.codec.mac.is_none() || self.codec.planted.has(Bug::FirstPieceUnchecked) {
            self.release_asked_for(piece);
        }
    }

    async fn await_words(&self, words: Words) {
        if !self.codec.planted.has(Bug::WordsNotAwaited) {
            self.verbs.await_words(self.arrived.beats, words).await;
        }
    }

    fn through_cipher(&self, blocks: Blocks) -> impl Future<Output = ()> {
        self.verbs.await_blocks(self.verbs.pad(AesUnits::Controller, blocks, Known::default()))
    }

    fn release_asked_for(&self, piece: Words) {
        if self.is_asked_for(piece)
            && let Some(release_first) = self.release_first.take()
        {
            release_first(self.plaintext, piece);
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
        if self.codec.checks_plaintext() { self.plaintext.bytes } else { self.arrived.stored.examine() }
    }

    /// Checks each piece against its own tag.
    async fn check_pieces(&self, mac: &Mac, uses: Uses) -> Result<(), Fault> {
        let computed = mac.tag(self.arrived.at, self.arrived.counter, &self.covered());
        let check = async |piece: Words| {
            self.text(piece).await;
            self.padded.wait().await;
            self.through_cipher(Blocks::of_piece(uses.cipher, Purpose::Tag, piece)).await;
            self.plaintext(piece).await;
            let number = piece.iter().next().map_or(0, Word::index) * WORD_BYTES / uses.block_bytes();
            let fits = mac.fits_chunk(self.arrived.tag.get(), computed, number as u32);
            if fits {
                self.release_asked_for(piece);
            }
            fits
        };
        let verdicts = join_all(self.pieces(uses.block_bytes()).map(check)).await;
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
