//! What the host is asked for when a miss leaves a core's private caches, long before the last-level cache takes it up.

use super::Chip;
use units::LineAddr;

impl Chip {
    /// Asks the host for what a miss of the line takes on the chip.
    pub fn look_ahead(&self, line: LineAddr) {
        self.cores.look_ahead(line);
        self.llc.borrow().look_ahead(line);
        self.shadow.borrow().look_ahead(line);
    }
}
