//! What permutations and fills have done, and whether a slot crossed the bus twice.

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
    /// Records that were brought from memory, each by a walk.
    pub records: u64,
    /// Chunks that were permuted.
    pub permutations: u64,
    /// Slots that permutations have read.
    pub read: u64,
    /// Slots that they have written.
    pub written: u64,
    /// Slots that were read or written a second time between two permutations; none in a right machine.
    pub twice: u64,
    /// Permutations before which not every slot was read once and written once; none in a right machine.
    pub incomplete: u64,
}

/// Of a chunk, which slots were read and written since it was permuted last.
#[derive(Clone)]
struct Epoch {
    read: [bool; SLOTS],
    written: [bool; SLOTS],
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
        let nothing = || Epoch { read: [false; SLOTS], written: [false; SLOTS] };
        let epoch = self.epochs.entry(slot.0 / SLOTS as u64).or_insert_with(nothing);
        (epoch, (slot.0 % SLOTS as u64) as usize, &mut self.sum)
    }

    fn crossed(&mut self, slot: Slot) {
        let (epoch, place, sum) = self.epoch(slot);
        sum.twice += u64::from(std::mem::replace(&mut epoch.read[place], true));
    }

    /// A fill reads a slot.
    pub fn filled(&mut self, slot: Slot) {
        self.sum.fills += 1;
        self.crossed(slot);
    }

    /// A permutation reads a slot.
    pub fn read(&mut self, slot: Slot) {
        self.sum.read += 1;
        self.crossed(slot);
    }

    /// A permutation writes a slot.
    pub fn written(&mut self, slot: Slot) {
        let (epoch, place, sum) = self.epoch(slot);
        sum.written += 1;
        sum.twice += u64::from(std::mem::replace(&mut epoch.written[place], true));
    }

    /// A permutation of a chunk is over, which has this record from now on.
    pub fn permuted(&mut self, chunk: u64, record: &Rc<Record>) {
        self.sum.permutations += 1;
        let times = self.permutations_of(chunk) + 1;
        self.permuted.insert(chunk, (times, Rc::clone(record)));
        let Some(Epoch { read, written }) = self.epochs.remove(&chunk) else { return };
        self.sum.incomplete += u64::from(read != [true; SLOTS] || written != [true; SLOTS]);
    }
}
