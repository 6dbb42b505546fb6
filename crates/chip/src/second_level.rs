//! Keeps copies of encryption counters in the L2s of a chip, where copies and data share the entries, and handles
//! displaced lines.
//!
//! The line number of a copy is the number of its slot. This number is above the numbers of all data lines, so copies
//! and data never conflict. The directory does not track copies: the controller notifies all L2s when it changes
//! counters.

use crate::chip::Chip;
use machine::node::{Caches, Request, RequestKind};
use protection::on_chip::SecondLevel;
use protection::verbs::Slot;
use std::rc::{Rc, Weak};

/// Entries of copies in the L2s of a chip.
struct CopyEntries(Weak<Chip>);

impl CopyEntries {
    fn on<R: Default>(&self, core: usize, access: impl FnOnce(&mut Caches) -> R) -> R {
        self.0.upgrade().map_or_else(R::default, |chip| access(chip.cores.nodes()[core].borrow_mut().caches_mut()))
    }
}

impl SecondLevel for CopyEntries {
    fn enter(&self, core: usize, slot: Slot) -> Option<Slot> {
        let Request { line, kind, .. } = self.on(core, |caches| caches.enter_metadata(slot.on_chip()))?;
        self.0.upgrade()?.take_down(line, kind == RequestKind::WriteBack)
    }

    fn touch(&self, core: usize, slot: Slot) {
        let was_there = self.on(core, |caches| caches.l2.use_metadata(slot.on_chip()));
        debug_assert!(was_there, "content and tags agree");
    }

    fn leave(&self, core: usize, slot: Slot) {
        self.on(core, |caches| caches.l2.drop_metadata(slot.on_chip()));
    }

    fn displaced(&self, core: usize) -> Vec<Slot> {
        self.on(core, |caches| caches.l2.metadata.take_displaced()).into_iter().map(Slot::of_metadata).collect()
    }
}

/// Returns the entries of copies in the L2s of a chip.
pub fn places(chip: &Rc<Chip>) -> Box<dyn SecondLevel> {
    Box::new(CopyEntries(Rc::downgrade(chip)))
}

#[cfg(test)]
mod tests;
