//! Counts the operations that a scheme issues during a drain.

use crate::closed_form::moved;
use crate::operations::{DrainTraffic, Operations};
use crate::profile::Profile;
use crate::scheme::SecPbScheme;
use protection::design::{Parts, Point};
use protection::execution::{Keep, Operation, UnitSpan};
use protection::verbs::{Purpose, Role, Slot};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use units::{LINE_BYTES, Time};

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// The counts that an operation of a scheme adds; `moved` is the transfer of a line of data from its entry of the
/// buffer.
pub fn work(operation: &Operation, moved: Operations) -> Operations {
    let none = Operations::default();
    match operation {
        Operation::Fetch(..) => Operations { fetched_lines: 1, ..none },
        Operation::Store(Role::Data, ..) | Operation::Persist(Role::Data, ..) => moved,
        Operation::Store(..) | Operation::Persist(..) => {
            Operations { moved: DrainTraffic { from_controller_bits: LINE_BITS, ..none.moved }, ..none }
        }
        Operation::PersistPart(.., bits) => {
            Operations { moved: DrainTraffic { from_controller_bits: (*bits).into(), ..none.moved }, ..none }
        }
        // A line is charged one pad for any number of blocks. The charge for a tag includes its blocks.
        Operation::Pad(_, blocks) if blocks.purpose != Purpose::Tag => Operations { pads: 1, ..none },
        Operation::Mac | Operation::Hash => Operations { hashed_lines: 1, ..none },
        _ => none,
    }
}

/// Counts operations, and keeps no other information about them.
pub struct OperationTally {
    moved: Operations,
    /// Transfer of lines of data by their slots, if it is not the same for all lines; the controller supplies lines in
    /// other slots.
    origins: RefCell<Option<BTreeMap<Slot, Operations>>>,
    counted: Cell<Operations>,
}

impl OperationTally {
    /// A tally at zero; `moved` is the transfer of a line of data from its entry.
    pub fn new(moved: Operations) -> OperationTally {
        OperationTally { moved, origins: RefCell::default(), counted: Cell::default() }
    }

    /// A tally at zero for a design and a profile. It charges each line of durable caches for the longest transfer,
    /// from the last-level cache.
    pub fn of(parts: &Parts, profile: &Profile) -> OperationTally {
        let from_l3 = DrainTraffic { from_l3_bits: LINE_BITS, ..DrainTraffic::default() };
        OperationTally::new(match parts.persistence.point {
            Point::Caches => Operations { moved: from_l3, ..Operations::default() },
            Point::Buffer | Point::Controller => moved(SecPbScheme::of(parts.persistence.early), &profile.entry),
        })
    }

    /// Limits the charge for the buffer to writes of these slots; the controller supplies other lines of data.
    pub fn buffers(&self, slots: impl Iterator<Item = Slot>) {
        self.keeps(slots.map(|slot| (slot, self.moved)));
    }

    /// Sets the transfer for writes of these slots; the controller supplies other lines of data.
    pub fn keeps(&self, origins: impl Iterator<Item = (Slot, Operations)>) {
        self.origins.replace(Some(origins.collect()));
    }

    /// The transfer of a line that is written to this slot.
    fn moved_to(&self, slot: Slot) -> Operations {
        let moved = DrainTraffic { from_controller_bits: LINE_BITS, ..DrainTraffic::default() };
        let from_controller = Operations { moved, ..Operations::default() };
        let origins = self.origins.borrow();
        origins.as_ref().map_or(self.moved, |origins| *origins.get(&slot).unwrap_or(&from_controller))
    }

    /// The counts so far.
    pub fn counted(&self) -> Operations {
        self.counted.get()
    }

    /// Returns the counts, and resets them.
    pub fn take(&self) -> Operations {
        self.counted.take()
    }
}

impl Keep for OperationTally {
    fn operation(&self, operation: &dyn Fn() -> Operation) {
        let operation = operation();
        let moved = match &operation {
            Operation::Store(Role::Data, slot, _) | Operation::Persist(Role::Data, slot, _) => self.moved_to(*slot),
            _ => self.moved,
        };
        self.counted.set(self.counted.get() + work(&operation, moved));
    }

    fn span(&self, _: Time, _: Time, _: &dyn Fn() -> UnitSpan) {}
}
