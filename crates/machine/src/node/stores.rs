//! The store queue: stores between their dispatch and the completion of their write, and loads that take data from them.
//!
//! Stores enter at dispatch, are written into L1D in order after they retired, and leave in order. A load needs the
//! youngest older store to its bytes; a table by eight-byte word remembers the latest store to each, so no queue is
//! searched. The table is direct-mapped: a store whose word was displaced is not found, and its load reads the cache.
//!
//! Which store a load depends on is known from the recorded addresses, as with a perfect memory-dependence predictor.

use super::lines::Half;
use super::queue::{Pacer, Queue};
use super::{PageKey, Touch, UNKNOWN};
use std::collections::VecDeque;
use units::LineAddr;

const WORD_BYTES: u8 = 8;
/// A few times more words than a store queue holds stores, so that displacement is rare.
const TABLE: usize = 512;

/// The latest store to a word.
#[derive(Clone, Copy, Debug)]
struct Latest {
    line: LineAddr,
    first: u8,
    end: u8,
    store: u64,
    owner: u64,
}

/// A store that a load depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Forward {
    /// The store's number.
    pub(super) store: u64,
    /// The number of the instruction that stores.
    pub(super) owner: u64,
    /// Whether it has all the bytes that the load wants.
    pub(super) covers: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: PageKey,
    half: Half,
    written: u64,
}

/// The store queue of one core.
#[derive(Clone, Debug)]
pub(super) struct StoreQueue {
    pub(super) queue: Queue,
    entries: VecDeque<Entry>,
    /// The number of the next store to be written.
    next_write: u64,
    writes: Pacer,
    latest: Box<[Option<Latest>]>,
}

impl StoreQueue {
    pub(super) fn new(capacity: u32, writes_per_cycle: u8) -> StoreQueue {
        StoreQueue {
            queue: Queue::new(capacity),
            entries: VecDeque::with_capacity(capacity as usize),
            next_write: 0,
            writes: Pacer::new(writes_per_cycle),
            latest: vec![None; TABLE].into(),
        }
    }

    /// Enters a store of instruction `owner`.
    pub(super) fn enter(&mut self, touch: &Touch, owner: u64) {
        let store = self.queue.enter();
        self.entries.push_back(Entry { page: touch.page, half: Half::touched(touch), written: UNKNOWN });
        let end = touch.offset + touch.bytes;
        for word in words(touch) {
            self.latest[place(touch.line, word)] =
                Some(Latest { line: touch.line, first: touch.offset, end, store, owner });
        }
    }

    /// The youngest store so far to any of the bytes of `load`.
    #[inline]
    pub(super) fn find(&self, load: &Touch) -> Option<Forward> {
        let end = load.offset + load.bytes;
        let overlapping = |latest: &&Latest| latest.line == load.line && latest.first < end && load.offset < latest.end;
        let found = words(load)
            .filter_map(|word| self.latest[place(load.line, word)].as_ref())
            .filter(overlapping)
            .max_by_key(|latest| latest.store)?;
        let covers = found.first <= load.offset && end <= found.end;
        Some(Forward { store: found.store, owner: found.owner, covers })
    }

    /// The next store, which retired at `retired`, goes to be written: its number, and when.
    pub(super) fn write(&mut self, retired: u64) -> (u64, u64) {
        let store = self.next_write;
        self.next_write += 1;
        (store, self.writes.next(retired))
    }

    /// Where the store goes.
    pub(super) fn target(&self, store: u64) -> (PageKey, Half) {
        let entry = &self.entries[(store - self.queue.left()) as usize];
        (entry.page, entry.half)
    }

    /// The write is done at `cycle`: the store leaves, as soon as all before it have.
    pub(super) fn written(&mut self, store: u64, cycle: u64) {
        self.entries[(store - self.queue.left()) as usize].written = cycle;
        while let Some(entry) = self.entries.front().filter(|entry| entry.written != UNKNOWN) {
            self.queue.leave(entry.written.max(self.queue.last_departure()));
            self.entries.pop_front();
        }
    }
}

fn words(touch: &Touch) -> std::ops::RangeInclusive<u8> {
    touch.offset / WORD_BYTES..=(touch.offset + touch.bytes.max(1) - 1) / WORD_BYTES
}

fn place(line: LineAddr, word: u8) -> usize {
    let key = line.0 * 8 + u64::from(word);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % TABLE
}
