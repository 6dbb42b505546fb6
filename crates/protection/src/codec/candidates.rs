//! Candidates for the chunks of a line. When the line misses, the controller offers the candidates to the cipher's
//! units, and later compares them with the chunks that arrive (C.1 rules 3 to 5).
//!
//! ```text
//! offer:   for each chunk, the asked-for one first: the candidates' blocks, of ciphertext and of tags, as idle work
//! match:   the chunk and its tag are there ─ the matching candidate is out ─ compare ─ neither decrypted nor verified
//! settle:  matched, or decrypted and verified ─ what of its candidates has not gone in is given up
//! ```
//! A chunk that matches a candidate counts as verified: the tag of the candidate equals the stored tag. A block cipher
//! is a permutation, so the simulator finds the matching candidate by decryption of the chunk. If it really encrypts
//! all candidates of a line, the result of the encryption counts.

use super::{Arrived, LineCodec};
use crate::counter::Counter;
use crate::placement::{DataSlot, Placement};
use crate::planted::Bug;
use crate::speculation::{Bitmap, Candidates, ChunkOutcome, Speculation, Target};
use crate::verbs::{AesUnits, Blocks, Cache, IdleBlocks, Known, Purpose, Verbs};
use crypto::{BlockCipher, Tag};
use units::{LINE_BYTES, Line, LineAddr, WORD_BYTES, Word, Words};

/// Candidates of a missed line that were offered to the cipher's units.
pub(crate) struct Offers {
    pub candidates: Candidates,
    /// Offered blocks of each chunk.
    offered: Vec<IdleBlocks>,
    /// Parts of a chunk that the candidates predict: ciphertext, tag or both.
    of: Targets,
    /// True if no candidate is ever given up, which is a planted bug.
    keeps_all: bool,
    /// True if the values of matching candidates are read from a later state of the table, which is another planted
    /// bug.
    pub of_later_table: bool,
}

/// Progress of the candidates for the chunks of a missed line.
#[derive(Default)]
pub(crate) enum OfferedCandidates {
    /// The line never has candidates.
    #[default]
    Never,
    /// The candidates were offered to the cipher's units.
    Now(Box<Offers>),
    /// The candidates will be offered when the line's bitmap arrives, because their tags cover the bitmap. They are
    /// offered at this time at the earliest.
    InOrder(Known),
}

impl OfferedCandidates {
    /// Returns true if the candidates were offered.
    pub fn is_now(&self) -> bool {
        matches!(self, OfferedCandidates::Now(_))
    }
}

/// Parts of a chunk that the candidates predict.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    pub ciphertext: bool,
    pub tag: bool,
}

impl Targets {
    pub(super) fn of(speculation: &Speculation) -> Targets {
        Targets { ciphertext: speculation.is_of(Target::Ciphertext), tag: speculation.is_of(Target::Tag) }
    }

    /// Number of blocks per candidate.
    fn blocks(self) -> u32 {
        u32::from(self.ciphertext) + u32::from(self.tag)
    }
}

/// For each chunk of a line that has arrived, the position of the matching candidate, if one matches.
pub(super) type Matches = Vec<Option<usize>>;

impl Offers {
    /// Returns the parts of a chunk that the candidates predict.
    pub(super) fn of(&self) -> Targets {
        self.of
    }

    fn of_chunk(&self, chunk: usize) -> &IdleBlocks {
        &self.offered[chunk]
    }

    /// Waits until a candidate of a chunk has left the units, then compares it with the chunk. Returns whether the
    /// candidate had already left the units at the call.
    pub async fn compare<V: Verbs>(&self, verbs: &V, chunk: usize, rank: usize) -> bool {
        let (offered, blocks) = (self.of_chunk(chunk), self.of.blocks());
        // The block for the tag follows the block for the ciphertext.
        let was_out = verbs.await_offered(offered, rank as u32 * blocks + blocks - 1).await;
        verbs.look_up(Cache::Candidates).await;
        was_out
    }

    /// Ends the speculation on a chunk: withdraws the offered candidates of the chunk, and counts the outcome.
    pub fn settle<V: Verbs>(&self, verbs: &V, speculation: &Speculation, chunk: usize, outcome: ChunkOutcome) {
        let given_up = if self.keeps_all { 0 } else { verbs.give_up(self.of_chunk(chunk)) };
        speculation.resolved(outcome, given_up);
    }

    /// Withdraws all offered candidates of a line that will not be decrypted.
    pub fn give_up<V: Verbs>(&self, verbs: &V) {
        self.offered.iter().for_each(|offered| {
            verbs.give_up(offered);
        });
    }
}

impl LineCodec {
    /// Offers candidates for the chunks of a missed line, if the design speculates. The chunk of `word`, a position in
    /// memory, is first. The blocks may enter the units when the line's first offset is known.
    pub fn offer<V: Verbs>(&self, verbs: &V, word: Word, offset: Known) -> Option<Box<Offers>> {
        let speculation = self.speculation.as_ref()?;
        let candidates = speculation.candidates();
        let of = Targets::of(speculation);
        let chunk_bytes = candidates.chunk_bytes();
        let cipher = if chunk_bytes == WORD_BYTES { BlockCipher::Tdes } else { BlockCipher::Aes };
        let parallel = candidates.count() as u32 * of.blocks();
        let first = word.index() * WORD_BYTES / chunk_bytes;
        let mut offered: Vec<(usize, IdleBlocks)> = (0..LINE_BYTES / chunk_bytes)
            .map(|turn| {
                let chunk = turn ^ first;
                let piece = Words::with_bytes(chunk * chunk_bytes, chunk_bytes);
                let blocks = Blocks { parallel, ..Blocks::of_piece(cipher, Purpose::Candidates, piece) };
                speculation.offered(parallel);
                if self.planted.has(Bug::CandidatesOnDemand) {
                    verbs.pad(AesUnits::Controller, blocks, offset);
                }
                (chunk, verbs.offer(blocks, offset))
            })
            .collect();
        offered.sort_by_key(|(chunk, _)| *chunk);
        let offered = offered.into_iter().map(|(_, offered)| offered).collect();
        let keeps_all = self.planted.has(Bug::CandidatesNotGivenUp);
        let of_later_table = self.planted.has(Bug::CandidateOfLaterTable);
        Some(Box::new(Offers { candidates, offered, of, keeps_all, of_later_table }))
    }
}

/// A line that has arrived, to be compared with the candidates of its chunks.
pub(super) struct Matching<'a> {
    pub codec: &'a LineCodec,
    pub offers: &'a Offers,
    pub arrived: &'a Arrived<'a>,
    /// Bitmap that gives the order of the line's words in memory, if tags cover bitmaps.
    pub bitmap: Bitmap,
    /// Plaintext that the line decrypts to.
    pub plaintext: &'a Line,
}

impl Matching<'_> {
    /// Returns the matching candidate of each chunk: the candidate with the same ciphertext and tag, or with the one of
    /// them that the design predicts.
    pub fn of(&self, speculation: &Speculation) -> Matches {
        let is_computed = speculation.next_is_computed();
        let by_permutation = self.by_permutation();
        if !is_computed {
            return by_permutation;
        }
        let by_encryption = self.by_encryption();
        let disagreeing = by_permutation.iter().zip(&by_encryption).filter(|(one, other)| one != other).count();
        speculation.computed(disagreeing as u64);
        by_encryption
    }

    /// Finds the matches without encryption: a block cipher is a permutation, so the matching candidate is the
    /// decrypted chunk.
    fn by_permutation(&self) -> Matches {
        let Matching { codec, offers: Offers { candidates, of, .. }, arrived, bitmap, plaintext } = *self;
        let mac = codec.mac.as_ref().filter(|_| of.tag);
        let tag = mac.map(|mac| mac.tag_in_advance(arrived.at, arrived.counter, bitmap, plaintext));
        let chunks = plaintext.chunks(candidates.chunk_bytes()).enumerate();
        chunks.map(|(number, chunk)| candidates.position_of(chunk).filter(|_| self.tag_fits(tag, number))).collect()
    }

    /// Encrypts all candidates and compares them, position by position.
    fn by_encryption(&self) -> Matches {
        let Matching { codec: LineCodec { planted, .. }, offers: Offers { candidates, of, .. }, .. } = *self;
        let bytes = candidates.chunk_bytes();
        let mut matches = vec![None; LINE_BYTES / bytes];
        // Without candidates for the ciphertext, a chunk is compared after its decryption.
        let compared_text = if of.ciphertext { self.arrived.stored.examine() } else { *self.plaintext };
        for rank in 0..candidates.count() {
            let (texts, tags) = self.encrypted(&candidates.line(rank));
            for (chunk, found) in matches.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
                let of_position = if planted.has(Bug::CandidatePositionMissing) { 0 } else { chunk };
                let compared = if planted.has(Bug::CandidateComparedShort) { bytes / 2 } else { bytes };
                let text = &texts[of_position * bytes..][..compared];
                let tag_fits = || planted.has(Bug::CandidateTagNotCompared) || self.tag_fits(tags, chunk);
                if text == &compared_text[chunk * bytes..][..compared] && tag_fits() {
                    *found = Some(rank);
                }
            }
        }
        matches
    }

    /// Returns a candidate sealed at every position of the line, with its tag. If the design does not predict
    /// ciphertext, the text is the candidate.
    fn encrypted(&self, candidate: &Line) -> (Line, Option<Tag>) {
        let Matching { codec, offers: Offers { of, .. }, arrived: Arrived { at, counter, .. }, bitmap, .. } = *self;
        let before = Counter(counter.0.saturating_sub(1));
        let counter = if codec.planted.has(Bug::CandidatesOfVersionBefore) { before } else { *counter };
        let at = if codec.planted.has(Bug::CandidatesOfLineBefore) { line_before(*at) } else { *at };
        let text = if of.ciphertext { codec.cipher.seal_candidates(at, counter, candidate) } else { *candidate };
        let tag = codec.mac.as_ref().filter(|_| of.tag).map(|mac| {
            #[cfg(test)]
            crate::work_done::blocks(mac.uses().map_or(0, |uses| uses.of_line));
            mac.tag_in_advance(at, counter, bitmap, candidate)
        });
        (text, tag)
    }

    /// Returns true if a tag is the stored tag of a chunk, or if the design does not predict tags.
    fn tag_fits(&self, computed: Option<Tag>, chunk: usize) -> bool {
        let compared = self.codec.mac.as_ref().zip(computed);
        let (stored, chunk) = (self.arrived.tag.get(), chunk as u32);
        compared.is_none_or(|(mac, computed)| {
            if self.codec.planted.has(Bug::CandidatePositionMissing) {
                return mac.fits_chunk(mac.comparison.as_of_first_chunk(stored, chunk), computed, 0);
            }
            mac.fits_chunk(stored, computed, chunk)
        })
    }
}

/// Returns the previous line, which a planted bug uses instead of this line.
fn line_before(at: DataSlot) -> DataSlot {
    Placement::Fixed.of(LineAddr(at.line().0.saturating_sub(1)))
}
