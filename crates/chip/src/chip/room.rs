//! What enters the last-level cache, and how the line that had to leave for it is seen to.
//!
//! Data that leaves dirty goes to the writers. Metadata is the protection's, which is notified, unless it is just being
//! looked at: then its own call returns it.

use super::Chip;
use machine::llc::{Displaced, Inclusion};
use protection::verbs::Slot;
use units::LineAddr;

impl Chip {
    /// Sees to a line that had to leave the last-level cache, and notifies the protection of its own.
    pub(super) fn make_room(&self, displaced: Option<Displaced>) {
        let metadata = self.see_out(displaced);
        self.tell_of(metadata);
    }

    /// Notifies the protection of a line of metadata that had to leave the last-level cache, if one had to.
    pub(super) fn tell_of(&self, metadata: Option<Slot>) {
        if let Some((slot, scheme)) = metadata.zip(self.scheme.borrow().upgrade()) {
            scheme.on_chip(|chip| chip.caches.displaced(slot));
        }
    }

    /// Sees to a line of data that had to leave the last-level cache: what is dirty goes to the writers. A line of metadata
    /// is the protection's to see to.
    fn see_out(&self, displaced: Option<Displaced>) -> Option<Slot> {
        let Displaced { line, mut dirty } = displaced?;
        if self.is_metadata(line) {
            return Some(Slot::of_metadata(line));
        }
        if self.llc.borrow().inclusion() == Inclusion::Inclusive {
            dirty |= self.cores.recall(line).is_some();
        }
        if dirty && !self.comes_by_buffer(line) {
            self.write_back(line);
        }
        None
    }

    /// What is dirty of a line goes to the writers.
    pub(super) fn write_back(&self, line: LineAddr) {
        self.count(|counters| counters.writebacks += 1);
        self.send_out(line);
    }

    /// A line comes down to the last-level cache. The line of metadata that has to leave, if one has to: of that the
    /// protection cannot be notified while it is looked at.
    pub fn take_down(&self, line: LineAddr, dirty: bool) -> Option<Slot> {
        if !dirty && self.llc.borrow().is_unverified(line) {
            self.count(|counters| counters.clean_writebacks += 1);
        }
        let displaced = self.llc.borrow_mut().taken_back(line, dirty);
        self.see_out(displaced)
    }
}
