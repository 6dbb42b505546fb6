//! What an operating system can do to lines that move: bring the records that TLBs miss, by two instructions, and switch processes.
//!
//! The processor's own part is small: it says which page it misses, keeps a record that HashCheck has verified, and repeats the exception
//! while the record is not there.

use super::chunk::chunk_of;
use super::held::ChunkRecords;
use crate::planted::{ChunkBug, Planted};
use crate::record::{HashCheck, LoadNode, NodeName};
use crate::slot::Slot;
use crate::verbs::{Fault, Verbs};
use crypto::SHA1_BYTES;
use std::rc::Rc;
use units::LineAddr;

/// The operating system's side of a memory whose records it brings.
#[derive(Clone, Copy)]
pub struct SystemPort<'a> {
    records: &'a ChunkRecords,
    planted: Planted,
}

impl<'a> SystemPort<'a> {
    pub(super) fn new(records: &'a ChunkRecords, planted: Planted) -> SystemPort<'a> {
        SystemPort { records, planted }
    }

    /// The node of the record of a line's page.
    pub fn name_of(&self, line: LineAddr) -> NodeName {
        self.records.all().name_of(chunk_of(line))
    }

    /// Where a node lies with its sibling.
    pub fn address_of(&self, name: NodeName) -> Slot {
        self.records.all().address_of(name)
    }

    /// Whether the processor goes on with an access to a line: the record of its page is on the chip. Else the exception repeats.
    pub fn has_record(&self, line: LineAddr) -> bool {
        self.records.held(chunk_of(line)).is_some()
    }

    /// LoadNode.
    pub async fn load_node<V: Verbs>(&self, verbs: &V, address: Slot, name: NodeName) -> LoadNode {
        self.records.all().load_node(verbs, address, name).await
    }

    /// HashCheck, during an exception for the page of a line. A record is kept for the page that it is of.
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
                let page = if self.planted.has(ChunkBug::RecordForMissedPage) { chunk_of(missed) } else { chunk };
                self.records.put(page, &Rc::new(record));
                HashCheck::Record(chunk, ())
            }
        })
    }

    /// Brings the record of a line's page as an honest operating system does.
    ///
    /// # Errors
    /// The security exception.
    pub async fn load_page_info<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<(), Fault> {
        let record = self.records.all().load_page_info(verbs, chunk_of(line)).await?;
        self.records.put(chunk_of(line), &Rc::new(record));
        Ok(())
    }

    /// Another process runs: what the chip has of records and nodes goes.
    pub fn switch_process(&self) {
        self.records.empty_for_switch();
    }

    /// The root of the process's tree, for its context.
    pub fn root(&self) -> [u8; SHA1_BYTES] {
        self.records.all().root()
    }

    /// The root that a context has brought back.
    pub fn set_root(&self, root: [u8; SHA1_BYTES]) {
        self.records.all().set_root(root);
    }
}
