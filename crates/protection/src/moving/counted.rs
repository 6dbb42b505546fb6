//! Statistics on permutations and fills, and on slots that crossed the bus twice.

use super::page_chunk::Group;
use crate::placement::DataSlot;
use crate::record::{MerkleHits, Record, SLOTS};
use crate::slot::Slot;
use derive_more::{AddAssign, Sub};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::rc::Rc;

/// Statistics of a memory with permuted lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct MovingCounts {
    /// Lines that were fetched from memory for a reader.
    pub fills: u64,
    /// Slots that were read for these lines: all slots under their tags.
    pub fetched: u64,
    /// Walks to records, and what the Merkle cache saved of them.
    #[serde(flatten)]
    pub walks: WalkCounts,
    /// Page chunks that were permuted.
    pub permutations: u64,
    /// Permutations that made an access wait: for a way of the cache, or for the page chunk.
    pub permutations_awaited: u64,
    /// Slots that permutations have read.
    pub read: u64,
    /// Slots that permutations have written.
    pub written: u64,
    /// Slots that were read or written a second time between two permutations; zero in a correct machine. If one tag
    /// covers several slots, this counts lines that were fetched twice. It also counts groups that a permutation reads
    /// twice, or reads although all their lines were fetched.
    pub twice: u64,
    /// Permutations before which not every slot was read and written; zero in a correct machine.
    pub incomplete: u64,
    /// Switches from one secure process to another, clock interrupts included.
    pub switches: u64,
    /// Contexts of secure processes that left the chip and returned.
    pub contexts: ContextCounts,
}

/// Statistics of the records that the chip did not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct WalkCounts {
    /// Records that were fetched from memory, each by a walk.
    pub records: u64,
    /// Walks that the Merkle cache made unnecessary or shorter.
    #[serde(rename = "merkle_cache")]
    pub hits: MerkleHits,
}

/// Statistics of contexts of secure processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct ContextCounts {
    /// Contexts that left the chip, since no context buffer was free.
    pub out: u64,
    /// Contexts that were loaded from memory again.
    pub back: u64,
    /// Permutations of page chunks because their process had locked lines when its context left. They are among all
    /// permutations.
    pub chunks_permuted: u64,
}

/// Slots of a page chunk that were read and written since its last permutation.
#[derive(Clone, Default)]
struct Epoch {
    /// Slots of lines that were fetched for readers.
    filled: Bits,
    /// Slots that were read, possibly only with another slot of the same tag.
    read: Bits,
    /// Slots that a permutation has read.
    swept: Bits,
    written: Bits,
}

/// A bit for each slot of a page chunk.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Bits([u64; SLOTS / 64]);

impl Bits {
    const ALL: Bits = Bits([u64::MAX; SLOTS / 64]);

    /// Sets a bit. Returns whether it was set before.
    fn set(&mut self, slot: usize) -> bool {
        let (word, bit) = (&mut self.0[slot / 64], 1 << (slot % 64));
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    fn has(&self, slot: usize) -> bool {
        self.0[slot / 64] & 1 << (slot % 64) != 0
    }
}

/// The statistics, with the state from which they are computed.
#[derive(Clone, Default)]
pub(super) struct EpochCounts {
    sum: MovingCounts,
    epochs: FxHashMap<u64, Epoch>,
    /// Number of permutations of each page chunk, and its record since the last.
    permuted: FxHashMap<u64, (u64, Rc<Record>)>,
}

impl EpochCounts {
    pub fn sum(&self) -> MovingCounts {
        self.sum
    }

    /// The statistics, for increments by other parts of the scheme.
    pub fn counts_mut(&mut self) -> &mut MovingCounts {
        &mut self.sum
    }

    /// Number of permutations of a page chunk.
    pub fn permutations_of(&self, chunk: u64) -> u64 {
        self.permuted.get(&chunk).map_or(0, |(times, _)| *times)
    }

    /// Returns the record of a page chunk, if it was ever permuted.
    pub fn record_of(&self, chunk: u64) -> Option<&Record> {
        self.permuted.get(&chunk).map(|(_, record)| &**record)
    }

    fn epoch(&mut self, slot: Slot) -> (&mut Epoch, usize, &mut MovingCounts) {
        let epoch = self.epochs.entry(slot.0 / SLOTS as u64).or_default();
        (epoch, (slot.0 % SLOTS as u64) as usize, &mut self.sum)
    }

    /// Counts a fill of a line, which reads a group.
    pub fn filled(&mut self, line: DataSlot, group: &Group) {
        let (epoch, index, sum) = self.epoch(line.slot());
        sum.fills += 1;
        sum.fetched += group.len() as u64;
        sum.twice += u64::from(epoch.filled.set(index));
        for at in group {
            let (epoch, index, _) = self.epoch(at.slot());
            epoch.read.set(index);
        }
    }

    /// Counts a group that a permutation reads, in which at least one line was not fetched before.
    pub fn read(&mut self, group: &Group) {
        let mut were_filled = true;
        for at in group {
            let (epoch, index, sum) = self.epoch(at.slot());
            epoch.read.set(index);
            sum.read += 1;
            sum.twice += u64::from(epoch.swept.set(index));
            were_filled &= epoch.filled.has(index);
        }
        self.sum.twice += u64::from(were_filled);
    }

    /// Counts a group that a permutation writes.
    pub fn written(&mut self, group: &Group) {
        for at in group {
            let (epoch, index, sum) = self.epoch(at.slot());
            sum.written += 1;
            sum.twice += u64::from(epoch.written.set(index));
        }
    }

    /// Counts a permutation of a page chunk that is over; the page chunk has this record from now on.
    pub fn permuted(&mut self, chunk: u64, record: &Rc<Record>) {
        self.sum.permutations += 1;
        let times = self.permutations_of(chunk) + 1;
        self.permuted.insert(chunk, (times, Rc::clone(record)));
        let Epoch { read, written, .. } = self.epochs.remove(&chunk).unwrap_or_default();
        self.sum.incomplete += u64::from(read != Bits::ALL || written != Bits::ALL);
    }
}
