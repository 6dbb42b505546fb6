//! Content of the private caches, for callers outside the node.

use crate::cache::TagArray;
use crate::node::caches::Caches;
use crate::node::lines::{LineSize, WordAddr};
use units::LineAddr;

impl Caches {
    /// Returns the bytes of a line of the instruction cache.
    pub fn code_line_bytes(&self) -> u64 {
        self.l1i_lines.stored_bytes()
    }

    /// Returns true if any private cache holds `line` or a part of it.
    pub fn holds(&self, line: LineAddr) -> bool {
        let has =
            |tags: &TagArray, lines: LineSize| lines.within(line).any(|word| tags.probe(lines.key(word)).is_some());
        has(&self.l1d.tags, self.l1d_lines) || has(&self.l2, self.l2_lines) || has(&self.l1i.tags, self.l1i_lines)
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
        let in_l1d = self.l1d.tags.dirty_keys().map(|key| self.l1d_lines.first(key));
        in_l1d.chain(self.l2.dirty_keys().map(|key| self.l2_lines.first(key)))
    }
}
