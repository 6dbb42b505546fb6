//! Metadata lines in L2. They compete with data of the program for the entries of L2.
//!
//! A protection engine may keep copies of its metadata lines in an L2 (EMCC, MICRO 2022, section IV-C). Each copy is an
//! ordinary clean line under the replacement policy of L2, with a line number above all lines of data. So accesses of
//! the core never hit the copy, coherence never probes other cores for it, and L2 does not send it to the last-level
//! cache as a victim. When a line of data needs the entry, L2 drops the copy and reports the eviction at the next call
//! of [`Node::displaced_metadata`].

use crate::cache::MesiState;
use crate::node::Node;
use crate::node::caches::Caches;
use crate::node::caches::outstanding::FillReason;
use crate::node::interface::Request;
use crate::node::lines::WordAddr;
use units::LineAddr;

impl Node {
    /// Returns the node with an L2 in which lines from number `data_lines` on are metadata.
    #[must_use]
    pub fn with_metadata(mut self, data_lines: u64) -> Node {
        self.core.caches.data_lines = LineAddr(data_lines);
        self
    }

    /// Enters a metadata line into L2 as the most recently used line. If L2 evicts a line of data for it, the
    /// eviction is appended to `out`, as in a fill of data.
    pub fn enter_metadata(&mut self, line: LineAddr, out: &mut Vec<Request>) {
        self.core.caches.enter_metadata(line, out);
    }

    /// Looks up a metadata line in L2, as a use of the line; returns true if L2 holds it.
    pub fn use_metadata(&mut self, line: LineAddr) -> bool {
        let caches = &mut self.core.caches;
        caches.l2.lookup(caches.l2_lines.key(WordAddr::of(line, 0))).is_some()
    }

    /// Drops a metadata line from L2, if L2 holds it.
    pub fn drop_metadata(&mut self, line: LineAddr) {
        let caches = &mut self.core.caches;
        caches.l2.invalidate(caches.l2_lines.key(WordAddr::of(line, 0)));
    }

    /// Returns the metadata lines that L2 evicted since the last call, in the order of eviction.
    pub fn displaced_metadata(&mut self) -> Vec<LineAddr> {
        std::mem::take(&mut self.core.caches.displaced_metadata)
    }
}

impl Caches {
    fn enter_metadata(&mut self, line: LineAddr, out: &mut Vec<Request>) {
        debug_assert!(line >= self.data_lines, "{line} is data");
        self.fill_l2(WordAddr::of(line, 0), FillReason::Read, MesiState::Shared, self.latest_fill, out);
    }
}
