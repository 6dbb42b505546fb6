//! Handles lines that fills displace from the last-level cache.
//!
//! Dirty data goes to the writers. Metadata belongs to the protection, which the chip notifies; if the protection is
//! just in a call, the call returns the line instead.

use super::Chip;
use machine::llc::{Displaced, Inclusion};
use protection::verbs::Slot;
use units::LineAddr;

impl Chip {
    /// Handles a line displaced from the last-level cache, and notifies the protection of displaced metadata.
    pub(super) fn make_room(&self, displaced: Option<Displaced>) {
        let metadata = self.see_out(displaced);
        self.tell_of(metadata);
    }

    /// Notifies the protection of displaced metadata, if there is any.
    pub(super) fn tell_of(&self, metadata: Option<Slot>) {
        if let Some((slot, scheme)) = metadata.zip(self.scheme.borrow().upgrade()) {
            scheme.on_chip(|chip| chip.caches.displaced(slot));
        }
    }

    /// Hands dirty data displaced from the last-level cache to the writers, and returns displaced metadata for the
    /// protection.
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

    /// Hands the dirty content of a line to the writers.
    pub(super) fn write_back(&self, line: LineAddr) {
        self.count(|counters| counters.writebacks += 1);
        self.send_out(line);
    }

    /// Takes a line down into the last-level cache and returns displaced metadata, if any: the protection cannot be
    /// notified during its own call.
    pub fn take_down(&self, line: LineAddr, dirty: bool) -> Option<Slot> {
        if !dirty && self.llc.borrow().is_unverified(line) {
            self.count(|counters| counters.clean_writebacks += 1);
        }
        let displaced = self.llc.borrow_mut().taken_back(line, dirty);
        self.see_out(displaced)
    }
}
