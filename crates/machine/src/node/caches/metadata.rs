//! Lines of metadata in L2: they are no data of the program, and take entries from it.
//!
//! What protects memory may keep copies of its own lines in an L2 (EMCC, MICRO 2022, section IV-C). Each is a clean line like
//! any other under the L2's replacement, whose number lies above all data. So no access of the core finds it, no other core is
//! asked for it, and it is no victim for the last-level cache: when data needs its entry it is dropped, and the
//! protection that put it there learns so when it next asks.

use crate::cache::State;
use crate::node::Node;
use crate::node::caches::Caches;
use crate::node::caches::outstanding::Purpose;
use crate::node::interface::Request;
use crate::node::lines::WordAddr;
use units::LineAddr;

impl Node {
    /// The same node, in whose L2 lines from number `data_lines` on are metadata.
    #[must_use]
    pub fn beside_metadata(mut self, data_lines: u64) -> Node {
        self.core.caches.data_lines = LineAddr(data_lines);
        self
    }

    /// Enters a line of metadata into L2, as its latest use. Data that has to leave for it goes to `out`, as if for data.
    pub fn enter_metadata(&mut self, line: LineAddr, out: &mut Vec<Request>) {
        self.core.caches.enter_metadata(line, out);
    }

    /// Reads a line of metadata in L2; whether it is there.
    pub fn use_metadata(&mut self, line: LineAddr) -> bool {
        let caches = &mut self.core.caches;
        caches.l2.lookup(caches.l2_lines.key(WordAddr::of(line, 0))).is_some()
    }

    /// Drops a line of metadata from L2, if it is there.
    pub fn drop_metadata(&mut self, line: LineAddr) {
        let caches = &mut self.core.caches;
        caches.l2.invalidate(caches.l2_lines.key(WordAddr::of(line, 0)));
    }

    /// Lines of metadata that had to leave L2 since this was last asked, in that order.
    pub fn displaced_metadata(&mut self) -> Vec<LineAddr> {
        std::mem::take(&mut self.core.caches.displaced_metadata)
    }
}

impl Caches {
    fn enter_metadata(&mut self, line: LineAddr, out: &mut Vec<Request>) {
        debug_assert!(line >= self.data_lines, "{line} is data");
        self.fill_l2(WordAddr::of(line, 0), Purpose::Read, State::Shared, self.latest_fill, out);
    }
}
