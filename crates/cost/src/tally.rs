//! What a machine that drains does, counted as its scheme asks for it.

use crate::closed_form::moved;
use crate::operations::{Moved, Operations};
use crate::profile::Profile;
use crate::scheme::Scheme;
use protection::design::{Parts, Point};
use protection::execution::{Keep, Operation, Piece};
use protection::verbs::{Purpose, Role, Slot};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use units::{LINE_BYTES, Time};

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// What an operation of a scheme adds, where `moved` is what a line of data takes along from its entry of the buffer.
pub fn work(operation: &Operation, moved: Operations) -> Operations {
    let none = Operations::default();
    match operation {
        Operation::Fetch(..) => Operations { fetched_lines: 1, ..none },
        Operation::Store(Role::Data, ..) | Operation::Persist(Role::Data, ..) => moved,
        Operation::Store(..) | Operation::Persist(..) => {
            Operations { moved: Moved { from_controller_bits: LINE_BITS, ..none.moved }, ..none }
        }
        Operation::PersistPart(.., bits) => {
            Operations { moved: Moved { from_controller_bits: (*bits).into(), ..none.moved }, ..none }
        }
        // One pad for a line, however many blocks. The blocks of a tag are the tag's.
        Operation::Pad(_, blocks) if blocks.purpose != Purpose::Tag => Operations { pads: 1, ..none },
        Operation::Mac | Operation::Hash => Operations { hashed_lines: 1, ..none },
        _ => none,
    }
}

/// Counts operations, and keeps nothing else of them.
pub struct Tally {
    moved: Operations,
    /// What lines of data take along by their slots, if they do not all take the same; all others come from the controller.
    origins: RefCell<Option<BTreeMap<Slot, Operations>>>,
    counted: Cell<Operations>,
}

impl Tally {
    /// Nothing so far, where a line of data takes this along from its entry.
    pub fn new(moved: Operations) -> Tally {
        Tally { moved, origins: RefCell::default(), counted: Cell::default() }
    }

    /// Nothing so far, of a design by a profile. A line of durable caches takes the way from the last-level cache, the longest,
    /// whichever cache has it.
    pub fn of(parts: &Parts, profile: &Profile) -> Tally {
        let from_l3 = Moved { from_l3_bits: LINE_BITS, ..Moved::default() };
        Tally::new(match parts.persistence.point {
            Point::Caches => Operations { moved: from_l3, ..Operations::default() },
            Point::Buffer | Point::Controller => moved(Scheme::of(parts.persistence.early), &profile.entry),
        })
    }

    /// Only what is written to these slots comes from the buffer; other lines of data come from the controller.
    pub fn buffers(&self, slots: impl Iterator<Item = Slot>) {
        self.keeps(slots.map(|slot| (slot, self.moved)));
    }

    /// What is written to these slots takes this along; other lines of data come from the controller.
    pub fn keeps(&self, origins: impl Iterator<Item = (Slot, Operations)>) {
        self.origins.replace(Some(origins.collect()));
    }

    /// What a line takes along that is written to this slot.
    fn moved_to(&self, slot: Slot) -> Operations {
        let moved = Moved { from_controller_bits: LINE_BITS, ..Moved::default() };
        let from_controller = Operations { moved, ..Operations::default() };
        let origins = self.origins.borrow();
        origins.as_ref().map_or(self.moved, |origins| *origins.get(&slot).unwrap_or(&from_controller))
    }

    /// What was counted so far.
    pub fn counted(&self) -> Operations {
        self.counted.get()
    }

    /// What was counted; asking forgets it.
    pub fn take(&self) -> Operations {
        self.counted.take()
    }
}

impl Keep for Tally {
    fn operation(&self, operation: impl FnOnce() -> Operation) {
        let operation = operation();
        let moved = match &operation {
            Operation::Store(Role::Data, slot, _) | Operation::Persist(Role::Data, slot, _) => self.moved_to(*slot),
            _ => self.moved,
        };
        self.counted.set(self.counted.get() + work(&operation, moved));
    }

    fn span(&self, _: Time, _: Time, _: impl FnOnce() -> Piece) {}
}
