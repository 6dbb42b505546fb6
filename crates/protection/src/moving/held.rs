//! The records of chunks that are on the chip, as an extension of TLBs has them: those used last. Others are brought by walks.

use crate::record::{Record, Records};
use crate::verbs::{Fault, Verbs};
use machine::cache::TagArray;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Records on the chip, by chunk.
#[derive(Clone)]
struct HeldRecords {
    tags: TagArray,
    /// By the position of their tag.
    records: Box<[Option<Rc<Record>>]>,
}

impl HeldRecords {
    /// Room for so many, at least one.
    fn new(most: usize) -> HeldRecords {
        let most = most.max(1);
        HeldRecords { tags: TagArray::new(1, most), records: vec![None; most].into() }
    }
}

/// All records, and which of them the chip has.
pub(super) struct ChunkRecords {
    all: Records,
    held: RefCell<HeldRecords>,
    brought: Cell<u64>,
}

impl ChunkRecords {
    /// None is on the chip, which has room for so many.
    pub fn new(all: Records, most: usize) -> ChunkRecords {
        ChunkRecords { all, held: RefCell::new(HeldRecords::new(most)), brought: Cell::new(0) }
    }

    /// The same once more, between two accesses.
    pub fn twin(&self) -> ChunkRecords {
        ChunkRecords { all: self.all.twin(), held: self.held.clone(), brought: self.brought.clone() }
    }

    /// All of them, in memory.
    pub fn all(&self) -> &Records {
        &self.all
    }

    /// The record of a chunk, from the chip or by a walk.
    ///
    /// # Errors
    /// As of [`Records::bring`].
    pub async fn get<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        if let Some(record) = self.used(chunk) {
            return Ok(record);
        }
        self.brought.set(self.brought.get() + 1);
        let brought = self.all.bring(verbs, chunk).await?;
        let record = Rc::new(brought.unwrap_or_else(|| self.all.first(chunk)));
        self.put(chunk, &record);
        Ok(record)
    }

    /// How many were brought by walks.
    pub fn brought(&self) -> u64 {
        self.brought.get()
    }

    fn used(&self, chunk: u64) -> Option<Rc<Record>> {
        let HeldRecords { tags, records } = &mut *self.held.borrow_mut();
        records[tags.lookup(chunk)?.index()].clone()
    }

    /// The record of a chunk, if the chip has it; that is no use of it.
    pub fn held(&self, chunk: u64) -> Option<Rc<Record>> {
        let held = self.held.borrow();
        held.records[held.tags.probe(chunk)?.index()].clone()
    }

    /// The chunk has this record from now on.
    pub fn put(&self, chunk: u64, record: &Rc<Record>) {
        let HeldRecords { tags, records } = &mut *self.held.borrow_mut();
        let slot = tags.lookup(chunk).unwrap_or_else(|| tags.insert(chunk, false).0);
        records[slot.index()] = Some(Rc::clone(record));
    }

    /// The chip gives up those that it has.
    pub fn give_up_held(&self) {
        let most = self.held.borrow().records.len();
        self.held.replace(HeldRecords::new(most));
    }
}
