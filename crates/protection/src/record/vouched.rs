//! The verified nodes on the chip: the root, and the nodes in the Merkle cache.

use super::merkle_cache::{MerkleCache, MerkleCacheDesign};
use super::node::{BLANK_NODE, HashNode, Pair};
use super::verification::NodeName;
use std::cell::{Cell, RefCell};

/// Nodes on the chip, all of them verified.
#[derive(Clone)]
pub(super) struct VouchedNodes {
    root: Cell<HashNode>,
    cache: RefCell<MerkleCache>,
    /// Number of levels of pairs below the root.
    levels: usize,
    /// True if hardware walks put nodes into the Merkle cache. If an operating system walks the tree, hardware walks do
    /// not: they could evict the parent that the next HashCheck needs.
    hardware_enters: bool,
}

impl VouchedNodes {
    /// Returns the root of records that were never written, above `levels` levels of pairs.
    pub fn new(design: MerkleCacheDesign, levels: usize, hardware_enters: bool) -> VouchedNodes {
        let cache = RefCell::new(MerkleCache::new(design));
        VouchedNodes { root: Cell::new(BLANK_NODE), cache, levels, hardware_enters }
    }

    /// Returns the root of the tree.
    pub fn root(&self) -> HashNode {
        self.root.get()
    }

    /// Sets the root from now on.
    pub fn set_root(&self, root: HashNode) {
        self.root.set(root);
    }

    /// Empties the Merkle cache.
    pub fn forget(&self) {
        self.cache.borrow_mut().clear();
    }

    /// Returns the level of the pairs of a depth, from the lowest up.
    pub fn level_of(&self, depth: usize) -> usize {
        self.levels - depth
    }

    /// Returns a node, if the chip has it; it has no records.
    pub fn node(&self, name: NodeName) -> Option<HashNode> {
        match name.depth {
            0 => Some(self.root()),
            depth if depth <= self.levels => self.cache.borrow_mut().node(self.level_of(depth), name.position),
            _ => None,
        }
    }

    /// Adds a pair that HashCheck has verified to the cache.
    pub fn enter(&self, name: NodeName, pair: Pair) {
        self.cache.borrow_mut().put(self.level_of(name.depth), name.position, pair);
    }

    /// Level of the lowest node above a record that the cache has, else that of the root. Does not update replacement state.
    pub fn lowest(&self, record: u64) -> usize {
        let cache = self.cache.borrow();
        (0..self.levels).find(|level| cache.has(*level, node_above(record, *level))).unwrap_or(self.levels)
    }

    /// Returns the level of the lowest node above a record that the chip has, and the node: the root if the cache has no
    /// node above.
    pub fn nearest(&self, record: u64) -> (usize, HashNode) {
        let mut cache = self.cache.borrow_mut();
        let mut found = (0..self.levels).map(|level| (level, cache.node(level, node_above(record, level))));
        let found = found.find_map(|(level, node)| node.map(|node| (level, node)));
        found.unwrap_or((self.levels, self.root()))
    }

    /// Returns the pairs above a record that the cache has, from the lowest up.
    pub fn cached(&self, record: u64) -> Vec<Option<Pair>> {
        let mut cache = self.cache.borrow_mut();
        (0..self.levels).map(|level| cache.pair(level, node_above(record, level))).collect()
    }

    /// Keeps pairs above a record that hardware has verified or written, from the highest down.
    pub fn keep(&self, record: u64, pairs: &[(Pair, bool)]) {
        let mut cache = self.cache.borrow_mut();
        for (level, (pair, _)) in pairs.iter().enumerate().rev() {
            let node = node_above(record, level);
            if self.hardware_enters { cache.put(level, node, *pair) } else { cache.renew(level, node, *pair) }
        }
    }
}

/// Returns the number of the node above a record at a level of pairs, from the lowest up.
fn node_above(record: u64, level: usize) -> u64 {
    record >> (level + 1)
}
