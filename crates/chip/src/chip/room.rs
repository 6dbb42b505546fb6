//! Handles lines that fills displace from the last-level cache.
//!
//! The chip passes dirty lines of data to the writers. Metadata lines belong to the protection, so the chip notifies
//! the protection. If the protection itself calls and its call displaces a metadata line, the call returns this line
//! instead.

use super::Chip;
use machine::llc::Displaced;
use protection::verbs::Slot;
use units::LineAddr;

impl Chip {
    /// Handles a line displaced from the last-level cache, and notifies the protection of displaced metadata.
    pub(super) fn make_room(&self, displaced: Option<Displaced>) {
        let metadata = self.see_out(displaced);
        self.scheme.displaced(metadata);
    }

    /// Passes a dirty line of data that was displaced from the last-level cache to the writers, unless the line reaches
    /// memory through a persist buffer. Returns displaced metadata for the protection.
    fn see_out(&self, displaced: Option<Displaced>) -> Option<Slot> {
        let Displaced { line, mut dirty } = displaced?;
        if self.llc.is_metadata(line) {
            return Some(Slot::of_metadata(line));
        }
        if self.llc.is_inclusive() {
            dirty |= self.cores.recall(line).is_some();
        }
        if dirty && !self.buffers.receive_stores_to(line, &self.shadow) {
            self.write_back(line);
        }
        None
    }

    /// Passes the dirty content of a line to the writers.
    pub fn write_back(&self, line: LineAddr) {
        self.llc.count(|counts| counts.writebacks += 1);
        self.send_out(line);
    }

    /// Enters a line from an L2 into the last-level cache and returns displaced metadata, if any. This function does
    /// not notify the protection, because its caller may be the protection.
    pub fn take_down(&self, line: LineAddr, dirty: bool) -> Option<Slot> {
        let displaced = self.llc.taken_back(line, dirty);
        self.see_out(displaced)
    }
}
