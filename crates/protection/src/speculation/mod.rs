//! Frequent-value ciphertext and MAC speculation (Shi and Lee, Computing Frontiers 2007).
//!
//! ```text
//! miss:  the table's values ── candidates ── idle work for the cipher's units: E(P ^ Z) ^ Z and the tag of each
//! line:  a chunk and its tag come ── compared with the candidates that are out ── hit: neither decrypted nor verified
//!                                └─ decrypted, verified                         └─ the rest of the candidates is given up
//! ```
//! The controller predicts the content of a line before the line arrives, and encrypts the predictions meanwhile. A
//! wrong prediction costs only idle time of units. A right prediction saves the time of decryption and of the
//! computation of the chunk's tag. This module contains the state on the chip: the table ([`ValueTable`]) and the
//! candidates built from it ([`Candidates`]). The codec compares chunks (`codec/candidates.rs`).
//!
//! Under one key, nonce and position a block cipher is a permutation: a candidate has the ciphertext of a chunk exactly
//! if the chunk decrypts to it. So a timed run need not really encrypt the candidates for which it charges the units
//! time. It encrypts the candidates of one line in [`COMPUTED_ONE_IN`], and counts wrong outcomes. All other runners
//! encrypt the candidates of every line.

mod bitmap;
mod candidates;
mod counted;
mod recent;
mod start_order;
mod values;

pub use bitmap::Bitmap;
pub(crate) use candidates::Candidates;
use candidates::words_of;
pub(crate) use start_order::StartOrder;
pub use values::{Tracking, ValueTable, WORDS_MAX};

use crate::planted::{Bug, PlantedBug};
use crate::slot::Slot;
use derive_more::{AddAssign, Sub};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use strum::{IntoStaticStr, VariantArray};
use units::{Line, WORD_BYTES, WORDS_PER_LINE, ZERO_LINE};

/// A timed run really encrypts the candidates of one in this number of lines.
pub const COMPUTED_ONE_IN: u64 = 1_024;

/// Part of a chunk that the controller predicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Target {
    /// The ciphertext of a chunk.
    Ciphertext,
    /// The tag of a chunk.
    Tag,
}

/// Statistics on predictable lines, words and blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Predictable {
    /// Lines that arrived from memory.
    pub lines: u64,
    /// Words of 64 bits in these lines that the table held before.
    pub words: u64,
    /// Blocks of 128 bits with both words in the table.
    pub pairs: u64,
    /// The same count if the frequent words of each line were first, in order.
    pub reordered_pairs: u64,
    /// Lines with all words in the table. Indexes into the table could represent them.
    pub whole_lines: u64,
}

impl Predictable {
    /// Counts a line that arrived, with these words in the table.
    pub fn count(&mut self, held: [bool; WORDS_PER_LINE]) {
        let frequent = held.iter().filter(|held| **held).count() as u64;
        self.lines += 1;
        self.words += frequent;
        self.pairs += held.chunks_exact(2).filter(|pair| pair[0] && pair[1]).count() as u64;
        self.reordered_pairs += frequent / 2;
        self.whole_lines += u64::from(frequent == WORDS_PER_LINE as u64);
    }
}

/// Number of chunks by the outcome of their speculation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Chunks {
    /// Chunks with a matching candidate that was already encrypted at the chunk's arrival.
    pub hits: u64,
    /// Chunks with a matching candidate that was encrypted after the chunk's arrival, but before the chunk was
    /// decrypted and verified.
    pub late_hits: u64,
    /// Chunks with a matching candidate that were decrypted and verified before the candidate was encrypted.
    pub squashed: u64,
    /// Chunks that equal no candidate.
    pub misses: u64,
}

/// Statistics on predictable lines, and on the outcomes of their chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct SpeculationCounts {
    /// Predictability of lines at their miss.
    #[serde(flatten)]
    pub predictable: Predictable,
    /// Outcomes of the chunks of these lines.
    #[serde(flatten)]
    pub chunks: Chunks,
    /// Blocks that were offered to the cipher's units as idle work.
    pub offered: u64,
    /// Offered blocks that were given up before a unit accepted them.
    pub given_up: u64,
    /// Lines with really encrypted candidates.
    #[serde(skip)]
    pub computed_lines: u64,
    /// Chunks of these lines for which the encryption gave another outcome. A run checks this count.
    #[serde(skip)]
    pub disagreeing: u64,
}

/// Outcome of one chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkOutcome {
    Hit,
    LateHit,
    Squashed,
    Miss,
}

/// Protection of the bitmaps that re-order lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reordering {
    /// Tags vouch for the bitmaps.
    Bound,
    /// No tag vouches for the bitmaps.
    Loose,
}

/// The speculation of a scheme.
#[derive(Clone)]
pub struct Speculation {
    of: Vec<Target>,
    /// Values in the table.
    values: usize,
    tracking: Tracking,
    /// How lines are re-ordered when they are sealed, if they are.
    reordering: Option<Reordering>,
    table: RefCell<ValueTable>,
    /// Bytes of a block of the cipher.
    chunk_bytes: usize,
    /// The candidates of one compared line in this number are really encrypted.
    computed_one_in: Cell<u64>,
    /// Lines with chunks that were compared with candidates so far.
    compared: Cell<u64>,
    counted: Cell<SpeculationCounts>,
}

impl Speculation {
    /// Returns a speculation with a table of `values` values that begins with `begin`, for chunks of `chunk_bytes`
    /// bytes.
    pub(crate) fn new(
        of: &[Target],
        (values, tracking): (usize, Tracking),
        begin: &[u64],
        chunk_bytes: usize,
    ) -> Speculation {
        let table = RefCell::new(ValueTable::of(values, tracking, begin));
        let (computed_one_in, compared, counted) = (Cell::new(1), Cell::default(), Cell::default());
        Speculation {
            of: of.to_vec(),
            values,
            tracking,
            reordering: None,
            table,
            chunk_bytes,
            computed_one_in,
            compared,
            counted,
        }
    }

    /// Returns this speculation with another way to re-order lines, or without re-ordering.
    pub(crate) fn reordering(self, reordering: Option<Reordering>) -> Speculation {
        Speculation { reordering, ..self }
    }

    /// Returns true if candidates are only made when the line's bitmap arrives, because their tags cover the bitmap.
    pub(crate) fn waits_for_bitmap(&self) -> bool {
        self.reordering == Some(Reordering::Bound) && self.is_of(Target::Tag)
    }

    /// The bitmap of a line that is sealed now, or [`Bitmap::NONE`] without re-ordering.
    pub(crate) fn bitmap_of(&self, line: &Line) -> Bitmap {
        if self.reordering.is_some() { Bitmap::of(self.candidates().frequent(line)) } else { Bitmap::NONE }
    }

    /// Begins as if this chip had written all of memory while these values were frequent, each seen this number of times,
    /// the most frequent first. Returns the order that lines then have. A table that does not learn keeps its values.
    pub(crate) fn begin_ordered(&self, values: &[(u64, u64)]) -> StartOrder {
        if self.tracking != Tracking::Fixed {
            self.table.replace(ValueTable::seen(self.values, self.tracking, values));
        }
        StartOrder(self.reordering.map(|_| self.candidates()))
    }

    /// Maximum number of values in the table.
    pub fn values(&self) -> usize {
        self.values
    }

    /// Replaces the table's values by these, the most frequent first, as if they had been seen for long.
    pub fn begin_with(&self, values: &[u64]) {
        self.table.replace(ValueTable::of(self.values, self.tracking, values));
    }

    /// From now on, really encrypts the candidates of one compared line in `lines`.
    pub fn compute_one_in(&self, lines: u64) {
        self.computed_one_in.set(lines);
    }

    /// The counts of this speculation so far.
    pub fn counted(&self) -> SpeculationCounts {
        self.counted.get()
    }

    pub(crate) fn is_of(&self, target: Target) -> bool {
        self.of.contains(&target)
    }

    /// The candidates of a line that misses now.
    pub(crate) fn candidates(&self) -> Candidates {
        Candidates::of(self.table.borrow().words(), self.chunk_bytes)
    }

    /// The first values of the table and their slot in memory, if the bug `TableSpilled` is planted.
    pub(crate) fn spilled(&self, planted: PlantedBug, data_lines: u64) -> Option<(Slot, Line)> {
        if !planted.has(Bug::TableSpilled) {
            return None;
        }
        let mut line = ZERO_LINE;
        for (entry, word) in line.chunks_exact_mut(WORD_BYTES).zip(self.table.borrow().words()) {
            entry.copy_from_slice(&word.to_le_bytes());
        }
        Some((Slot(data_lines - 1), line))
    }

    /// Learns the words of a verified line that was filled, or of a line that is written back.
    pub(crate) fn learn(&self, line: &Line) {
        let mut table = self.table.borrow_mut();
        words_of(line).for_each(|word| table.note(word));
    }

    /// Counts a line that arrived and had these candidates.
    pub(crate) fn count_predictable(&self, line: &Line, candidates: &Candidates) {
        self.count(|counted| counted.predictable.count(candidates.frequent(line)));
    }

    /// Counts a line with chunks to compare. Returns true if all its candidates are to be encrypted.
    pub(crate) fn next_is_computed(&self) -> bool {
        let compared = self.compared.get() + 1;
        self.compared.set(compared);
        compared.is_multiple_of(self.computed_one_in.get())
    }

    /// Notes that all candidates of a line were encrypted. `disagreeing` chunks had another outcome than predicted by
    /// the permutation.
    pub(crate) fn computed(&self, disagreeing: u64) {
        self.count(|counted| {
            counted.computed_lines += 1;
            counted.disagreeing += disagreeing;
        });
    }

    pub(crate) fn offered(&self, blocks: u32) {
        self.count(|counted| counted.offered += u64::from(blocks));
    }

    pub(crate) fn resolved(&self, outcome: ChunkOutcome, given_up: u32) {
        self.count(|counted| {
            counted.given_up += u64::from(given_up);
            let chunks = &mut counted.chunks;
            *match outcome {
                ChunkOutcome::Hit => &mut chunks.hits,
                ChunkOutcome::LateHit => &mut chunks.late_hits,
                ChunkOutcome::Squashed => &mut chunks.squashed,
                ChunkOutcome::Miss => &mut chunks.misses,
            } += 1;
        });
    }

    fn count(&self, change: impl FnOnce(&mut SpeculationCounts)) {
        let mut counted = self.counted.get();
        change(&mut counted);
        self.counted.set(counted);
    }
}
