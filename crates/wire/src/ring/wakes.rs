//! Strands that a call has woken, and that have not asked for the baton yet.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Wakes that can be outstanding at once. The baton is passed on without waiting for the strands of further ones.
const WAKES_MAX: usize = 64;

/// Strands that wait for one futex, and that one call has woken.
#[repr(C)]
struct Wake {
    word: AtomicU64,
    /// Clock of the strand that made the call.
    clock: AtomicU64,
    count: AtomicU32,
}

/// All wakes. All-zero is a valid state: no wake. Only the process that has locked the baton changes them.
#[repr(C)]
pub(super) struct Wakes {
    /// Number of strands in `all`.
    expected: AtomicU32,
    all: [Wake; WAKES_MAX],
}

impl Wakes {
    /// Returns true if all woken strands have asked for the baton.
    #[inline]
    pub fn are_answered(&self) -> bool {
        self.expected.load(Acquire) == 0
    }

    /// Adds strands that wait for a futex, woken at a clock.
    pub fn add(&self, word: u64, count: u32, clock: u64) {
        let free = self.all.iter().find(|wake| wake.count.load(Relaxed) == 0);
        if let Some(wake) = free.filter(|_| count > 0) {
            wake.word.store(word, Relaxed);
            wake.clock.store(clock, Relaxed);
            wake.count.store(count, Relaxed);
            self.expected.fetch_add(count, Release);
        }
    }

    /// Removes one strand that has waited for this futex. Returns the clock of its wake.
    pub fn take(&self, word: u64) -> Option<u64> {
        let is_of = |wake: &&Wake| wake.count.load(Relaxed) > 0 && wake.word.load(Relaxed) == word;
        let wake = self.all.iter().find(is_of)?;
        wake.count.fetch_sub(1, Relaxed);
        self.expected.fetch_sub(1, Release);
        Some(wake.clock.load(Relaxed))
    }

    /// Removes all strands: nobody waits for them any more.
    pub fn clear(&self) {
        self.all.iter().for_each(|wake| wake.count.store(0, Relaxed));
        self.expected.store(0, Release);
    }
}
