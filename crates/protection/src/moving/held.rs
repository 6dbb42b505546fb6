//! The records of chunks that are on the chip, as an extension of TLBs has them: those used last.

use crate::record::Record;
use machine::cache::TagArray;
use std::rc::Rc;

/// Records on the chip, by chunk.
#[derive(Clone)]
pub(super) struct HeldRecords {
    tags: TagArray,
    /// By the position of their tag.
    records: Box<[Option<Rc<Record>>]>,
}

impl HeldRecords {
    /// Room for so many, at least one.
    pub fn new(most: usize) -> HeldRecords {
        let most = most.max(1);
        HeldRecords { tags: TagArray::new(1, most), records: vec![None; most].into() }
    }

    /// The record of a chunk, if it is here; that is a use of it.
    pub fn get(&mut self, chunk: u64) -> Option<Rc<Record>> {
        self.records[self.tags.lookup(chunk)?.index()].clone()
    }

    /// The same; that is no use of it.
    pub fn peek(&self, chunk: u64) -> Option<&Record> {
        self.records[self.tags.probe(chunk)?.index()].as_deref()
    }

    /// The chunk has this record from now on.
    pub fn put(&mut self, chunk: u64, record: &Rc<Record>) {
        let slot = self.tags.lookup(chunk).unwrap_or_else(|| self.tags.insert(chunk, false).0);
        self.records[slot.index()] = Some(Rc::clone(record));
    }

    /// Gives all up.
    pub fn clear(&mut self) {
        *self = HeldRecords::new(self.records.len());
    }
}
