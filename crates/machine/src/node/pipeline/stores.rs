//! The store queue: stores between their dispatch and the completion of their write, and loads that take data from them.
//!
//! Stores enter at dispatch, are written into L1D in order after they retired, and leave in order. A load needs the
//! youngest older store to its bytes. A table contains the latest store to each eight-byte word, so the queue is never
//! searched. The table is direct-mapped: if the word of a store was displaced, the store is not found and the load
//! reads the cache.
//!
//! With a *write buffer* behind the queue, a store leaves the queue when it has retired and the buffer has room. The
//! store leaves the buffer when L1D has accepted it: on a hit, or on a miss as soon as the miss has a register.
//!
//! With a *persist buffer* ([`persist`](super::persist)), a store must also enter that buffer before it leaves the
//! queue or the write buffer.
//!
//! The addresses in the trace determine the store that a load depends on. This corresponds to a perfect
//! memory-dependence predictor.

use crate::node::config::NodeConfig;
use crate::node::interface::{PageKey, Touch, UNKNOWN};
use crate::node::lines::WordAddr;
use crate::node::pipeline::persist::{PersistPath, StoreInL1d};
use crate::node::pipeline::pieces::Pieces;
use crate::node::pipeline::queue::{Pacer, Queue};
use std::collections::VecDeque;
use units::LineAddr;

const WORD_BYTES: u8 = 8;
/// A few times more words than the capacity of a store queue, so displacement is rare.
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
pub(in crate::node) struct Forward {
    /// Number of the store in the queue.
    pub(in crate::node) store: u64,
    /// Number of the instruction that stores.
    pub(in crate::node) owner: u64,
    /// True if the store has all bytes that the load needs.
    pub(in crate::node) covers: bool,
}

#[derive(Clone, Copy, Debug)]
struct StoreEntry {
    page: PageKey,
    word: WordAddr,
    persistent: bool,
    /// Stored bytes of the line, one bit per byte, if the store bypasses the caches.
    past_caches: Option<u64>,
    /// Cycle from which the store may be written.
    retired: u64,
    /// Cycle at which the store left the queue for the write buffer, if there is one.
    moved: u64,
    written: u64,
}

/// Stores of the program that L1D has received, in the order in which they left the store queue or the write buffer. An
/// owner of the node reads this list.
#[derive(Clone, Debug, Default)]
struct WrittenStores {
    pieces: Pieces,
    /// Cycle at which each store left, and its line.
    stores: Vec<(u64, LineAddr)>,
}

impl WrittenStores {
    fn left(&mut self, line: LineAddr, cycle: u64) {
        if self.pieces.is_whole() {
            self.stores.push((cycle, line));
        }
    }
}

/// The store queue of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct StoreQueue {
    pub(in crate::node) queue: Queue,
    buffer: Option<Queue>,
    /// True if a store leaves when L1D has accepted the store, even if its line is outstanding.
    leaves_when_accepted: bool,
    pub(in crate::node) persist: Option<Box<PersistPath>>,
    written: Option<Box<WrittenStores>>,
    /// Stores that are not written, oldest first.
    entries: VecDeque<StoreEntry>,
    /// Number of the oldest of these stores.
    first: u64,
    /// Number of the next store to be written.
    next_write: u64,
    writes: Pacer,
    latest: Box<[Option<Latest>]>,
}

impl StoreQueue {
    pub(in crate::node) fn new(config: &NodeConfig) -> StoreQueue {
        StoreQueue {
            queue: Queue::new(config.store_queue),
            buffer: config.write_buffer.map(Queue::new),
            leaves_when_accepted: config.write_buffer.is_some() && config.persist_buffer.is_none(),
            persist: PersistPath::new(config),
            written: config.reports_stores.then(Box::default),
            entries: VecDeque::with_capacity(config.store_queue as usize),
            first: 0,
            next_write: 0,
            writes: Pacer::new(config.store_ports),
            latest: vec![None; TABLE].into(),
        }
    }

    /// Announces that stores among these touches will be cut into short lines. The persist buffer treats each as one
    /// store.
    #[cold]
    pub(in crate::node) fn expect_pieces(&mut self, touches: &[Touch]) {
        let of_path = self.persist.iter_mut().map(|path| &mut path.pieces);
        let of_written = self.written.iter_mut().map(|written| &mut written.pieces);
        of_path.chain(of_written).for_each(|pieces| pieces.expect(touches));
    }

    /// Enters a store of instruction `owner`.
    pub(in crate::node) fn enter(&mut self, touch: &Touch, owner: u64) {
        let store = self.queue.enter();
        self.entries.push_back(StoreEntry {
            page: touch.page,
            word: WordAddr::touched(touch),
            persistent: touch.persistent,
            past_caches: (touch.past_caches && self.persist.is_none()).then(|| bytes(touch)),
            retired: UNKNOWN,
            moved: UNKNOWN,
            written: UNKNOWN,
        });
        let end = touch.offset + touch.bytes;
        for word in words(touch) {
            self.latest[table_index(touch.line, word)] =
                Some(Latest { line: touch.line, first: touch.offset, end, store, owner });
        }
    }

    /// Returns the youngest store so far to any of the bytes of `load`.
    #[inline]
    pub(in crate::node) fn find(&self, load: &Touch) -> Option<Forward> {
        let end = load.offset + load.bytes;
        let overlapping = |latest: &&Latest| latest.line == load.line && latest.first < end && load.offset < latest.end;
        let found = words(load)
            .filter_map(|word| self.latest[table_index(load.line, word)].as_ref())
            .filter(overlapping)
            .max_by_key(|latest| latest.store)?;
        let covers = found.first <= load.offset && end <= found.end;
        Some(Forward { store: found.store, owner: found.owner, covers })
    }

    /// Starts the write of the next store, which retired at `retired`. Returns its number and the start cycle.
    pub(in crate::node) fn write(&mut self, retired: u64) -> (u64, u64) {
        let store = self.next_write;
        self.next_write += 1;
        let start = self.writes.next(retired);
        self.entries[(store - self.first) as usize].retired = start;
        self.move_up();
        (store, start)
    }

    /// Returns the page and the word of the store.
    pub(in crate::node) fn target(&self, store: u64) -> (PageKey, WordAddr) {
        let entry = &self.entries[(store - self.first) as usize];
        (entry.page, entry.word)
    }

    /// Returns the bytes of its line that a store writes past the caches, or `None` if the store uses the caches.
    #[inline]
    pub(in crate::node) fn past_caches(&self, store: u64) -> Option<u64> {
        self.entries[(store - self.first) as usize].past_caches
    }

    /// Returns true if stores leave as soon as L1D has accepted them, because the core has a write buffer.
    pub(in crate::node) fn is_buffered(&self) -> bool {
        self.leaves_when_accepted
    }

    /// Records that a store was written to L1D at `cycle`, or that L1D accepted it from the write buffer. The store
    /// leaves as soon as all earlier stores have left, or it continues to the persist buffer.
    pub(in crate::node) fn written(&mut self, store: u64, cycle: u64) {
        if let Some(path) = &mut self.persist {
            let StoreEntry { word, persistent, .. } = self.entries[(store - self.first) as usize];
            path.record_in_l1d(store, StoreInL1d { line: word.line(), persistent, cycle });
            self.persist();
        } else {
            self.leaves(store, cycle);
        }
    }

    fn leaves(&mut self, store: u64, cycle: u64) {
        self.entries[(store - self.first) as usize].written = cycle;
        self.move_up();
    }

    /// Removes the stores that the persist buffer accepts.
    fn persist(&mut self) {
        while let Some((store, cycle)) = self.persist.as_mut().and_then(|path| path.go_on()) {
            self.leaves(store, cycle);
        }
    }

    /// Records the answer of the persist buffer for the oldest store.
    pub(in crate::node) fn persisted(&mut self, cycle: u64) {
        let Some(path) = &mut self.persist else { panic!("there is no persist buffer") };
        let (store, cycle) = path.persisted(cycle);
        self.leaves(store, cycle);
        self.persist();
    }

    /// Applies `how` after an entry left the persist buffer. Returns true if the oldest store waited for this entry to
    /// leave.
    pub(in crate::node) fn has_room(
        &mut self,
        how: impl FnOnce(&mut PersistPath) -> (bool, Option<(u64, u64)>),
    ) -> bool {
        let Some(path) = &mut self.persist else { panic!("there is no persist buffer") };
        let (goes_on, accepted) = how(path);
        if let Some((store, cycle)) = accepted {
            self.leaves(store, cycle);
            self.persist();
        }
        goes_on
    }

    /// Records an answer to the node at `cycle`: later stores enter the persist buffer at or after it.
    #[inline]
    pub(in crate::node) fn answered(&mut self, cycle: u64) {
        if let Some(path) = &mut self.persist {
            path.answered(cycle);
        }
    }

    /// Returns true if the oldest store is in L1D and waits for the persist buffer.
    #[inline]
    pub(in crate::node) fn is_persisting(&self) -> bool {
        self.persist.as_ref().is_some_and(|path| path.is_waiting())
    }

    /// Returns the stores of the program that left the queue or the write buffer since the last call, with their
    /// cycles, in order. Empty if no owner reads them.
    pub(in crate::node) fn take_written(&mut self) -> Vec<(u64, LineAddr)> {
        self.written.as_mut().map(|written| std::mem::take(&mut written.stores)).unwrap_or_default()
    }

    /// Returns the number of stores to a line that were written while an earlier store keeps them in the queue.
    pub(in crate::node) fn written_early(&self, line: LineAddr) -> u32 {
        let is_early = |entry: &&StoreEntry| entry.written != UNKNOWN && entry.word.line() == line;
        self.entries.iter().filter(is_early).count() as u32
    }

    /// Returns the cycle at which the first `count` stores had all been written, or `None` if some of them have not
    /// been written. The latest of these stores must be among the stores that left most recently.
    pub(in crate::node) fn written_at(&self, count: u64) -> Option<u64> {
        let queue = self.buffer.as_ref().unwrap_or(&self.queue);
        match count {
            0 => Some(0),
            _ => (count <= queue.left()).then(|| queue.departure(count - 1)),
        }
    }

    /// Returns the cycle at which all stores so far are written, or `None` if that cycle is not known yet.
    pub(in crate::node) fn empty_from(&self) -> Option<u64> {
        let queue = self.queue.empty_from()?;
        self.buffer.as_ref().map_or(Some(queue), |buffer| Some(queue.max(buffer.empty_from()?)))
    }

    /// Advances all stores that can move.
    fn move_up(&mut self) {
        let Some(buffer) = &mut self.buffer else {
            while let Some(entry) = self.entries.front().filter(|entry| entry.written != UNKNOWN) {
                let (line, cycle) = (entry.word.line(), entry.written.max(self.queue.last_departure()));
                self.queue.leave(cycle);
                self.written.iter_mut().for_each(|written| written.left(line, cycle));
                self.entries.pop_front();
                self.first += 1;
            }
            return;
        };
        loop {
            if let Some(entry) = self.entries.front().filter(|entry| entry.moved != UNKNOWN && entry.written != UNKNOWN)
            {
                let line = entry.word.line();
                let cycle = entry.written.max(entry.moved).max(buffer.last_departure());
                buffer.leave(cycle);
                self.written.iter_mut().for_each(|written| written.left(line, cycle));
                self.entries.pop_front();
                self.first += 1;
                continue;
            }
            let next = self.entries.get_mut((self.queue.left() - self.first) as usize);
            let (Some(entry), Some(room)) = (next.filter(|entry| entry.retired != UNKNOWN), buffer.room(1)) else {
                return;
            };
            entry.moved = entry.retired.max(room).max(self.queue.last_departure());
            self.queue.leave(entry.moved);
            buffer.enter();
        }
    }
}

/// Returns the bytes of a touch, as one bit for each byte of the line.
fn bytes(touch: &Touch) -> u64 {
    (touch.offset..touch.offset + touch.bytes).fold(0, |bits, byte| bits | 1 << byte)
}

fn words(touch: &Touch) -> std::ops::RangeInclusive<u8> {
    touch.offset / WORD_BYTES..=(touch.offset + touch.bytes.max(1) - 1) / WORD_BYTES
}

fn table_index(line: LineAddr, word: u8) -> usize {
    let key = line.0 * 8 + u64::from(word);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % TABLE
}
