//! What permutations and fills have done, and whether a slot crossed the bus twice.

use super::chunk::Group;
use crate::record::{Record, SLOTS};
use crate::slot::Slot;
use derive_more::{AddAssign, Sub};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::rc::Rc;

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct MovingCounters {
    /// Lines that were brought from memory for a reader.
    pub fills: u64,
    /// Slots that were read for them: all that are under their tags.
    pub fetched: u64,
    /// Records that were brought from memory, each by a walk.
    pub records: u64,
    /// Chunks that were permuted.
    pub permutations: u64,
    /// Slots that permutations have read.
    pub read: u64,
    /// Slots that they have written.
    pub written: u64,
    /// Slots that were read or written a second time between two permutations, or, where several are under one tag, read more often
    /// than these are; none in a right machine.
    pub twice: u64,
    /// Permutations before which not every slot was read and written; none in a right machine.
    pub incomplete: u64,
}

/// Of a chunk, which slots were read and written since it was permuted last.
#[derive(Clone, Default)]
struct Epoch {
    read: Bits,
    written: Bits,
    /// How often each slot was read a second time, where several are under one tag.
    again: Vec<u8>,
}

/// A bit for each slot of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Bits([u64; SLOTS / 64]);

impl Bits {
    const ALL: Bits = Bits([u64::MAX; SLOTS / 64]);

    /// Sets a bit. Whether it was set.
    fn set(&mut self, slot: usize) -> bool {
        let (word, bit) = (&mut self.0[slot / 64], 1 << (slot % 64));
        let before = *word & bit != 0;
        *word |= bit;
        before
    }
}

/// The counters, with what they look at.
#[derive(Clone, Default)]
pub(super) struct Counted {
    sum: MovingCounters,
    epochs: FxHashMap<u64, Epoch>,
    /// How often each chunk was permuted, and its record since.
    permuted: FxHashMap<u64, (u64, Rc<Record>)>,
}

impl Counted {
    pub fn sum(&self) -> MovingCounters {
        self.sum
    }

    /// How often a chunk was permuted.
    pub fn permutations_of(&self, chunk: u64) -> u64 {
        self.permuted.get(&chunk).map_or(0, |(times, _)| *times)
    }

    /// The record of a chunk, if it was ever permuted.
    pub fn record_of(&self, chunk: u64) -> Option<&Record> {
        self.permuted.get(&chunk).map(|(_, record)| &**record)
    }

    fn epoch(&mut self, slot: Slot) -> (&mut Epoch, usize, &mut MovingCounters) {
        let epoch = self.epochs.entry(slot.0 / SLOTS as u64).or_default();
        (epoch, (slot.0 % SLOTS as u64) as usize, &mut self.sum)
    }

    /// A slot is read, with so many under its tag.
    fn crossed(&mut self, slot: Slot, together: usize) {
        let (epoch, place, sum) = self.epoch(slot);
        if !epoch.read.set(place) {
            return;
        }
        if together == 1 {
            sum.twice += 1;
            return;
        }
        epoch.again.resize(SLOTS, 0);
        epoch.again[place] = epoch.again[place].saturating_add(1);
        sum.twice += u64::from(usize::from(epoch.again[place]) >= together);
    }

    /// A fill reads a group.
    pub fn filled(&mut self, group: &Group) {
        self.sum.fills += 1;
        self.sum.fetched += group.len() as u64;
        group.iter().for_each(|at| self.crossed(at.slot(), group.len()));
    }

    /// A permutation reads a group.
    pub fn read(&mut self, group: &Group) {
        self.sum.read += group.len() as u64;
        group.iter().for_each(|at| self.crossed(at.slot(), group.len()));
    }

    /// A permutation writes a group.
    pub fn written(&mut self, group: &Group) {
        for at in group {
            let (epoch, place, sum) = self.epoch(at.slot());
            sum.written += 1;
            sum.twice += u64::from(epoch.written.set(place));
        }
    }

    /// A permutation of a chunk is over, which has this record from now on.
    pub fn permuted(&mut self, chunk: u64, record: &Rc<Record>) {
        self.sum.permutations += 1;
        let times = self.permutations_of(chunk) + 1;
        self.permuted.insert(chunk, (times, Rc::clone(record)));
        let Some(Epoch { read, written, .. }) = self.epochs.remove(&chunk) else { return };
        self.sum.incomplete += u64::from(read != Bits::ALL || written != Bits::ALL);
    }
}
