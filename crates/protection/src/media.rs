//! The memory chips: bytes in slots, within an attacker's reach. A slot that nothing was ever written to is blank.

use crate::verbs::{Slot, Untrusted};
use machine::sparse::{Cells, Sparse};
use units::Line;

/// The content of a whole memory.
pub struct Media(Sparse<Cells>);

impl Media {
    /// A blank memory of this many slots.
    pub fn new(slots: u64) -> Media {
        Media(Sparse::new(slots))
    }

    /// What a slot holds.
    pub fn read(&self, slot: Slot) -> Untrusted {
        Untrusted(self.0.get(slot.0).map(|cells| cells.0))
    }

    /// Puts bytes into a slot.
    pub fn write(&mut self, slot: Slot, content: &Line) {
        self.0.entry(slot.0).0 = *content;
    }

    /// Puts into a slot what another held; a blank stays blank.
    pub fn store(&mut self, slot: Slot, content: Untrusted) {
        if let Untrusted(Some(bytes)) = content {
            self.write(slot, &bytes);
        }
    }

    /// Whether nothing was ever written to a slot.
    pub fn is_blank(&self, slot: Slot) -> bool {
        !self.0.holds(slot.0)
    }

    /// All slots that were written to, in order.
    pub fn written_slots(&self) -> impl Iterator<Item = (Slot, &Line)> + '_ {
        self.0.iter().map(|(slot, cells)| (Slot(slot), &cells.0))
    }

    /// Bytes of this process that the content takes.
    pub fn footprint_bytes(&self) -> u64 {
        self.0.footprint_bytes()
    }
}
