//! The records of chunks that are on the chip, as an extension of TLBs has them: those used last.

use crate::record::Record;
use std::rc::Rc;

/// Records on the chip, the one used last at the end.
pub(super) struct HeldRecords {
    most: usize,
    records: Vec<(u64, Rc<Record>)>,
}

impl HeldRecords {
    /// Room for so many, at least one.
    pub fn new(most: usize) -> HeldRecords {
        HeldRecords { most: most.max(1), records: Vec::new() }
    }

    /// The record of a chunk, if it is here; that is a use of it.
    pub fn get(&mut self, chunk: u64) -> Option<Rc<Record>> {
        let place = self.records.iter().position(|(of, _)| *of == chunk)?;
        let held = self.records.remove(place);
        let record = Rc::clone(&held.1);
        self.records.push(held);
        Some(record)
    }

    /// The chunk has this record from now on.
    pub fn put(&mut self, chunk: u64, record: &Rc<Record>) {
        self.records.retain(|(of, _)| *of != chunk);
        self.records.push((chunk, Rc::clone(record)));
        if self.records.len() > self.most {
            self.records.remove(0);
        }
    }

    /// Gives all up.
    pub fn clear(&mut self) {
        self.records.clear();
    }
}
