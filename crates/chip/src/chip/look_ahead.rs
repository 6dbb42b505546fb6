//! Prefetches tables into the host's caches when a miss leaves a core's private caches, long before the last-level
//! cache handles it.

use super::Chip;
use units::LineAddr;

impl Chip {
    /// Prefetches the tables that a miss of the line uses on the chip.
    pub fn look_ahead(&self, line: LineAddr) {
        self.cores.look_ahead(line);
        self.llc.borrow().look_ahead(line);
        self.shadow.borrow().look_ahead(line);
    }
}
