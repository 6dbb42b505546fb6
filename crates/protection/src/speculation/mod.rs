//! Frequent-value ciphertext and MAC speculation (Shi and Lee, Computing Frontiers 2007).
//!
//! ```text
//! miss:  the table's values ── candidates ── idle work for the cipher's units: E(P ^ Z) ^ Z and the tag of each
//! line:  a chunk and its tag come ── compared with the candidates that are out ── hit: neither decrypted nor verified
//!                                └─ decrypted, verified                         └─ the rest of the candidates is given up
//! ```
//! The controller guesses what a line holds before it comes, and has the answer encrypted when it does. A wrong guess costs units
//! their idle time and nothing else; a right one saves the time of decryption and of the chunk's tag. What is here is what
//! the chip knows: the table ([`ValueTable`]) and what is made of it ([`Candidates`]); how chunks are compared is the
//! codec's (`codec/candidates.rs`).
//!
//! Under one key, nonce and position a block cipher is a permutation: a candidate has the ciphertext of a chunk exactly if the
//! chunk decrypts to it. So a timed run need not encrypt what its engines are charged for. It does for one line in
//! [`COMPUTED_ONE_IN`], and counts where that makes a difference; all other ways to run do for every line.

mod bitmap;
mod candidates;
mod counted;
mod recent;
mod values;

pub use bitmap::Bitmap;
pub(crate) use candidates::Candidates;
use candidates::words_of;
pub use values::{Tracking, ValueTable, WORDS_MAX};

use crate::planted::{Bug, Planted};
use crate::slot::Slot;
use derive_more::{AddAssign, Sub};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use strum::{IntoStaticStr, VariantArray};
use units::{Line, WORD_BYTES, WORDS_PER_LINE, ZERO_LINE};

/// Of so many lines of a timed run, the candidates of one are really encrypted.
pub const COMPUTED_ONE_IN: u64 = 1_024;

/// What is speculated on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Target {
    /// What a chunk is encrypted to.
    Ciphertext,
    /// The tag of a chunk.
    Tag,
}

/// How predictable lines were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Predictable {
    /// Lines that came from memory.
    pub lines: u64,
    /// Words of 64 bits, of theirs, that the table held before.
    pub words: u64,
    /// Blocks of 128 bits of which it held both words.
    pub pairs: u64,
    /// The same if each line's frequent words came first, in order.
    pub reordered_pairs: u64,
    /// Lines of which it held all words: they would do with the values' places in the table.
    pub whole_lines: u64,
}

impl Predictable {
    /// A line came, of which the table held these words.
    pub fn count(&mut self, held: [bool; WORDS_PER_LINE]) {
        let frequent = held.iter().filter(|held| **held).count() as u64;
        self.lines += 1;
        self.words += frequent;
        self.pairs += held.chunks_exact(2).filter(|pair| pair[0] && pair[1]).count() as u64;
        self.reordered_pairs += frequent / 2;
        self.whole_lines += u64::from(frequent == WORDS_PER_LINE as u64);
    }
}

/// What came of the chunks of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Chunks {
    /// Those whose candidate was out when they came.
    pub hits: u64,
    /// Those whose candidate came out later, and before they were decrypted and verified.
    pub late_hits: u64,
    /// Those that were decrypted and verified before their candidate was out.
    pub squashed: u64,
    /// Those that were no candidate.
    pub misses: u64,
}

/// How predictable lines were, and what came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct SpeculationCounters {
    /// How predictable they were at their miss.
    #[serde(flatten)]
    pub predictable: Predictable,
    /// What came of their chunks.
    #[serde(flatten)]
    pub chunks: Chunks,
    /// Blocks that were offered to the cipher's units as idle work.
    pub offered: u64,
    /// Those of them that were given up before they had gone in.
    pub given_up: u64,
    /// Lines of which all candidates were really encrypted.
    #[serde(skip)]
    pub computed_lines: u64,
    /// Chunks of these of which that gave another outcome. Among a run's checks.
    #[serde(skip)]
    pub disagreeing: u64,
}

/// How a chunk was resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Hit,
    LateHit,
    Squashed,
    Miss,
}

/// How lines are re-ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reordering {
    /// By bitmaps that tags vouch for.
    Bound,
    /// By bitmaps that nothing vouches for.
    Loose,
}

/// The speculation of a scheme.
#[derive(Clone)]
pub struct Speculation {
    of: Vec<Target>,
    /// Values in the table.
    values: usize,
    tracking: Tracking,
    /// Whether lines are re-ordered when they are sealed, and tags vouch for their bitmaps.
    reordering: Option<Reordering>,
    table: RefCell<ValueTable>,
    /// Bytes of a block of the cipher.
    chunk_bytes: usize,
    /// Of so many lines, the candidates of one are really encrypted.
    computed_one_in: Cell<u64>,
    /// Lines so far whose chunks were compared with candidates.
    compared: Cell<u64>,
    counted: Cell<SpeculationCounters>,
}

impl Speculation {
    /// A table of so many values, which begins with these and learns so, for chunks of so many bytes.
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

    /// The same, which re-orders lines so, or does not.
    pub(crate) fn reordering(self, reordering: Option<Reordering>) -> Speculation {
        Speculation { reordering, ..self }
    }

    /// Whether candidates are made for a line when its bitmap is there: their tags are over that as well.
    pub(crate) fn waits_for_bitmap(&self) -> bool {
        self.reordering == Some(Reordering::Bound) && self.is_of(Target::Tag)
    }

    /// The bitmap of a line that is sealed now; none if lines are not re-ordered.
    pub(crate) fn bitmap_of(&self, line: &Line) -> Bitmap {
        if self.reordering.is_some() { Bitmap::of(self.candidates().frequent(line)) } else { Bitmap::NONE }
    }

    /// Values that the table has room for.
    pub fn values(&self) -> usize {
        self.values
    }

    /// From now on the table holds these, the most frequent first, as if they had been seen for long.
    pub fn begin_with(&self, values: &[u64]) {
        self.table.replace(ValueTable::of(self.values, self.tracking, values));
    }

    /// From now on, of so many lines, the candidates of one are really encrypted.
    pub fn compute_one_in(&self, lines: u64) {
        self.computed_one_in.set(lines);
    }

    /// What it has counted.
    pub fn counted(&self) -> SpeculationCounters {
        self.counted.get()
    }

    pub(crate) fn is_of(&self, target: Target) -> bool {
        self.of.contains(&target)
    }

    /// The candidates of a line that is missed now.
    pub(crate) fn candidates(&self) -> Candidates {
        Candidates::of(self.table.borrow().words(), self.chunk_bytes)
    }

    /// The first values of the table and where they lie in memory of so many lines of data, if a bug puts them there.
    pub(crate) fn spilled(&self, planted: Planted, data_lines: u64) -> Option<(Slot, Line)> {
        if !planted.has(Bug::TableSpilled) {
            return None;
        }
        let mut line = ZERO_LINE;
        for (place, word) in line.chunks_exact_mut(WORD_BYTES).zip(self.table.borrow().words()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Some((Slot(data_lines - 1), line))
    }

    /// A verified line was filled, or a line is written back: its plaintext passes.
    pub(crate) fn learn(&self, line: &Line) {
        let mut table = self.table.borrow_mut();
        words_of(line).for_each(|word| table.note(word));
    }

    /// A line came, which these were the candidates of.
    pub(crate) fn came(&self, line: &Line, candidates: &Candidates) {
        self.count(|counted| counted.predictable.count(candidates.frequent(line)));
    }

    /// The chunks of one more line are compared with candidates: whether all of these are to be encrypted.
    pub(crate) fn next_is_computed(&self) -> bool {
        let compared = self.compared.get() + 1;
        self.compared.set(compared);
        compared.is_multiple_of(self.computed_one_in.get())
    }

    /// All candidates of a line were encrypted, and so many chunks had another outcome than the permutation says.
    pub(crate) fn computed(&self, disagreeing: u64) {
        self.count(|counted| {
            counted.computed_lines += 1;
            counted.disagreeing += disagreeing;
        });
    }

    pub(crate) fn offered(&self, blocks: u32) {
        self.count(|counted| counted.offered += u64::from(blocks));
    }

    pub(crate) fn resolved(&self, outcome: Outcome, given_up: u32) {
        self.count(|counted| {
            counted.given_up += u64::from(given_up);
            let chunks = &mut counted.chunks;
            *match outcome {
                Outcome::Hit => &mut chunks.hits,
                Outcome::LateHit => &mut chunks.late_hits,
                Outcome::Squashed => &mut chunks.squashed,
                Outcome::Miss => &mut chunks.misses,
            } += 1;
        });
    }

    fn count(&self, change: impl FnOnce(&mut SpeculationCounters)) {
        let mut counted = self.counted.get();
        change(&mut counted);
        self.counted.set(counted);
    }
}
