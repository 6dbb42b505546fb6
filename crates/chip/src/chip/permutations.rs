//! Permutations of page chunks that the scheme has passed on to separate tasks.

use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::Cell;

/// Permutations in the background, from the access that began them to their ends.
pub struct PassedOnPermutations {
    clock: Clock,
    chunks: WorkQueue<u64>,
    /// Number of permutations that have not ended.
    outstanding: Cell<usize>,
}

impl PassedOnPermutations {
    /// Creates an empty queue.
    pub(super) fn new(clock: &Clock) -> PassedOnPermutations {
        PassedOnPermutations { clock: clock.clone(), chunks: WorkQueue::new(clock), outstanding: Cell::new(0) }
    }

    /// Queues the permutation of a page chunk.
    pub(super) fn push(&self, chunk: u64) {
        self.outstanding.set(self.outstanding.get() + 1);
        self.chunks.push(self.clock.now(), chunk);
    }

    /// Waits for the next page chunk to permute.
    pub(crate) fn next(&self) -> impl Future<Output = u64> {
        self.chunks.next()
    }

    /// Notes the end of a permutation.
    pub(crate) fn ended(&self) {
        self.outstanding.set(self.outstanding.get() - 1);
    }

    /// Number of permutations that have not ended.
    pub fn outstanding(&self) -> usize {
        self.outstanding.get()
    }
}
