//! Table of all lines of memory: the index of each line in the shadow, and the fingerprint of its last write.
//!
//! One table contains both fields, since most accesses need both and the host's caches fetch adjacent fields together.

use machine::observer::{Fingerprint, Observer, ObserverCounts};
use machine::sparse::Sparse;
use units::{Line, LineAddr};

/// Table entry of one line.
#[derive(Clone, Copy, Default)]
struct KnownLine {
    /// Index in the shadow plus one; zero if the shadow does not keep the line.
    index: u32,
    /// Fingerprint of the content last written to memory, if any.
    went_down: Option<Fingerprint>,
}

/// Entries of all lines, and the observer that checks fills.
pub(super) struct KnownLines {
    lines: Sparse<KnownLine, 128>,
    observer: Observer,
}

impl KnownLines {
    /// Creates the table of a memory of `lines` lines.
    pub fn new(lines: u64) -> KnownLines {
        KnownLines { lines: Sparse::new(lines), observer: Observer::default() }
    }

    /// Prefetches the entry of a line into the host's caches.
    pub fn prefetch_host(&self, line: LineAddr) {
        self.lines.prefetch_host(line.0);
    }

    /// Index of a line in the shadow, if the shadow keeps it.
    #[inline]
    pub fn index(&self, line: LineAddr) -> Option<usize> {
        (self.lines.get(line.0).index as usize).checked_sub(1)
    }

    /// Sets the index of a line in the shadow; `None` if the shadow forgets it.
    pub fn set_index(&mut self, line: LineAddr, index: Option<usize>) {
        self.lines.entry(line.0).index = index.map_or(0, |index| index as u32 + 1);
    }

    /// Notes the content with which a line is written to memory; later fills must return this content.
    pub fn goes_down(&mut self, line: LineAddr, content: &Line) {
        self.lines.entry(line.0).went_down = Some(Fingerprint::of(content));
    }

    /// True if memory has the line.
    #[inline]
    pub fn is_in_memory(&self, line: LineAddr) -> bool {
        self.lines.get(line.0).went_down.is_some()
    }

    /// True if the line was last written with this content; `None` if it was never written.
    pub fn went_down_as(&self, line: LineAddr, content: &Line) -> Option<bool> {
        self.lines.get(line.0).went_down.map(|went_down| went_down == Fingerprint::of(content))
    }

    /// Lets the observer compare a fill with the last write of the line.
    pub fn comes_up(&mut self, line: LineAddr, content: &Line) {
        self.observer.check(self.lines.get(line.0).went_down, content);
    }

    /// Statistics of the observer.
    pub fn observed(&self) -> ObserverCounts {
        self.observer.counts()
    }

    /// Bytes of host memory that the table uses.
    pub fn footprint_bytes(&self) -> u64 {
        self.lines.footprint_bytes()
    }
}
