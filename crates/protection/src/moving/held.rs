//! The records of page chunks on the chip: the records of pages in TLBs, and a small buffer of other records. An
//! example of the latter is the record of a page chunk that is permuted after its page has left the TLBs. Walks fetch
//! records that the chip does not have.

use super::counted::WalkCounts;
use crate::planted::{PageChunkBug, PlantedBug};
use crate::record::{Record, Records};
use crate::verbs::{Fault, Verbs};
use machine::cache::TagArray;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// The buffer: the most recently used records.
#[derive(Clone)]
struct RecordBuffer {
    tags: TagArray,
    /// Records by the position of their tag.
    records: Box<[Option<Rc<Record>>]>,
}

impl RecordBuffer {
    /// Returns a buffer with room for `most` records, at least one.
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

/// The record of a page chunk with pages in TLBs.
#[derive(Clone)]
struct TranslatedRecord {
    record: Rc<Record>,
    /// Number of its pages in TLBs.
    pages: usize,
}

/// All records in memory, and the records on the chip.
pub(super) struct PageChunkRecords {
    all: Records,
    translated: RefCell<FxHashMap<u64, TranslatedRecord>>,
    buffer: RefCell<RecordBuffer>,
    planted: PlantedBug,
}

impl PageChunkRecords {
    /// Returns a chip without records, with a buffer for `most` of them.
    pub fn new(all: Records, most: usize, planted: PlantedBug) -> PageChunkRecords {
        PageChunkRecords { all, translated: RefCell::default(), buffer: RefCell::new(RecordBuffer::new(most)), planted }
    }

    /// Returns a copy of the records, between two accesses.
    pub fn twin(&self) -> PageChunkRecords {
        PageChunkRecords {
            all: self.all.twin(),
            translated: self.translated.clone(),
            buffer: self.buffer.clone(),
            planted: self.planted,
        }
    }

    /// Returns all records, in memory.
    pub fn all(&self) -> &Records {
        &self.all
    }

    /// Returns the record of a page chunk, from the chip or by a walk into the buffer.
    ///
    /// # Errors
    /// Same errors as [`Records::bring`].
    pub async fn get<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        if let Some(record) = self.used(chunk) {
            return Ok(record);
        }
        let record = self.walk(verbs, chunk).await?;
        self.put(chunk, &record);
        Ok(record)
    }

    /// Keeps the record of a page chunk on the chip for one more page in a TLB.
    ///
    /// # Errors
    /// Same errors as [`Records::bring`].
    pub async fn acquire<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<(), Fault> {
        let record = match self.used(chunk) {
            Some(record) => record,
            None => self.walk_for_tlb(verbs, chunk).await?,
        };
        // The chip keeps one copy of a record, so that a later change needs one update.
        if !self.planted.has(PageChunkBug::BufferKeepsTranslated) {
            self.buffer.borrow_mut().remove(chunk);
        }
        let mut translated = self.translated.borrow_mut();
        translated.entry(chunk).or_insert(TranslatedRecord { record, pages: 0 }).pages += 1;
        Ok(())
    }

    /// Notes that a TLB has given up a page of a page chunk.
    pub fn release(&self, chunk: u64) {
        let mut translated = self.translated.borrow_mut();
        let Some(of_chunk) = translated.get_mut(&chunk) else { return };
        of_chunk.pages -= 1;
        if of_chunk.pages == 0 {
            translated.remove(&chunk);
        }
    }

    async fn walk<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        let brought = self.all.bring(verbs, chunk).await?;
        Ok(Rc::new(brought.unwrap_or_else(|| self.all.first(chunk))))
    }

    /// Fetches the record of a page chunk that a TLB misses. The operating system loads it, if the design requires
    /// that.
    async fn walk_for_tlb<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Rc<Record>, Fault> {
        if !self.all.are_brought_by_system() {
            return self.walk(verbs, chunk).await;
        }
        self.all.load_page_info(verbs, chunk).await.map(Rc::new)
    }

    /// Numbers of records that were fetched by walks, and of walks that the Merkle cache made unnecessary or shorter.
    pub fn walks(&self) -> WalkCounts {
        let cache = self.all.merkle_cache();
        WalkCounts { records: cache.walks(), hits: cache.hits() }
    }

    /// Numbers of records of pages in TLBs, and of entries of the Merkle cache.
    pub fn numbers(&self) -> (usize, usize) {
        (self.translated.borrow().len(), self.all.merkle_cache().used_entries())
    }

    fn used(&self, chunk: u64) -> Option<Rc<Record>> {
        self.translated(chunk).or_else(|| self.buffer.borrow_mut().used(chunk))
    }

    fn translated(&self, chunk: u64) -> Option<Rc<Record>> {
        self.translated.borrow().get(&chunk).map(|translated| translated.record.clone())
    }

    /// Returns the record of a page chunk, if the chip has it. Does not update replacement state.
    pub fn held(&self, chunk: u64) -> Option<Rc<Record>> {
        self.translated(chunk).or_else(|| self.buffer.borrow().held(chunk))
    }

    /// Sets the record that the chip has of a page chunk from now on.
    pub fn put(&self, chunk: u64, record: &Rc<Record>) {
        match self.translated.borrow_mut().get_mut(&chunk) {
            Some(translated) => translated.record = Rc::clone(record),
            None => self.buffer.borrow_mut().put(chunk, record),
        }
    }

    /// Drops the records and the nodes of a process from the chip, since another process runs.
    pub fn empty_for_switch(&self) {
        if !self.planted.has(PageChunkBug::SwitchKeepsRecords) {
            self.give_up_held();
        }
        self.all.forget_nodes();
    }

    /// Drops all records from the chip, those in the Merkle cache included.
    pub fn give_up_held(&self) {
        self.all.merkle_cache().drop_all();
        self.translated.borrow_mut().clear();
        let most = self.buffer.borrow().records.len();
        self.buffer.replace(RecordBuffer::new(most));
    }
}
