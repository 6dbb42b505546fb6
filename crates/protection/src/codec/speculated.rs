//! A line that was speculated on, as it is opened: which of its chunks are matched, and which are decrypted and verified first.

use super::candidates::{Matches, Offers, Targets};
use crate::speculation::{Outcome, Speculation};
use crate::verbs::Verbs;
use sim::Once;
use std::cell::Cell;
use std::future::pending;
use units::{Line, WORD_BYTES, WORDS_PER_LINE, Word, Words};

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
