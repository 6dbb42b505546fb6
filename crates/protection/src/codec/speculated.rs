//! A line that was speculated on, as it is opened: which of its chunks are matched, and which are decrypted and verified first.

use super::candidates::{Matches, Matching, OfferedCandidates, Offers, Targets};
use super::{Arrived, LineCodec};
use crate::speculation::{Bitmap, Outcome, Speculation};
use crate::verbs::{Fault, Plaintext, Verbs};
use sim::{Once, join, join_all, race};
use std::cell::Cell;
use std::future::{Future, pending};
use units::{Line, LineLength, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// A line that is speculated on while it is opened: its candidates were offered before it came, or are when its bitmap is there.
pub(super) struct Speculating<'a, V> {
    codec: &'a LineCodec,
    verbs: &'a V,
    arrived: &'a Arrived<'a>,
    speculation: &'a Speculation,
    /// Its candidates, until it is known which match.
    candidates: Cell<OfferedCandidates>,
    /// What matches, as soon as that is known.
    speculated: Once<Speculated<'a>>,
}

impl<'a, V: Verbs> Speculating<'a, V> {
    /// On a line that has come; nothing if there are never any candidates of it.
    pub fn new(
        codec: &'a LineCodec,
        verbs: &'a V,
        arrived: &'a Arrived<'a>,
        candidates: OfferedCandidates,
    ) -> Option<Speculating<'a, V>> {
        let speculation = codec.speculation.as_ref()?;
        if matches!(candidates, OfferedCandidates::Never) {
            return None;
        }
        let (candidates, speculated) = (Cell::new(candidates), Once::default());
        Some(Speculating { codec, verbs, arrived, speculation, candidates, speculated })
    }

    /// What the candidates speak of.
    pub fn targets(&self) -> Targets {
        Targets::of(self.speculation)
    }

    /// What matches, if that is known by now.
    pub fn now(&self) -> Option<&Speculated<'a>> {
        self.speculated.get()
    }

    /// The outcome of work that opens the line, while its pieces may match their candidates.
    pub async fn race<T>(&self, plaintext: &Cell<Plaintext>, work: impl Future<Output = T>) -> T {
        let outcome = race(self.compare_all(plaintext), work).await;
        if let OfferedCandidates::Now(offers) = self.candidates.take() {
            offers.give_up(self.verbs);
        }
        outcome
    }

    /// Compares the pieces of the line with their candidates as they come. It has no end: the line is opened without it.
    async fn compare_all<T>(&self, plaintext: &Cell<Plaintext>) -> T {
        let lying = plaintext.get().bytes;
        if let Ok(Some(speculated)) = self.matching(&lying).await {
            let count = async {
                if let Ok(bitmap) = self.arrived.order.known().await {
                    self.speculation.came(&bitmap.restore(&lying), &speculated.offers.candidates);
                }
            };
            let compare = async |piece: Words| {
                self.arrived.await_words(self.verbs, self.codec.planted, piece).await;
                let candidate = speculated.compared(self.verbs, piece).await;
                take_over(plaintext, piece, &candidate);
                speculated.is_matched(piece);
            };
            let compare_all = async {
                if self.targets().ciphertext {
                    join_all(self.arrived.pieces(LineLength::WHOLE, speculated.chunk_bytes()).map(compare)).await;
                }
            };
            join!(count, compare_all);
        }
        pending().await
    }

    /// Says which candidates match: those that are offered later when they are, and those that bind a bitmap when that is there.
    async fn matching(&self, plaintext: &Line) -> Result<Option<&Speculated<'a>>, Fault> {
        let Speculating { codec, verbs, arrived, speculation, .. } = *self;
        let bitmap = if speculation.waits_for_bitmap() { arrived.order.known().await? } else { Bitmap::NONE };
        let offers = match self.candidates.take() {
            OfferedCandidates::Never => None,
            OfferedCandidates::Now(offers) => Some(offers),
            OfferedCandidates::InOrder(known) => codec.offer(verbs, arrived.likely_place(), known),
        };
        Ok(offers.map(|offers| {
            let matches = Matching { codec, offers: &offers, arrived, bitmap, plaintext }.of(speculation);
            self.speculated.get_or_init(|| Speculated::new(speculation, offers, matches))
        }))
    }

    /// Waits until a chunk is compared with the candidate that matches it, if one does.
    pub async fn matched(&self, piece: Words) {
        self.speculated.wait().await.matched(piece).await;
    }

    /// As [`Speculated::vouched`], as soon as there are candidates.
    pub async fn vouched(&self, piece: Words) -> bool {
        self.speculated.wait().await.vouched(self.verbs, piece).await
    }

    /// A chunk is decrypted.
    pub fn decrypted(&self, piece: Words) {
        self.now().iter().for_each(|speculated| speculated.decrypted(self.verbs, piece));
    }

    /// A chunk is verified.
    pub fn verified(&self, piece: Words) {
        self.now().iter().for_each(|speculated| speculated.verified(self.verbs, piece));
    }
}

/// A piece of the plaintext is what it is in this line.
fn take_over(plaintext: &Cell<Plaintext>, piece: Words, line: &Line) {
    let mut taken = plaintext.get();
    for word in piece.iter() {
        let bytes = word.index() * WORD_BYTES..(word.index() + 1) * WORD_BYTES;
        taken.bytes[bytes.clone()].copy_from_slice(&line[bytes]);
    }
    plaintext.set(taken);
}

/// What was speculated on a line, and what has come of it.
pub(super) struct Speculated<'a> {
    speculation: &'a Speculation,
    offers: Box<Offers>,
    /// Of each chunk the candidate that matches, if one does.
    matches: Matches,
    /// Which chunks have come.
    there: [Once<()>; WORDS_PER_LINE],
    /// Which have been compared with theirs.
    matched: [Once<()>; WORDS_PER_LINE],
    /// Which chunks need their candidates no longer.
    settled: [Cell<bool>; WORDS_PER_LINE],
}

impl<'a> Speculated<'a> {
    pub fn new(speculation: &'a Speculation, offers: Box<Offers>, matches: Matches) -> Speculated<'a> {
        let (there, matched, settled) = Default::default();
        Speculated { speculation, offers, matches, there, matched, settled }
    }

    /// What the candidates speak of.
    pub fn targets(&self) -> Targets {
        self.offers.of()
    }

    /// Bytes of a chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.offers.candidates.chunk_bytes()
    }

    fn number_of(&self, piece: Words) -> usize {
        number_of(piece, self.chunk_bytes())
    }

    /// A chunk has come: waits until it is compared with the candidate that matches it, as soon as that is out; for ever if none
    /// does. Returns a line of that candidate.
    pub async fn compared<V: Verbs>(&self, verbs: &V, piece: Words) -> Line {
        let chunk = self.number_of(piece);
        self.there[chunk].set(());
        let place = self.compare(verbs, chunk).await;
        if self.offers.of_later_table {
            return self.speculation.candidates().line(place);
        }
        self.offers.candidates.line(place)
    }

    /// A chunk is what its candidate is.
    pub fn is_matched(&self, piece: Words) {
        self.matched[self.number_of(piece)].set(());
    }

    /// Waits until a chunk has come that is compared with candidates.
    pub async fn there(&self, piece: Words) {
        self.there[self.number_of(piece)].wait().await;
    }

    /// Waits until a chunk is compared with the candidate that matches it, if one does.
    pub async fn matched(&self, piece: Words) {
        self.matched[self.number_of(piece)].wait().await;
    }

    /// Waits until the stored tag of a chunk is compared with its candidate's, if that matches: with the ciphertext, or when the
    /// chunk is decrypted.
    pub async fn vouched<V: Verbs>(&self, verbs: &V, piece: Words) -> bool {
        if self.targets().ciphertext {
            self.matched(piece).await;
        } else {
            self.compare(verbs, self.number_of(piece)).await;
        }
        true
    }

    /// A chunk is decrypted, which is the end of it where tags are not speculated on.
    pub fn decrypted<V: Verbs>(&self, verbs: &V, piece: Words) {
        if !self.targets().tag {
            self.resolved(verbs, piece);
        }
    }

    /// A chunk is verified.
    pub fn verified<V: Verbs>(&self, verbs: &V, piece: Words) {
        self.resolved(verbs, piece);
    }

    fn resolved<V: Verbs>(&self, verbs: &V, piece: Words) {
        let chunk = self.number_of(piece);
        let outcome = if self.matches[chunk].is_some() { Outcome::Squashed } else { Outcome::Miss };
        self.settle(verbs, chunk, outcome);
    }

    fn settle<V: Verbs>(&self, verbs: &V, chunk: usize, outcome: Outcome) {
        if !self.settled[chunk].replace(true) {
            self.offers.settle(verbs, self.speculation, chunk, outcome);
        }
    }

    /// Compares a chunk, which is there, with the candidate that matches it, as soon as that is out; waits for ever if none does.
    /// Returns which it was.
    async fn compare<V: Verbs>(&self, verbs: &V, chunk: usize) -> usize {
        let Some(place) = self.matches[chunk] else { return pending().await };
        let was_out = self.offers.compare(verbs, chunk, place).await;
        self.settle(verbs, chunk, if was_out { Outcome::Hit } else { Outcome::LateHit });
        place
    }
}

/// Which of the pieces of so many bytes this is, counted from the start of the line.
pub(super) fn number_of(piece: Words, bytes: usize) -> usize {
    piece.iter().next().map_or(0, Word::index) * WORD_BYTES / bytes
}
