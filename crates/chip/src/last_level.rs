//! Keeps metadata in the chip's last-level cache, where metadata and data share the entries, and handles displaced
//! lines.
//!
//! The number of a metadata line is the number of its slot. This number is above the numbers of all data lines, so
//! metadata and data never conflict. Inclusion in a last-level cache concerns only data: cores never have metadata.

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
        let found = chip.llc.holds(slot.on_chip());
        chip.llc.invalidate(slot.on_chip());
        found
    }

    fn look_up(&self, slot: Slot) -> bool {
        self.0.upgrade().is_some_and(|chip| chip.llc.look_up(slot.on_chip()))
    }

    fn enter(&self, slot: Slot) -> Option<Slot> {
        // The protection itself tracks the metadata that memory lacks, so the line is not marked dirty in the
        // last-level cache.
        self.0.upgrade()?.take_down(slot.on_chip(), false)
    }
}

/// Connects a scheme to the caches of a chip. If the design does so, the scheme keeps metadata in the last-level cache,
/// keeps copies of counters in the L2s, or locks lines.
pub fn share(chip: &Rc<Chip>, scheme: &Rc<Scheme>) {
    if let Some(scheme) = scheme.fixed() {
        let (last_level, second_level) = (Box::new(MetadataEntries(Rc::downgrade(chip))), second_level::places(chip));
        scheme.on_chip(|metadata| {
            metadata.share(last_level);
            metadata.copies_lie_in(second_level);
        });
    }
    locks::share(chip, scheme);
    chip.scheme.serve(scheme);
}
