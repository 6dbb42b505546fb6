//! Interface of an operating system to permuted lines. At a TLB miss, the operating system loads the record of the page
//! by two instructions. It also switches processes.
//!
//! The processor's part is small: it reports the page that it misses, keeps a record that HashCheck has verified, and
//! repeats the exception until the chip has the record.

use super::held::PageChunkRecords;
use super::page_chunk::chunk_of;
use crate::planted::{PageChunkBug, PlantedBug};
use crate::record::{HashCheck, LoadNode, NodeName};
use crate::slot::Slot;
use crate::verbs::{Fault, Verbs};
use crypto::SHA1_BYTES;
use std::rc::Rc;
use units::LineAddr;

/// The operating system's side of a memory, if it loads the records.
#[derive(Clone, Copy)]
pub struct SystemPort<'a> {
    records: &'a PageChunkRecords,
    planted: PlantedBug,
}

impl<'a> SystemPort<'a> {
    pub(super) fn new(records: &'a PageChunkRecords, planted: PlantedBug) -> SystemPort<'a> {
        SystemPort { records, planted }
    }

    /// Returns the name of the node of the record of a line's page.
    pub fn name_of(&self, line: LineAddr) -> NodeName {
        self.records.all().name_of(chunk_of(line))
    }

    /// Returns the slot of a node and its sibling.
    pub fn address_of(&self, name: NodeName) -> Slot {
        self.records.all().address_of(name)
    }

    /// Returns whether the record of a line's page is on the chip. If so, the processor continues with the access to
    /// the line; otherwise it repeats the exception.
    pub fn has_record(&self, line: LineAddr) -> bool {
        let chunk = chunk_of(line);
        self.records.held(chunk).is_some() || self.records.all().merkle_cache().peek(chunk).is_some()
    }

    /// LoadNode: loads a node and its sibling from an address.
    pub async fn load_node<V: Verbs>(&self, verbs: &V, address: Slot, name: NodeName) -> LoadNode {
        self.records.all().load_node(verbs, address, name).await
    }

    /// HashCheck, during an exception for the page of a line. Keeps a verified record for the page that the record belongs
    /// to.
    ///
    /// # Errors
    /// The security exception: the process is aborted.
    pub async fn hash_check<V: Verbs>(
        &self,
        verbs: &V,
        depth: usize,
        missed: LineAddr,
    ) -> Result<HashCheck<()>, Fault> {
        Ok(match self.records.all().hash_check(verbs, depth).await? {
            HashCheck::Empty => HashCheck::Empty,
            HashCheck::Nodes => HashCheck::Nodes,
            HashCheck::Record(chunk, record) => {
                let page = if self.planted.has(PageChunkBug::RecordForMissedPage) { chunk_of(missed) } else { chunk };
                self.records.put(page, &Rc::new(record));
                HashCheck::Record(chunk, ())
            }
        })
    }

    /// Loads the record of a line's page as an honest operating system does.
    ///
    /// # Errors
    /// The security exception: the process is aborted.
    pub async fn load_page_info<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<(), Fault> {
        let record = self.records.all().load_page_info(verbs, chunk_of(line)).await?;
        self.records.put(chunk_of(line), &Rc::new(record));
        Ok(())
    }

    /// Empties the chip's records and nodes, since another process runs.
    pub fn switch_process(&self) {
        self.records.empty_for_switch();
    }

    /// Returns the root of the process's tree, for its context.
    pub fn root(&self) -> [u8; SHA1_BYTES] {
        self.records.all().root()
    }

    /// Sets the root from a context that was loaded again.
    pub fn set_root(&self, root: [u8; SHA1_BYTES]) {
        self.records.all().set_root(root);
    }
}
