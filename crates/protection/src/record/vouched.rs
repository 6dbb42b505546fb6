//! The verified nodes and records on the chip: the root, and the content of the Merkle cache.

use super::leaf::Leaf;
use super::merkle_cache::{MerkleCache, MerkleCacheDesign, TreePosition, VerifiedPair};
use super::node::{BLANK_NODE, HashNode};
use super::path::{CachedPath, RecordPath};
use super::verification::NodeName;
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Walks that the Merkle cache made unnecessary or shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct MerkleHits {
    /// Records that were in the Merkle cache, so that no walk was necessary.
    pub records: u64,
    /// Walks that ended at a node in the Merkle cache.
    pub nodes: u64,
}

/// Nodes and records on the chip, all of them verified.
#[derive(Clone)]
pub(super) struct VouchedNodes {
    root: Cell<HashNode>,
    cache: RefCell<MerkleCache>,
    hits: Cell<MerkleHits>,
    /// Walks to records that the cache did not have.
    walks: Cell<u64>,
    /// Number of levels of pairs below the root.
    levels: usize,
    /// True if hardware walks put nodes and records into the Merkle cache. If an operating system walks the tree,
    /// hardware walks do not: they could evict the parent that the next HashCheck needs.
    hardware_enters: bool,
}

impl VouchedNodes {
    /// Returns the root of records that were never written, above `levels` levels of pairs.
    pub fn new(design: MerkleCacheDesign, levels: usize, hardware_enters: bool) -> VouchedNodes {
        let cache = RefCell::new(MerkleCache::new(design));
        let (hits, walks) = (Cell::default(), Cell::new(0));
        VouchedNodes { root: Cell::new(BLANK_NODE), cache, hits, walks, levels, hardware_enters }
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

    /// Drops the records in the Merkle cache.
    pub fn forget_records(&self) {
        self.cache.borrow_mut().drop_records();
    }

    /// Number of entries of the Merkle cache in use.
    pub fn used_entries(&self) -> usize {
        self.cache.borrow().used_entries()
    }

    /// Returns the hits of walks so far.
    pub fn hits(&self) -> MerkleHits {
        self.hits.get()
    }

    /// Returns the number of walks so far to records that the cache did not have.
    pub fn walks(&self) -> u64 {
        self.walks.get()
    }

    /// Counts a walk to a record that the cache did not have.
    pub fn count_walk(&self) {
        self.walks.set(self.walks.get() + 1);
    }

    fn hit(&self, hit: MerkleHits) {
        let mut hits = self.hits.get();
        hits += hit;
        self.hits.set(hits);
    }

    /// Returns the level of the pairs of a depth, from the lowest up.
    pub fn level_of(&self, depth: usize) -> usize {
        self.levels - depth
    }

    /// Returns a node, if the chip has it. The names of records are no nodes.
    pub fn node(&self, name: NodeName) -> Option<HashNode> {
        match name.depth {
            0 => Some(self.root()),
            depth if depth <= self.levels => self.cache.borrow_mut().node(self.level_of(depth), name.position),
            _ => None,
        }
    }

    /// Returns whether the chip has a node or record, at which a walk of the operating system then ends; counts as a
    /// use.
    pub fn ends_walk(&self, name: NodeName) -> bool {
        if name.depth > self.levels {
            return self.cache.borrow_mut().record(name.position).is_some();
        }
        let has = self.node(name).is_some();
        self.hit(MerkleHits { nodes: u64::from(has && name.depth > 0), ..MerkleHits::default() });
        has
    }

    /// Adds siblings that HashCheck has verified to the cache.
    pub fn enter(&self, name: NodeName, pair: &VerifiedPair) {
        let position = match pair {
            VerifiedPair::Nodes(_) => TreePosition::of_node(self.level_of(name.depth), name.position),
            VerifiedPair::Records(_) => TreePosition::of_record(name.position),
        };
        self.cache.borrow_mut().put(position, pair);
    }

    /// Returns a record, if the cache has it. Does not update replacement state.
    pub fn peek(&self, record: u64) -> Option<Leaf> {
        self.cache.borrow().peek(record)
    }

    /// Returns a record, if the cache has it; counts as a use and as a hit.
    pub fn record(&self, record: u64) -> Option<Leaf> {
        let leaf = self.cache.borrow_mut().record(record);
        self.hit(MerkleHits { records: u64::from(leaf.is_some()), ..MerkleHits::default() });
        leaf
    }

    /// Level of the lowest node above a record that the cache has, else that of the root. Does not update replacement state.
    pub fn lowest(&self, record: u64) -> usize {
        let cache = self.cache.borrow();
        let has = |level: &usize| cache.has(TreePosition::of_node(*level, node_above(record, *level)));
        (0..self.levels).find(has).unwrap_or(self.levels)
    }

    /// Returns the lowest node above a record that the chip has, as the end of a walk: the root if the cache has no node
    /// above.
    pub fn nearest(&self, record: u64) -> CachedPath {
        let mut cache = self.cache.borrow_mut();
        let mut found = (0..self.levels).map(|level| (level, cache.node(level, node_above(record, level))));
        let found = found.find_map(|(level, node)| node.map(|node| (level, node)));
        self.hit(MerkleHits { nodes: u64::from(found.is_some()), ..MerkleHits::default() });
        let (levels, above) = found.unwrap_or((self.levels, self.root()));
        CachedPath { leaves: None, pairs: vec![None; levels], above }
    }

    /// Returns the siblings up to the root that the cache has.
    pub fn cached(&self, record: u64) -> CachedPath {
        let mut cache = self.cache.borrow_mut();
        let leaves = cache.records(record);
        let pairs = (0..self.levels).map(|level| cache.pair(level, node_above(record, level))).collect();
        CachedPath { leaves, pairs, above: self.root() }
    }

    /// Keeps the path of a record that hardware has verified or written, from the highest pair down.
    pub fn keep(&self, record: u64, path: &RecordPath) {
        self.keep_nodes(record, path);
        self.keep_records(record, path);
    }

    /// Keeps the nodes of a path.
    pub fn keep_nodes(&self, record: u64, path: &RecordPath) {
        for (level, (pair, _)) in path.pairs.iter().enumerate().rev() {
            self.keep_pair(TreePosition::of_node(level, node_above(record, level)), VerifiedPair::Nodes(*pair));
        }
    }

    /// Keeps the record of a path, with its sibling.
    pub fn keep_records(&self, record: u64, path: &RecordPath) {
        self.keep_pair(TreePosition::of_record(record), VerifiedPair::Records(Rc::new(path.leaves)));
    }

    fn keep_pair(&self, position: TreePosition, pair: VerifiedPair) {
        let mut cache = self.cache.borrow_mut();
        if self.hardware_enters { cache.put(position, &pair) } else { cache.renew(position, &pair) }
    }
}

/// Returns the number of the node above a record at a level of pairs, from the lowest up.
fn node_above(record: u64, level: usize) -> u64 {
    record >> (level + 1)
}
