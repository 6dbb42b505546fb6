//! The records of chunks that are on the chip: those of pages that TLBs have translations of, and a small buffer for others, such as
//! of a chunk that is permuted when its page has left the TLBs. Records that are not there are brought by walks.

use crate::planted::{ChunkBug, Planted};
use crate::record::{Record, Records};
use crate::verbs::{Fault, Verbs};
use machine::cache::TagArray;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The buffer: the records that were used last.
#[derive(Clone)]
struct RecordBuffer {
    tags: TagArray,
    /// By the position of their tag.
    records: Box<[Option<Rc<Record>>]>,
}

impl RecordBuffer {
    /// Room for so many, at least one.
    fn new(most: usize) -> RecordBuffer {
        let most = most.max(1);
        RecordBuffer { tags: TagArray::new(1, most), records: vec![None; most].into() }
    }

    fn used(&mut self, chunk: u64) -> Option<Rc<Record>> {
        self.records[self.tags.lookup(chunk)?.index()].clone()
    }

    fn held(&self, chunk: u64) -> Option<Rc<Record>> {
        self.records[self.tags.probe(chunk)?.index()].clone()
    }

    fn remove(&mut self, chunk: u64) {
        self.tags.invalidate(chunk);
    }

    fn put(&mut self, chunk: u64, record: &Rc<Record>) {
        let slot = self.tags.lookup(chunk).unwrap_or_else(|| self.tags.insert(chunk, false).0);
        self.records[slot.index()] = Some(Rc::clone(record));
    }
}

/// The record of a chunk that TLBs have translations of.
#[derive(Clone)]
struct TranslatedRecord {
    record: Rc<Record>,
    /// So many pages.
    pages: usize,
}

/// All records, and which of them the chip has.
pub(super) struct ChunkRecords {
    all: Records,
    translated: RefCell<FxHashMap<u64, TranslatedRecord>>,
    buffer: RefCell<RecordBuffer>,
    brought: Cell<u64>,
    planted: Planted,
}

impl ChunkRecords {
    /// None is on the chip, whose buffer has room for so many.
    pub fn new(all: Records, most: usize, planted: Planted) -> ChunkRecords {
        ChunkRecords {
            all,
            translated: RefCell::default(),
            buffer: RefCell::new(RecordBuffer::new(most)),
            brought: Cell::new(0),
            planted,
        }
    }

    /// The same once more, between two accesses.
    pub fn twin(&self) -> ChunkRecords {
        ChunkRecords {
            all: self.all.twin(),
            translated: self.translated.clone(),
            buffer: self.buffer.clone(),
            brought: self.brought.clone(),
            planted: self.planted,
        }
    }

    /// All of them, in memory.
    pub fn all(&self) -> &Records {
        &self.all
    }

    /// The record of a chunk, from the chip or by a walk into the buffer.
    ///
    /// # Errors
    /// As of [`Records::bring`].
    pub async fn get<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        if let Some(record) = self.used(chunk) {
            return Ok(record);
        }
        let record = self.walk(verbs, chunk).await?;
        self.put(chunk, &record);
        Ok(record)
    }

    /// The record of a chunk is on the chip for one page more that a TLB has.
    ///
    /// # Errors
    /// As of [`Records::bring`].
    pub async fn acquire<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<(), Fault> {
        let record = match self.used(chunk) {
            Some(record) => record,
            None => self.walk_for_tlb(verbs, chunk).await?,
        };
        // What changes later changes in one place.
        if !self.planted.has(ChunkBug::BufferKeepsTranslated) {
            self.buffer.borrow_mut().remove(chunk);
        }
        let mut translated = self.translated.borrow_mut();
        translated.entry(chunk).or_insert(TranslatedRecord { record, pages: 0 }).pages += 1;
        Ok(())
    }

    /// A TLB has given up a page of a chunk.
    pub fn release(&self, chunk: u64) {
        let mut translated = self.translated.borrow_mut();
        let Some(of_chunk) = translated.get_mut(&chunk) else { return };
        of_chunk.pages -= 1;
        if of_chunk.pages == 0 {
            translated.remove(&chunk);
        }
    }

    async fn walk<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        self.brought.set(self.brought.get() + 1);
        let brought = self.all.bring(verbs, chunk).await?;
        Ok(Rc::new(brought.unwrap_or_else(|| self.all.first(chunk))))
    }

    /// The record of a chunk that a TLB misses: the operating system brings it, if the design leaves that to it.
    async fn walk_for_tlb<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        if !self.all.are_brought_by_system() {
            return self.walk(verbs, chunk).await;
        }
        self.brought.set(self.brought.get() + 1);
        self.all.load_page_info(verbs, chunk).await.map(Rc::new)
    }

    /// How many were brought by walks.
    pub fn brought(&self) -> u64 {
        self.brought.get()
    }

    fn used(&self, chunk: u64) -> Option<Rc<Record>> {
        self.translated(chunk).or_else(|| self.buffer.borrow_mut().used(chunk))
    }

    fn translated(&self, chunk: u64) -> Option<Rc<Record>> {
        self.translated.borrow().get(&chunk).map(|translated| translated.record.clone())
    }

    /// The record of a chunk, if the chip has it; that is no use of it.
    pub fn held(&self, chunk: u64) -> Option<Rc<Record>> {
        self.translated(chunk).or_else(|| self.buffer.borrow().held(chunk))
    }

    /// The chunk has this record from now on.
    pub fn put(&self, chunk: u64, record: &Rc<Record>) {
        match self.translated.borrow_mut().get_mut(&chunk) {
            Some(translated) => translated.record = Rc::clone(record),
            None => self.buffer.borrow_mut().put(chunk, record),
        }
    }

    /// The chip gives up the records and the nodes of a process, since another one runs.
    pub fn empty_for_switch(&self) {
        if !self.planted.has(ChunkBug::SwitchKeepsRecords) {
            self.give_up_held();
        }
        self.all.forget_nodes();
    }

    /// The chip gives up those that it has.
    pub fn give_up_held(&self) {
        self.translated.borrow_mut().clear();
        let most = self.buffer.borrow().records.len();
        self.buffer.replace(RecordBuffer::new(most));
    }
}
