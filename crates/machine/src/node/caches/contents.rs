//! Content of the private caches, for callers outside the node.

use crate::node::caches::Caches;
use crate::node::lines::WordAddr;
use units::LineAddr;

impl Caches {
    /// Returns true if any private cache holds `line` or a part of it.
    pub fn holds(&self, line: LineAddr) -> bool {
        let caches = [self.l1d.tags(), self.l2.tags(), self.l1i.tags()];
        caches.into_iter().any(|(tags, lines)| lines.within(line).any(|word| tags.probe(lines.key(word)).is_some()))
    }

    /// Returns every dirty line, in the order of addresses.
    pub fn dirty_lines(&self) -> Vec<LineAddr> {
        let mut lines: Vec<LineAddr> = self.dirty_words().map(WordAddr::line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Returns the first word of every dirty line of L1D and L2.
    pub(in crate::node) fn dirty_words(&self) -> impl Iterator<Item = WordAddr> + '_ {
        let caches = [self.l1d.tags(), self.l2.tags()];
        caches.into_iter().flat_map(|(tags, lines)| tags.dirty_keys().map(move |key| lines.first(key)))
    }
}
