//! How a line is opened: as a whole, or piece by piece as its words come, the asked-for piece first.
//!
//! ```text
//! piece:   words ─ block through the inverse cipher ─┐ asked-for piece: released before the rest, if nothing else
//! tag:     words, or plaintext ─ block ─ compare     ┘ vouches for it than its own tag, or nothing at all
//! ```
//! A piece is what cipher or code can do by itself: a block, or a word where all blocks were made ahead. A tag over the line
//! waits for all of it, in a chain of blocks for each of its links, in a sum of blocks once; then the line is released as a whole.
//!
//! All this is about the line as it lies. What is released has its words in their order again, which waits for the line's bitmap
//! where lines are re-ordered ([`order`](super::order)).
//!
//! Where the line was speculated on, a piece is what the matching candidate is from the moment at which the two are compared,
//! unless it is decrypted and verified before that ([`speculated`](super::speculated)). Candidates whose tags bind the line's bitmap
//! are offered when that is there, while the line is decrypted.

use super::block_work::Ahead;
use super::speculated::{Speculating, number_of};
use super::{Arrived, Begun, LineCodec};
use crate::mac::Mac;
use crate::planted::Bug;
use crate::speculation::Bitmap;
use crate::verbs::{AesUnits, Blocks, Fault, Known, Passing, Plaintext, Purpose, Verbs, Wanted};
use crypto::{Order, Uses};
use sim::{Once, join, join_all, race};
use std::cell::{Cell, OnceCell};
use std::future::Future;
use units::{Line, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// A line that is being opened.
struct LineOpening<'a, V, F> {
    codec: &'a LineCodec,
    verbs: &'a V,
    arrived: &'a Arrived<'a>,
    plaintext: Cell<Plaintext>,
    /// What is speculated on its pieces.
    speculating: Option<Speculating<'a, V>>,
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
        arrived: &Arrived<'_>,
        begun: Begun,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        let is_in_pieces = arrived.beats.come_apart() || self.work.tags_by_pieces() || begun.candidates.is_now();
        if is_in_pieces || arrived.order.is_by_bitmap() {
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

    /// Decrypts a line that nothing vouches for yet: its pieces as they match or as they come out. `lying` gets it as it lies, as
    /// soon as all of it is decrypted; what comes out is in order.
    pub async fn open_unverified<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived<'_>,
        begun: Begun,
        lying: impl FnOnce(&Line),
    ) -> Result<Line, Fault> {
        if !begun.candidates.is_now() {
            self.work.to_open(verbs, begun.ahead).await;
            let opened = self.decrypt(arrived.at, arrived.counter, &arrived.stored);
            lying(&opened);
            return Ok(arrived.order.known().await?.restore(&opened));
        }
        Box::pin(async {
            let (ahead, opening) = LineOpening::new(self, verbs, arrived, begun, |_, _| ());
            let work = async {
                join!(opening.ahead(ahead), opening.decrypt_all());
                let opened = opening.plaintext.get().bytes;
                lying(&opened);
                Ok(arrived.order.known().await?.restore(&opened))
            };
            opening.raced(work).await
        })
        .await
    }

    /// Decrypts and verifies a line piece by piece, and releases the asked-for one before the rest where it can be.
    async fn open_by_pieces<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived<'_>,
        begun: Begun,
        release_first: impl FnOnce(Plaintext, Words),
    ) -> (Plaintext, Result<(), Fault>) {
        let (ahead, opening) = LineOpening::new(self, verbs, arrived, begun, release_first);
        let work = async { (opening.work(ahead).await, arrived.order.known().await) };
        let (verdict, bitmap) = opening.raced(work).await;
        let lying = opening.plaintext.get();
        match bitmap {
            Ok(bitmap) => (in_order(self, bitmap, lying), verdict),
            Err(fault) => (lying, Err(fault)),
        }
    }
}

/// The words of a line in their order, as its bitmap says.
fn in_order(codec: &LineCodec, bitmap: Bitmap, lying: Plaintext) -> Plaintext {
    let bytes = bitmap.restore(&lying.bytes);
    let present = codec.planted.has(Bug::OrderOfPresentTable);
    let bytes = if present { codec.bitmap_of(&bytes).restore(&lying.bytes) } else { bytes };
    Plaintext { bytes, ..lying }
}

impl<'a, V: Verbs, F: FnOnce(Plaintext, Words)> LineOpening<'a, V, F> {
    /// A line of which nothing is opened, and what was begun ahead.
    fn new(
        codec: &'a LineCodec,
        verbs: &'a V,
        arrived: &'a Arrived<'a>,
        Begun { ahead, candidates }: Begun,
        release_first: F,
    ) -> (Option<Ahead>, LineOpening<'a, V, F>) {
        let bytes = codec.decrypt(arrived.at, arrived.counter, &arrived.stored);
        let plaintext = Cell::new(Plaintext { bytes, verified: codec.mac.is_some() });
        let release_first = Cell::new(Some(release_first));
        let speculating = Speculating::new(codec, verbs, arrived, candidates);
        let (padded, tag_begun) = Default::default();
        let decrypted: [Once<()>; WORDS_PER_LINE] = Default::default();
        // A short line has no words behind its end.
        decrypted[codec.cipher.length().bytes() / WORD_BYTES..].iter().for_each(|word| word.set(()));
        let opening =
            LineOpening { codec, verbs, arrived, plaintext, speculating, padded, tag_begun, decrypted, release_first };
        (ahead, opening)
    }
}

impl<V: Verbs, F: FnOnce(Plaintext, Words)> LineOpening<'_, V, F> {
    /// Decrypts and verifies.
    async fn work(&self, ahead: Option<Ahead>) -> Result<(), Fault> {
        join!(self.ahead(ahead), self.decrypt_all(), self.verdict()).2
    }

    /// The outcome of work, while pieces of the line may match their candidates.
    async fn raced<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.speculating {
            Some(speculating) => speculating.race(&self.plaintext, work).await,
            None => work.await,
        }
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

    async fn decrypt_all(&self) {
        let pieces = self.arrived.pieces(self.codec.cipher.length(), self.codec.piece_bytes);
        join_all(pieces.map(|piece| self.decrypt(piece))).await;
    }

    /// Decrypts a piece when its words are there.
    async fn decrypt(&self, piece: Words) {
        let work = &self.codec.work;
        let speculating = self.speculating.as_ref().filter(|speculating| speculating.targets().ciphertext);
        match speculating.and_then(Speculating::now) {
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
        match speculating {
            Some(speculating) => {
                race(speculating.matched(piece), by_cipher).await;
                speculating.decrypted(piece);
            }
            None => by_cipher.await,
        }
        piece.iter().for_each(|word| self.decrypted[word.index()].set(()));
        if self.codec.mac.is_none() || self.codec.planted.has(Bug::FirstPieceUnchecked) {
            self.release_asked_for(piece).await;
        }
    }

    /// What a planted bug takes for short.
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

    /// A piece may go to the core: if it has the asked-for word it does, as soon as it is known which words it has.
    async fn release_asked_for(&self, piece: Words) {
        let Ok(bitmap) = self.arrived.order.known().await else { return };
        let has = |bug| self.codec.planted.has(bug);
        let place = if has(Bug::FirstWordsUnplaced) { Bitmap::NONE } else { bitmap }.place_of(self.arrived.word);
        if piece.contains(Words::of(place))
            && let Some(release_first) = self.release_first.take()
        {
            let words = if has(Bug::FirstWordsMisplaced) { piece } else { bitmap.words_at(piece) };
            release_first(in_order(self.codec, bitmap, self.plaintext.get()), words);
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
                self.padded.wait().await;
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
                self.release_asked_for(piece).await;
            }
            fits
        };
        let unchecked = if self.codec.planted.has(Bug::TrailingChunksUnchecked) { 1 } else { usize::MAX };
        let verdicts =
            join_all(self.arrived.pieces(self.codec.cipher.length(), uses.block_bytes()).take(unchecked).map(check))
                .await;
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
