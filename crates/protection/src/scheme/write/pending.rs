//! Writes that memory does not have yet.

use super::Gathering;
use crate::buffer::{BufferEntries, BufferEntry};
use std::cell::RefCell;
use units::LineAddr;

/// Those at the controller, which are not durable, and those in the persist buffer, which are.
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

    /// Notes in the entry of a line that a step is done.
    pub fn note(&self, line: LineAddr, step: impl FnOnce(&mut BufferEntry)) {
        if let Some(entry) = self.entries.borrow_mut().find(line) {
            step(entry);
        }
    }

    /// The same once more, between two accesses.
    ///
    /// # Panics
    /// If a write waits at the controller.
    pub fn twin(&self) -> PendingWrites {
        assert!(self.gathering.borrow().is_empty(), "a chip is copied between two accesses");
        PendingWrites { gathering: RefCell::default(), entries: self.entries.clone() }
    }
}
