//! Reads and writes that come to the memory controller with no cache before them: requests of a trace that lies behind
//! the caches.
//!
//! Such a line enters no cache. The shadow compares it when it is released, as every line. A read of a line that is still
//! on its way to memory is answered by that, as in a queue of writes.

use super::Chip;
use protection::verbs::Plaintext;
use rustc_hash::FxHashMap;
use sim::TaskId;
use std::collections::{BTreeSet, VecDeque};
use units::{LineAddr, Time};

/// The reads that are under way.
#[derive(Debug, Default)]
pub struct DirectReads {
    /// When each read of a line began, and its number, oldest first.
    by_line: FxHashMap<LineAddr, VecDeque<(Time, u64)>>,
    numbers: BTreeSet<u64>,
    /// The task that issues requests: woken whenever a line is released.
    issuer: Option<TaskId>,
}

impl DirectReads {
    /// Whether a line is being read.
    pub(super) fn has(&self, line: LineAddr) -> bool {
        self.by_line.contains_key(&line)
    }

    /// Ends the oldest read of a line; when it began. Nothing if none is under way.
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
    /// Begins the read of this number, which no other has. Returns false if a line on its way to memory answers it.
    pub fn read_directly(&self, line: LineAddr, number: u64) -> bool {
        let is_leaving = self.is_leaving(line);
        self.count(|counters| {
            counters.hits_on_the_way_out += u64::from(is_leaving);
            counters.misses += u64::from(!is_leaving);
        });
        if !is_leaving {
            let reads = &mut self.under_way.borrow_mut().direct;
            reads.by_line.entry(line).or_default().push_back((self.clock.now(), number));
            reads.numbers.insert(number);
        }
        !is_leaving
    }

    /// Whether a line is on its way to memory.
    pub fn is_leaving(&self, line: LineAddr) -> bool {
        self.leaving.borrow().contains_key(&line) || self.passes_through(line)
    }

    /// Hands a line to the writers.
    pub fn write_directly(&self, line: LineAddr) {
        self.write_back(line);
    }

    /// Whether a line is being read: a write of it has to wait for that.
    pub fn is_read_directly(&self, line: LineAddr) -> bool {
        self.under_way.borrow().direct.has(line)
    }

    /// The number of the oldest read that is under way.
    pub fn oldest_direct_read(&self) -> Option<u64> {
        self.under_way.borrow().direct.numbers.first().copied()
    }

    /// Names the task that issues requests.
    pub fn set_issuer(&self, task: TaskId) {
        self.under_way.borrow_mut().direct.issuer = Some(task);
    }

    /// Lets the task that issues requests look again.
    pub fn wake_issuer(&self) {
        if let Some(task) = self.under_way.borrow().direct.issuer {
            self.clock.wake(task);
        }
    }

    /// A line that a request reads is released. Returns false if none does.
    pub(super) fn released_directly(&self, line: LineAddr, plaintext: &Plaintext) -> bool {
        let Some(began) = self.under_way.borrow_mut().direct.end(line) else { return false };
        self.count(|counters| counters.miss_latency_fs += self.clock.now().since(began).as_fs());
        self.shadow.borrow_mut().returned(line, &plaintext.bytes);
        self.wake_issuer();
        true
    }
}
