//! Metadata lines in L2. They compete with data of the program for the entries of L2.
//!
//! A protection engine may keep copies of its metadata lines in an L2 (EMCC, MICRO 2022, section IV-C). Each copy is an
//! ordinary clean line under the replacement policy of L2, with a line number above all lines of data. So accesses of
//! the core never hit the copy, coherence never probes other cores for it, and L2 does not send it to the last-level
//! cache as a victim. When a line of data needs the entry, L2 drops the copy and reports the eviction at the next call
//! of [`MetadataLines::take_displaced`].

use crate::cache::MesiState;
use crate::node::caches::Caches;
use crate::node::caches::outstanding::FillReason;
use crate::node::interface::Request;
use crate::node::lines::WordAddr;
use units::LineAddr;

/// Numbers of the metadata lines, and the metadata lines that L2 has evicted.
#[derive(Clone, Debug)]
pub struct MetadataLines {
    /// Number of the first metadata line. L2 may hold metadata lines, L1 may not.
    first: LineAddr,
    /// Metadata lines that L2 evicted since the protection engine last read this list.
    displaced: Vec<LineAddr>,
}

impl MetadataLines {
    /// Creates the state of an L2 without metadata lines.
    pub(super) fn new() -> MetadataLines {
        MetadataLines { first: LineAddr(u64::MAX), displaced: Vec::new() }
    }

    /// Declares the lines from number `first` on to be metadata.
    pub fn begin_at(&mut self, first: LineAddr) {
        self.first = first;
    }

    /// Returns the metadata lines that L2 evicted since the last call, in the order of eviction.
    pub fn take_displaced(&mut self) -> Vec<LineAddr> {
        std::mem::take(&mut self.displaced)
    }

    /// Returns true if a line is metadata.
    #[inline]
    pub(super) fn contain(&self, line: LineAddr) -> bool {
        line >= self.first
    }

    /// Notes that L2 evicted a metadata line.
    pub(super) fn displace(&mut self, line: LineAddr) {
        self.displaced.push(line);
    }
}

impl Caches {
    /// Enters a metadata line into L2 as the most recently used line. If L2 evicts a line of data for it, returns the
    /// request that the eviction causes in a fill of data, if any.
    pub fn enter_metadata(&mut self, line: LineAddr) -> Option<Request> {
        debug_assert!(self.l2.metadata.contain(line), "{line} is data");
        debug_assert!(self.outgoing.is_empty(), "a step of the node left requests behind");
        let cycle = self.outgoing.latest_answer();
        self.l2.fill(WordAddr::of(line, 0), FillReason::Read, MesiState::Shared, cycle, &mut self.outgoing);
        self.outgoing.take_last()
    }
}
