//! A functional memory with a record of everything that a scheme does on it.

use crate::execution::explained::Explained;
use crate::execution::keep::Everything;
use crate::execution::operation::Operation;
use crate::execution::{Functional, Untimed, UntimedVerbs};
use std::rc::Rc;

/// A functional memory whose verbs record their operations.
pub struct RecordedMemory {
    memory: Functional,
    records: Rc<Everything>,
}

impl RecordedMemory {
    /// Returns this memory, with an empty record.
    pub fn new(memory: Functional) -> RecordedMemory {
        RecordedMemory { memory, records: Rc::default() }
    }

    /// Returns verbs that record their operations.
    pub fn verbs(&self) -> Explained<UntimedVerbs<'_>> {
        Explained::new(self.memory.verbs(), self.records.clone())
    }

    /// Returns the memory. Work on its own verbs is not recorded.
    pub fn memory(&self) -> &Functional {
        &self.memory
    }

    /// Returns and clears all operations so far, in the order of their requests.
    pub fn take_operations(&self) -> Vec<Operation> {
        self.records.take_operations()
    }
}
