//! The strands that wait for the baton.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Strands that can wait at once.
const WAITING_MAX: usize = 1024;

/// An entry of the queue.
#[repr(C)]
pub(super) struct WaitingStrand {
    /// Key of the strand; zero if the entry is free.
    strand: AtomicU64,
    clock: AtomicU64,
    /// Number of the arrival, which decides between equal clocks.
    arrival: AtomicU64,
    /// Futex on which the strand has slept, if the strand has asked before the call returned that woke it; else zero.
    word: AtomicU64,
    process: AtomicU32,
    /// Futex on which the strand sleeps: 1 when it has the baton.
    given: AtomicU32,
    /// 1 if the strand has not begun yet.
    is_expected: AtomicU32,
}

/// The queue in shared memory. All-zero is a valid state: nobody waits. Only the process that has locked the baton changes
/// it.
#[repr(C)]
pub(super) struct BatonQueue {
    /// Lowest clock in the queue plus one; zero if nobody waits.
    due: AtomicU64,
    arrivals: AtomicU64,
    /// Number of entries that have been in use.
    used: AtomicU32,
    entries: [WaitingStrand; WAITING_MAX],
}

impl WaitingStrand {
    pub fn strand(&self) -> u64 {
        self.strand.load(Acquire)
    }

    pub fn clock(&self) -> u64 {
        self.clock.load(Relaxed)
    }

    pub fn process(&self) -> u32 {
        self.process.load(Relaxed)
    }

    /// True if the strand has not begun yet.
    pub fn is_expected(&self) -> bool {
        self.is_expected.load(Relaxed) != 0
    }

    /// Notes whether the strand has not begun yet.
    pub fn expect(&self, is_expected: bool) {
        self.is_expected.store(is_expected.into(), Relaxed);
    }

    /// Notes that the strand has slept on this futex, and that the call that woke it has not returned.
    pub fn set_word(&self, word: u64) {
        self.word.store(word, Relaxed);
    }

    /// Sleeps until the strand is given the baton; returns false if that takes too long.
    pub fn sleep(&self, patience: Duration) -> bool {
        if self.given.load(Acquire) != 0 {
            return true;
        }
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
        let word = self.given.as_ptr();
        // SAFETY: the word lives in shared memory for as long as the ring, and the timeout on this stack.
        let slept = unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, 0, &raw const timeout) };
        slept == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
    }

    /// Wakes the strand that slept here, and was given the baton.
    pub fn wake(&self) {
        // SAFETY: the word lives in shared memory for as long as the ring.
        unsafe { libc::syscall(libc::SYS_futex, self.given.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
}

impl BatonQueue {
    /// Returns true if a strand with a lower clock waits.
    #[inline]
    pub fn is_due(&self, clock: u64) -> bool {
        self.due.load(Acquire).wrapping_sub(1) < clock
    }

    /// Returns the entry of a strand.
    pub fn entry_of(&self, strand: u64) -> Option<&WaitingStrand> {
        self.used().iter().find(|entry| entry.strand() == strand)
    }

    /// Adds a strand. Returns its entry, or `None` if the queue is full.
    pub fn add(&self, strand: u64, process: u32, clock: u64) -> Option<&WaitingStrand> {
        let unused = || self.entries.get(self.used.fetch_add(1, AcqRel) as usize);
        let entry = self.entry_of(0).or_else(unused)?;
        entry.clock.store(clock, Relaxed);
        entry.arrival.store(self.arrivals.fetch_add(1, Relaxed), Relaxed);
        entry.process.store(process, Relaxed);
        entry.given.store(0, Relaxed);
        entry.word.store(0, Relaxed);
        entry.expect(false);
        entry.strand.store(strand, Release);
        self.note_due();
        Some(entry)
    }

    /// Returns the strand with the lowest clock; of several, the one that waits longest.
    pub fn first(&self) -> Option<&WaitingStrand> {
        self.waiting().min_by_key(|entry| (entry.clock(), entry.arrival.load(Relaxed)))
    }

    /// Removes a strand, which was given the baton.
    pub fn release(&self, entry: &WaitingStrand) {
        entry.strand.store(0, Release);
        self.note_due();
        entry.given.store(1, Release);
    }

    /// Removes all strands of a process.
    pub fn forget(&self, process: u32) {
        self.waiting().filter(|entry| entry.process() == process).for_each(|entry| entry.strand.store(0, Release));
        self.note_due();
    }

    /// Puts the clocks of up to `count` strands forward that have slept on a futex and asked before the call returned that
    /// woke them. Returns their number.
    pub fn answer(&self, word: u64, count: u32, clock: u64) -> u32 {
        let slept = self.waiting().filter(|entry| entry.word.load(Relaxed) == word).take(count as usize);
        let answered = slept.map(|entry| {
            entry.word.store(0, Relaxed);
            entry.clock.fetch_max(clock, Relaxed);
        });
        let answered = answered.count() as u32;
        self.note_due();
        answered
    }

    fn waiting(&self) -> impl Iterator<Item = &WaitingStrand> {
        self.used().iter().filter(|entry| entry.strand() != 0)
    }

    fn used(&self) -> &[WaitingStrand] {
        &self.entries[..(self.used.load(Acquire) as usize).min(WAITING_MAX)]
    }

    /// Notes the lowest clock.
    fn note_due(&self) {
        let lowest = self.waiting().map(WaitingStrand::clock).min();
        self.due.store(lowest.map_or(0, |lowest| lowest + 1), Release);
    }
}
