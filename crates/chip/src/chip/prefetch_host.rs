//! Prefetches tables into the host's caches when a miss leaves a core's private caches, long before the last-level
//! cache handles it.

use super::Chip;
use units::LineAddr;

impl Chip {
    /// Prefetches the tables that a miss of the line uses on the chip.
    pub fn prefetch_host(&self, line: LineAddr) {
        self.cores.prefetch_host(line);
        self.llc.borrow().prefetch_host(line);
        self.shadow.borrow().prefetch_host(line);
    }
}
