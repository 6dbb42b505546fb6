//! Reads and writes that reach the memory controller without a cache: requests of a trace recorded behind the caches.
//!
//! These lines enter no cache. The shadow compares them at their release, like all lines. If a requested line is still
//! on its way to memory, the pending write answers the read, as in a write queue.

use super::Chip;
use rustc_hash::FxHashMap;
use sim::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use units::{LineAddr, Time};

/// Reads that have not ended.
#[derive(Debug, Default)]
struct ReadsUnderWay {
    /// Start time and number of each read, by line, oldest first.
    by_line: FxHashMap<LineAddr, VecDeque<(Time, u64)>>,
    numbers: BTreeSet<u64>,
}

/// Direct reads under way.
pub struct DirectReads {
    clock: Clock,
    reads: RefCell<ReadsUnderWay>,
    /// Task that issues requests; the chip wakes it whenever a line is released.
    issuer: Cell<Option<TaskId>>,
}

impl DirectReads {
    pub(super) fn new(clock: &Clock) -> DirectReads {
        DirectReads { clock: clock.clone(), reads: RefCell::default(), issuer: Cell::new(None) }
    }

    /// True if a direct read of the line is under way: a write of the line must wait for it.
    pub fn has(&self, line: LineAddr) -> bool {
        self.reads.borrow().by_line.contains_key(&line)
    }

    /// Number of the oldest direct read under way.
    pub fn oldest(&self) -> Option<u64> {
        self.reads.borrow().numbers.first().copied()
    }

    /// Begins a read with a unique number.
    fn begin(&self, line: LineAddr, number: u64) {
        let mut reads = self.reads.borrow_mut();
        reads.by_line.entry(line).or_default().push_back((self.clock.now(), number));
        reads.numbers.insert(number);
    }

    /// Ends the oldest read of a line and returns its start time; `None` if no read of the line is under way.
    pub(super) fn end(&self, line: LineAddr) -> Option<Time> {
        let mut under_way = self.reads.borrow_mut();
        let reads = under_way.by_line.get_mut(&line)?;
        let (began, number) = reads.pop_front()?;
        if reads.is_empty() {
            under_way.by_line.remove(&line);
        }
        under_way.numbers.remove(&number);
        Some(began)
    }

    /// Sets the task that issues requests.
    pub fn set_issuer(&self, task: TaskId) {
        self.issuer.set(Some(task));
    }

    /// Wakes the task that issues requests.
    pub(crate) fn wake_issuer(&self) {
        if let Some(task) = self.issuer.get() {
            self.clock.wake(task);
        }
    }
}

impl Chip {
    /// Begins a read with a unique number. Returns false if a pending write of the line answers the read at once.
    pub fn read_directly(&self, line: LineAddr, number: u64) -> bool {
        let is_leaving = self.is_leaving(line);
        self.llc.count(|counts| {
            counts.hits_on_the_way_out += u64::from(is_leaving);
            counts.misses += u64::from(!is_leaving);
        });
        if !is_leaving {
            self.under_way.direct.begin(line, number);
        }
        !is_leaving
    }

    /// True if a line is on its way to memory.
    pub fn is_leaving(&self, line: LineAddr) -> bool {
        self.out.has(line) || self.buffers.send_through(line)
    }
}
