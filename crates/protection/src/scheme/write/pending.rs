//! Writes that memory does not have yet.

use super::Gathering;
use crate::buffer::{BufferEntries, BufferEntry};
use std::cell::RefCell;
use units::LineAddr;

/// Writes that wait at the controller, which are not durable, and writes in the persist buffer, which are durable.
#[derive(Default)]
pub(crate) struct PendingWrites {
    pub gathering: RefCell<Gathering>,
    pub entries: RefCell<BufferEntries>,
}

impl PendingWrites {
    /// The entry of a line as it is now, if it is resident.
    pub fn entry(&self, line: LineAddr) -> Option<BufferEntry> {
        self.entries.borrow().get(line).cloned()
    }

    /// Records a completed step in the entry of a line.
    pub fn note(&self, line: LineAddr, step: impl FnOnce(&mut BufferEntry)) {
        if let Some(entry) = self.entries.borrow_mut().find(line) {
            step(entry);
        }
    }

    /// Returns a copy of the pending writes, between two accesses.
    ///
    /// # Panics
    /// If a write waits at the controller.
    pub fn twin(&self) -> PendingWrites {
        assert!(self.gathering.borrow().is_empty(), "a chip is copied between two accesses");
        PendingWrites { gathering: RefCell::default(), entries: self.entries.clone() }
    }
}
