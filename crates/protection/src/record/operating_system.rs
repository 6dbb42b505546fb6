//! Records that an operating system loads: its two instructions, and its steps at a TLB miss if it is honest (Duc and
//! Keryell, ACSAC 2006, section 2.5 and figure 5).
//!
//! ```text
//! TLB miss ─ exception ─ LoadNode from the record up, until the chip has a node ─ HashCheck from there down to the record ─ return
//! ```
//! When the operating system returns, the processor takes the record from HashCheck or from the Merkle cache. If the chip
//! does not have the record, the exception repeats. So a malicious operating system can only refuse service.

use super::leaf::Leaf;
use super::verification::{HashCheck, LoadNode, NodeName};
use super::{OPENING, Record, Records};
use crate::slot::Slot;
use crate::verbs::{AesUnits, Fault, Known, LockName, Verbs};
use crypto::SHA1_BYTES;
use sim::lock::Mode;

impl Records {
    /// Returns the name of the node of a record.
    pub fn name_of(&self, chunk: u64) -> NodeName {
        NodeName { depth: self.tree.depth(), position: chunk }
    }

    /// Returns the slot of a node and its sibling.
    pub fn address_of(&self, name: NodeName) -> Slot {
        self.tree.address_of(name)
    }

    /// LoadNode: loads a node and its sibling from an address into the verification buffer, unless the chip has the node.
    pub async fn load_node<V: Verbs>(&self, verbs: &V, address: Slot, name: NodeName) -> LoadNode {
        self.instructions.load_node(verbs, &self.tree, address, name).await
    }

    /// HashCheck: checks a line of the verification buffer. If the record was never written, returns the one that the chip
    /// derives.
    ///
    /// # Errors
    /// The security exception: [`Fault::Tree`] with the address of nodes that do not fit, or have no parent on the chip.
    pub async fn hash_check<V: Verbs>(&self, verbs: &V, depth: usize) -> Result<HashCheck<Record>, Fault> {
        Ok(match self.instructions.hash_check(verbs, &self.tree, depth).await? {
            HashCheck::Empty => HashCheck::Empty,
            HashCheck::Nodes => HashCheck::Nodes,
            HashCheck::Record(chunk, leaf) => HashCheck::Record(chunk, self.decrypted(verbs, chunk, &leaf).await?),
        })
    }

    async fn decrypted<V: Verbs>(&self, verbs: &V, chunk: u64, leaf: &Leaf) -> Result<Record, Fault> {
        if leaf.is_blank() {
            return Ok(self.first(chunk));
        }
        verbs.await_blocks(verbs.pad(AesUnits::Controller, OPENING, Known::default())).await;
        self.opened(chunk, leaf)
    }

    /// Returns the root on the chip.
    pub fn root(&self) -> [u8; SHA1_BYTES] {
        self.tree.vouched().root()
    }

    /// Sets the root on the chip from now on.
    pub fn set_root(&self, root: [u8; SHA1_BYTES]) {
        self.tree.vouched().set_root(root);
    }

    /// Number of LoadNodes and HashChecks executed so far.
    pub fn executed(&self) -> (u64, u64) {
        self.instructions.executed()
    }

    /// Returns whether the operating system handles TLB misses: the design has a verification buffer.
    pub fn are_brought_by_system(&self) -> bool {
        self.instructions.lines() > 0
    }

    /// Loads the record of a page chunk as an honest operating system does, from one exception to the return that finds
    /// the record.
    ///
    /// # Errors
    /// The security exception, as for [`Records::hash_check`].
    pub async fn load_page_info<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Record, Fault> {
        let _handler = verbs.lock(LockName::Handler, Mode::Exclusive).await;
        loop {
            verbs.handle_exception().await;
            let lowest = self.climb(verbs, chunk).await;
            let checked = self.descend(verbs, lowest).await;
            if let Some(outcome) = checked.transpose() {
                self.tree.vouched().count_walk();
                return outcome;
            }
            if let Some(leaf) = self.tree.vouched().record(chunk) {
                return self.decrypted(verbs, chunk, &leaf).await;
            }
        }
    }

    /// Loads the nodes from a record up, until the chip has one. Returns the depth of the highest node that the chip lacks.
    async fn climb<V: Verbs>(&self, verbs: &V, chunk: u64) -> usize {
        let mut name = self.name_of(chunk);
        while name.depth > 0 && self.load_node(verbs, self.address_of(name), name).await != LoadNode::OnChip {
            name = name.parent();
        }
        name.depth + 1
    }

    /// Checks the loaded nodes from a depth down. Returns the record, unless a permutation has emptied a line meanwhile.
    async fn descend<V: Verbs>(&self, verbs: &V, highest: usize) -> Result<Option<Record>, Fault> {
        for depth in highest..=self.tree.depth() {
            match self.hash_check(verbs, depth).await? {
                HashCheck::Record(_, record) => return Ok(Some(record)),
                HashCheck::Nodes => {}
                HashCheck::Empty => break,
            }
        }
        Ok(None)
    }
}
