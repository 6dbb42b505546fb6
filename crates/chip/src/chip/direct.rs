//! Reads and writes that reach the memory controller without a cache: requests of a trace recorded behind the caches.
//!
//! These lines enter no cache. The shadow compares them at their release, like all lines. If a requested line is still
//! on its way to memory, the pending write answers the read, as in a write queue.

use super::Chip;
use protection::verbs::Plaintext;
use rustc_hash::FxHashMap;
use sim::TaskId;
use std::collections::{BTreeSet, VecDeque};
use units::{LineAddr, Time};

/// Direct reads under way.
#[derive(Debug, Default)]
pub struct DirectReads {
    /// Start time and number of each read, by line, oldest first.
    by_line: FxHashMap<LineAddr, VecDeque<(Time, u64)>>,
    numbers: BTreeSet<u64>,
    /// Task that issues requests; the chip wakes it whenever a line is released.
    issuer: Option<TaskId>,
}

impl DirectReads {
    /// True if a direct read of the line is under way.
    pub(super) fn has(&self, line: LineAddr) -> bool {
        self.by_line.contains_key(&line)
    }

    /// Ends the oldest read of a line and returns its start time; `None` if no read of the line is under way.
    fn end(&mut self, line: LineAddr) -> Option<Time> {
        let reads = self.by_line.get_mut(&line)?;
        let (began, number) = reads.pop_front()?;
        if reads.is_empty() {
            self.by_line.remove(&line);
        }
        self.numbers.remove(&number);
        Some(began)
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
            let reads = &mut self.under_way.borrow_mut().direct;
            reads.by_line.entry(line).or_default().push_back((self.clock.now(), number));
            reads.numbers.insert(number);
        }
        !is_leaving
    }

    /// True if a line is on its way to memory.
    pub fn is_leaving(&self, line: LineAddr) -> bool {
        self.out.has(line) || self.buffers.pass_through(line)
    }

    /// True if a read of the line is under way: a write of the line must wait for it.
    pub fn is_read_directly(&self, line: LineAddr) -> bool {
        self.under_way.borrow().direct.has(line)
    }

    /// Number of the oldest direct read under way.
    pub fn oldest_direct_read(&self) -> Option<u64> {
        self.under_way.borrow().direct.numbers.first().copied()
    }

    /// Sets the task that issues requests.
    pub fn set_issuer(&self, task: TaskId) {
        self.under_way.borrow_mut().direct.issuer = Some(task);
    }

    /// Wakes the task that issues requests.
    pub fn wake_issuer(&self) {
        if let Some(task) = self.under_way.borrow().direct.issuer {
            self.clock.wake(task);
        }
    }

    /// Releases a line to a request that reads it. Returns false if no direct read waits for the line.
    pub(super) fn released_directly(&self, line: LineAddr, plaintext: &Plaintext) -> bool {
        let Some(began) = self.under_way.borrow_mut().direct.end(line) else { return false };
        self.llc.count(|counts| counts.miss_latency_fs += self.clock.now().since(began).as_fs());
        self.shadow.returned(line, plaintext);
        self.wake_issuer();
        true
    }
}
