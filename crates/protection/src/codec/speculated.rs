//! State of a line with candidates while it is decrypted and verified: the chunks that match a candidate, and the
//! chunks that are decrypted and verified first.

use super::candidates::{Matches, Matching, OfferedCandidates, Offers, Targets};
use super::{Arrived, LineCodec};
use crate::speculation::{Bitmap, ChunkOutcome, Speculation};
use crate::verbs::{Fault, Plaintext, Verbs};
use sim::{Once, join, join_all, race};
use std::cell::Cell;
use std::future::{Future, pending};
use units::{Line, LineLength, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// A line with candidates that is being decrypted and verified. Its candidates were offered before the line arrived, or
/// are offered when its bitmap arrives.
pub(super) struct Speculating<'a, V> {
    codec: &'a LineCodec,
    verbs: &'a V,
    arrived: &'a Arrived<'a>,
    speculation: &'a Speculation,
    /// Candidates of the line, until the matching ones are determined.
    candidates: Cell<OfferedCandidates>,
    /// Set with the matching candidates as soon as these are determined.
    speculated: Once<Speculated<'a>>,
}

impl<'a, V: Verbs> Speculating<'a, V> {
    /// Returns the speculation on a line that has arrived, or `None` if the line never has candidates.
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

    /// Returns the parts of a chunk that the candidates predict.
    pub fn targets(&self) -> Targets {
        Targets::of(self.speculation)
    }

    /// Returns the matching candidates, or `None` if they are not determined yet.
    pub fn now(&self) -> Option<&Speculated<'a>> {
        self.speculated.get()
    }

    /// Returns the outcome of `work`, which opens the line, while pieces of the line may match their candidates.
    pub async fn race<T>(&self, plaintext: &Cell<Plaintext>, work: impl Future<Output = T>) -> T {
        let outcome = race(self.compare_all(plaintext), work).await;
        if let OfferedCandidates::Now(offers) = self.candidates.take() {
            offers.give_up(self.verbs);
        }
        outcome
    }

    /// Compares the pieces of the line with their candidates as the pieces arrive. Never returns: the caller races it
    /// against the work that opens the line.
    async fn compare_all<T>(&self, plaintext: &Cell<Plaintext>) -> T {
        let lying = plaintext.get().bytes;
        if let Ok(Some(speculated)) = self.matching(&lying).await {
            let count = async {
                if let Ok(bitmap) = self.arrived.order.known().await {
                    self.speculation.count_predictable(&bitmap.restore(&lying), &speculated.offers.candidates);
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

    /// Determines the matching candidates. If the candidates' tags cover the line's bitmap, waits for the bitmap and
    /// then offers the candidates.
    async fn matching(&self, plaintext: &Line) -> Result<Option<&Speculated<'a>>, Fault> {
        let Speculating { codec, verbs, arrived, speculation, .. } = *self;
        let bitmap = if speculation.waits_for_bitmap() { arrived.order.known().await? } else { Bitmap::NONE };
        let offers = match self.candidates.take() {
            OfferedCandidates::Never => None,
            OfferedCandidates::Now(offers) => Some(offers),
            OfferedCandidates::InOrder(known) => codec.offer(verbs, arrived.likely_position(), known),
        };
        Ok(offers.map(|offers| {
            let matches = Matching { codec, offers: &offers, arrived, bitmap, plaintext }.of(speculation);
            self.speculated.get_or_init(|| Speculated::new(speculation, offers, matches))
        }))
    }

    /// Waits until a chunk is compared with its matching candidate; for ever if no candidate matches.
    pub async fn matched(&self, piece: Words) {
        self.speculated.wait().await.matched(piece).await;
    }

    /// Like [`Speculated::vouched`], but first waits until the matching candidates are determined.
    pub async fn vouched(&self, piece: Words) -> bool {
        self.speculated.wait().await.vouched(self.verbs, piece).await
    }

    /// Records that a chunk is decrypted.
    pub fn decrypted(&self, piece: Words) {
        self.now().iter().for_each(|speculated| speculated.decrypted(self.verbs, piece));
    }

    /// Records that a chunk is verified.
    pub fn verified(&self, piece: Words) {
        self.now().iter().for_each(|speculated| speculated.verified(self.verbs, piece));
    }
}

/// Copies a piece of `line` into the plaintext.
fn take_over(plaintext: &Cell<Plaintext>, piece: Words, line: &Line) {
    let mut taken = plaintext.get();
    for word in piece.iter() {
        let bytes = word.index() * WORD_BYTES..(word.index() + 1) * WORD_BYTES;
        taken.bytes[bytes.clone()].copy_from_slice(&line[bytes]);
    }
    plaintext.set(taken);
}

/// Candidates of a line, and the progress of its chunks.
pub(super) struct Speculated<'a> {
    speculation: &'a Speculation,
    offers: Box<Offers>,
    /// For each chunk, the matching candidate, if one matches.
    matches: Matches,
    /// Set for each chunk that has arrived.
    there: [Once<()>; WORDS_PER_LINE],
    /// Set for each chunk that was compared with its matching candidate.
    matched: [Once<()>; WORDS_PER_LINE],
    /// True for each chunk that needs its candidates no longer.
    settled: [Cell<bool>; WORDS_PER_LINE],
}

impl<'a> Speculated<'a> {
    pub fn new(speculation: &'a Speculation, offers: Box<Offers>, matches: Matches) -> Speculated<'a> {
        let (there, matched, settled) = Default::default();
        Speculated { speculation, offers, matches, there, matched, settled }
    }

    /// Returns the parts of a chunk that the candidates predict.
    pub fn targets(&self) -> Targets {
        self.offers.of()
    }

    /// Length of a chunk in bytes.
    pub fn chunk_bytes(&self) -> usize {
        self.offers.candidates.chunk_bytes()
    }

    fn number_of(&self, piece: Words) -> usize {
        number_of(piece, self.chunk_bytes())
    }

    /// Records that a chunk has arrived, then waits until it is compared with its matching candidate, as soon as that
    /// candidate has left the units. Waits for ever if no candidate matches. Returns a line in which every chunk is
    /// this candidate.
    pub async fn compared<V: Verbs>(&self, verbs: &V, piece: Words) -> Line {
        let chunk = self.number_of(piece);
        self.there[chunk].set(());
        let position = self.compare(verbs, chunk).await;
        if self.offers.of_later_table {
            return self.speculation.candidates().line(position);
        }
        self.offers.candidates.line(position)
    }

    /// Records that a chunk has the value of its candidate.
    pub fn is_matched(&self, piece: Words) {
        self.matched[self.number_of(piece)].set(());
    }

    /// Waits until a chunk that is compared with candidates has arrived.
    pub async fn there(&self, piece: Words) {
        self.there[self.number_of(piece)].wait().await;
    }

    /// Waits until a chunk is compared with its matching candidate; for ever if no candidate matches.
    pub async fn matched(&self, piece: Words) {
        self.matched[self.number_of(piece)].wait().await;
    }

    /// Waits until the stored tag of a chunk is compared with the tag of its matching candidate; for ever if no
    /// candidate matches. Tags are compared together with the ciphertext if the design predicts ciphertext, otherwise
    /// when the chunk is decrypted.
    pub async fn vouched<V: Verbs>(&self, verbs: &V, piece: Words) -> bool {
        if self.targets().ciphertext {
            self.matched(piece).await;
        } else {
            self.compare(verbs, self.number_of(piece)).await;
        }
        true
    }

    /// Records that a chunk is decrypted. If the design does not predict tags, this ends the speculation on the chunk.
    pub fn decrypted<V: Verbs>(&self, verbs: &V, piece: Words) {
        if !self.targets().tag {
            self.resolved(verbs, piece);
        }
    }

    /// Records that a chunk is verified, which ends the speculation on it.
    pub fn verified<V: Verbs>(&self, verbs: &V, piece: Words) {
        self.resolved(verbs, piece);
    }

    fn resolved<V: Verbs>(&self, verbs: &V, piece: Words) {
        let chunk = self.number_of(piece);
        let outcome = if self.matches[chunk].is_some() { ChunkOutcome::Squashed } else { ChunkOutcome::Miss };
        self.settle(verbs, chunk, outcome);
    }

    fn settle<V: Verbs>(&self, verbs: &V, chunk: usize, outcome: ChunkOutcome) {
        if !self.settled[chunk].replace(true) {
            self.offers.settle(verbs, self.speculation, chunk, outcome);
        }
    }

    /// Compares a chunk that has arrived with its matching candidate, as soon as that candidate has left the units.
    /// Waits for ever if no candidate matches. Returns the position of the candidate.
    async fn compare<V: Verbs>(&self, verbs: &V, chunk: usize) -> usize {
        let Some(position) = self.matches[chunk] else { return pending().await };
        let was_out = self.offers.compare(verbs, chunk, position).await;
        self.settle(verbs, chunk, if was_out { ChunkOutcome::Hit } else { ChunkOutcome::LateHit });
        position
    }
}

/// Returns the index of a piece, counted in pieces of `bytes` bytes from the start of the line.
pub(super) fn number_of(piece: Words, bytes: usize) -> usize {
    piece.iter().next().map_or(0, Word::index) * WORD_BYTES / bytes
}
