//! The two instructions by which an operating system loads and verifies records: LoadNode and HashCheck (Duc and
//! Keryell, ACSAC 2006, section 2.5).
//!
//! ```text
//! LoadNode address, depth, position    the chip has the node ─ a flag
//!                                      else node and sibling from the address ─ the line of this depth
//! HashCheck depth                      the line is empty ─ a flag
//!                                      hash of the line = parent, which the chip has ─ into the Merkle cache, a record also to the chip
//!                                      else the security exception
//! ```
//! The chip holds the root and the verified nodes and records of the Merkle cache; lines in the verification buffer are not
//! verified.

use super::leaf::Leaf;
use super::merkle_cache::VerifiedPair;
use super::node::HashNode;
use super::tree::{PairTree, position};
use super::verification::{HashCheck, LoadNode, Loaded, NodeName, Siblings, VerificationBuffer};
use crate::planted::{PageChunkBug, PlantedBug};
use crate::slot::Slot;
use crate::verbs::{Fault, Verbs};
use sim::lock::Mode;
use std::cell::{Cell, RefCell};

/// The instructions, with the buffer between them.
#[derive(Clone)]
pub(super) struct RecordInstructions {
    buffer: RefCell<VerificationBuffer>,
    /// LoadNodes and HashChecks executed so far.
    executed: Cell<(u64, u64)>,
    planted: PlantedBug,
}

impl RecordInstructions {
    /// Returns a buffer of `lines` lines.
    pub fn new(lines: usize, planted: PlantedBug) -> RecordInstructions {
        let buffer = RefCell::new(VerificationBuffer::new(lines));
        RecordInstructions { buffer, executed: Cell::default(), planted }
    }

    /// Number of lines of the buffer.
    pub fn lines(&self) -> usize {
        self.buffer.borrow().lines()
    }

    /// Number of LoadNodes and HashChecks executed so far.
    pub fn executed(&self) -> (u64, u64) {
        self.executed.get()
    }

    /// Empties the buffer, as for another process.
    pub fn forget(&self) {
        self.buffer.borrow_mut().clear();
    }

    /// LoadNode: loads a node and its sibling from an address, unless the chip has the node.
    pub async fn load_node<V: Verbs>(&self, verbs: &V, tree: &PairTree, address: Slot, name: NodeName) -> LoadNode {
        let (loads, checks) = self.executed();
        self.executed.set((loads + 1, checks));
        // Names are the operating system's own: a number beyond the tree must not reach the tags of the Merkle cache.
        if !tree.has(name) {
            return LoadNode::Nowhere;
        }
        let _shared = verbs.lock(tree.lock(), Mode::Shared).await;
        if tree.vouched().ends_walk(name) {
            return LoadNode::OnChip;
        }
        let Some(siblings) = tree.fetch_siblings(verbs, address, name).await else { return LoadNode::Nowhere };
        let is_in = self.buffer.borrow_mut().put(Loaded { name, address, siblings });
        if is_in { LoadNode::Loaded } else { LoadNode::Nowhere }
    }

    /// HashCheck: compares the line of a depth with its parent, and moves its content to the chip's cache or records.
    ///
    /// # Errors
    /// The security exception: [`Fault::Tree`] with the address of nodes that do not fit, or have no parent on the
    /// chip.
    pub async fn hash_check<V: Verbs>(
        &self,
        verbs: &V,
        tree: &PairTree,
        depth: usize,
    ) -> Result<HashCheck<Leaf>, Fault> {
        let (loads, checks) = self.executed();
        self.executed.set((loads, checks + 1));
        let _shared = verbs.lock(tree.lock(), Mode::Shared).await;
        let Some(loaded) = self.buffer.borrow_mut().take(depth) else {
            let raises = self.planted.has(PageChunkBug::EmptyLineRaises);
            return if raises { Err(Fault::Tree(tree.slot_of(0))) } else { Ok(HashCheck::Empty) };
        };
        let node = tree.node_above(verbs, &loaded).await?;
        let Loaded { name, address, siblings } = loaded;
        let pair = siblings.pair();
        if self.planted.has(PageChunkBug::CachedRecordUnverified) && matches!(pair, VerifiedPair::Records(_)) {
            tree.vouched().enter(name, &pair);
        }
        if !self.is_parent(tree, name, node) {
            return Err(Fault::Tree(address));
        }
        tree.vouched().enter(name, &pair);
        Ok(match pair {
            VerifiedPair::Nodes(_) => HashCheck::Nodes,
            VerifiedPair::Records(leaves) => HashCheck::Record(name.position, leaves[position(name.position, 0)]),
        })
    }

    /// Returns whether the chip vouches for this as the parent of a node.
    fn is_parent(&self, tree: &PairTree, name: NodeName, node: HashNode) -> bool {
        let parent = name.parent();
        let is_in_buffer = || {
            let buffer = self.buffer.borrow();
            let Some(Loaded { siblings: Siblings::Nodes(pair, _), .. }) = buffer.with(parent) else { return false };
            pair.0[position(parent.position, 0)] == node
        };
        let is_any_above = || {
            let ancestors =
                (0..name.depth).map(|depth| NodeName { depth, position: name.position >> (name.depth - depth) });
            ancestors.into_iter().any(|above| tree.vouched().node(above) == Some(node))
        };
        tree.vouched().node(parent) == Some(node)
            || self.planted.has(PageChunkBug::ParentFromBuffer) && is_in_buffer()
            || self.planted.has(PageChunkBug::DepthUnchecked) && is_any_above()
    }
}
