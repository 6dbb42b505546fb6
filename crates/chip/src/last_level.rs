//! Keeps metadata in the chip's last-level cache, where it shares the entries with data, and handles displaced lines.
//!
//! The number of a metadata line is the number of its slot. It is above the numbers of all data lines, so the two kinds
//! never conflict. Inclusion in a last-level cache concerns only data: cores never have metadata.

use crate::chip::Chip;
use crate::{locks, second_level};
use protection::on_chip::LastLevel;
use protection::scheme::Scheme;
use protection::verbs::Slot;
use std::rc::{Rc, Weak};

/// Entries of metadata in a chip's last-level cache.
struct MetadataEntries(Weak<Chip>);

impl LastLevel for MetadataEntries {
    fn take(&self, slot: Slot) -> bool {
        let Some(chip) = self.0.upgrade() else { return false };
        let mut llc = chip.llc.borrow_mut();
        let found = llc.holds(slot.on_chip());
        llc.invalidate(slot.on_chip());
        found
    }

    fn look_up(&self, slot: Slot) -> bool {
        self.0.upgrade().is_some_and(|chip| chip.llc.borrow_mut().look_up(slot.on_chip()))
    }

    fn enter(&self, slot: Slot) -> Option<Slot> {
        // The protection itself knows which metadata memory lacks, so the line is not dirty here.
        self.0.upgrade()?.take_down(slot.on_chip(), false)
    }
}

/// Lets a scheme keep metadata in a chip's last-level cache and copies of counters in its L2s, and lock lines, if its
/// design does so.
pub fn share(chip: &Rc<Chip>, scheme: &Rc<Scheme>) {
    let (last_level, second_level) = (Box::new(MetadataEntries(Rc::downgrade(chip))), second_level::places(chip));
    scheme.on_chip(|metadata| {
        metadata.share(last_level);
        metadata.copies_lie_in(second_level);
    });
    locks::share(chip, scheme);
    chip.serve(scheme);
}
