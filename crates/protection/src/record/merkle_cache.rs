//! The Merkle cache of verified nodes and records, at which the next walk may stop (Duc and Keryell, ACSAC 2006, the end
//! of section 2.4, and section 2.5).
//!
//! It is fully associative and evicts the least recently used entry. An entry has a node or a record, alone or with its
//! sibling. Siblings are always verified together. A record stays encrypted in the cache: the next write of the pair
//! hashes the encrypted bytes of the sibling.

use super::leaf::{Leaf, SEALED_BYTES};
use super::node::{HashNode, Pair};
use machine::cache::TagArray;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Bits of an index in the name of an entry, below its level.
const INDEX_BITS: u32 = 56;

/// Organisation of a Merkle cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MerkleCacheDesign {
    /// Number of entries of the Merkle cache, which holds verified nodes of the tree over records, and verified records;
    /// zero for no cache.
    pub entries: usize,
    /// True if an entry of the Merkle cache holds a node and its sibling, or a record and its sibling.
    #[serde(default)]
    pub in_pairs: bool,
}

impl MerkleCacheDesign {
    /// Bytes of one entry, which has room for records.
    pub fn entry_bytes(&self) -> usize {
        SEALED_BYTES * if self.in_pairs { 2 } else { 1 }
    }
}

/// Position of a record or of a node in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TreePosition {
    level: u64,
    index: u64,
}

impl TreePosition {
    /// Returns the position of a record.
    pub fn of_record(record: u64) -> TreePosition {
        TreePosition { level: 0, index: record }
    }

    /// Returns the position of a node, with its level of pairs, from the lowest up.
    pub fn of_node(level: usize, node: u64) -> TreePosition {
        TreePosition { level: level as u64 + 1, index: node }
    }

    fn sibling(self) -> TreePosition {
        TreePosition { index: self.index ^ 1, ..self }
    }

    fn index_in_pair(self) -> usize {
        (self.index % 2) as usize
    }
}

/// Two siblings that were verified together.
#[derive(Clone)]
pub(super) enum VerifiedPair {
    Nodes(Pair),
    Records(Rc<[Leaf; 2]>),
}

impl VerifiedPair {
    fn leaf(&self, position: TreePosition) -> Option<Leaf> {
        match self {
            VerifiedPair::Records(leaves) => Some(leaves[position.index_in_pair()]),
            VerifiedPair::Nodes(_) => None,
        }
    }
}

/// Verified nodes and records on the chip.
#[derive(Clone)]
pub(super) struct MerkleCache {
    design: MerkleCacheDesign,
    /// Entries by name of a position, or of a pair of places; `None` if the cache has no entries.
    tags: Option<TagArray>,
    /// Pairs by the position of their tag.
    pairs: Box<[VerifiedPair]>,
}

impl MerkleCache {
    /// Returns an empty cache.
    pub fn new(design: MerkleCacheDesign) -> MerkleCache {
        let tags = (design.entries > 0).then(|| TagArray::new(1, design.entries));
        MerkleCache { design, tags, pairs: vec![VerifiedPair::Nodes(Pair::BLANK); design.entries].into() }
    }

    /// Number of entries in use.
    pub fn used_entries(&self) -> usize {
        self.tags.as_ref().map_or(0, |tags| tags.entries().count())
    }

    /// Empties the cache of all nodes and records.
    pub fn clear(&mut self) {
        *self = MerkleCache::new(self.design);
    }

    /// Drops all records, and keeps the nodes.
    pub fn drop_records(&mut self) {
        let Some(tags) = &mut self.tags else { return };
        let is_record = |name: &u64| name >> INDEX_BITS == 0;
        let records: Vec<u64> = tags.entries().map(|(_, name)| name).filter(is_record).collect();
        for name in records {
            tags.invalidate(name);
        }
    }

    /// Returns the name of the entry that has a position.
    fn name(&self, position: TreePosition) -> u64 {
        let TreePosition { level, index } = position;
        level << INDEX_BITS | if self.design.in_pairs { index / 2 } else { index }
    }

    /// Returns whether the cache has a position. Does not update replacement state.
    pub fn has(&self, position: TreePosition) -> bool {
        self.tags.as_ref().is_some_and(|tags| tags.probe(self.name(position)).is_some())
    }

    /// Returns a record, if the cache has it. Does not update replacement state.
    pub fn peek(&self, record: u64) -> Option<Leaf> {
        let position = TreePosition::of_record(record);
        let slot = self.tags.as_ref()?.probe(self.name(position))?;
        self.pairs[slot.index()].leaf(position)
    }

    fn used(&mut self, position: TreePosition) -> Option<&VerifiedPair> {
        let name = self.name(position);
        let slot = self.tags.as_mut()?.lookup(name)?;
        Some(&self.pairs[slot.index()])
    }

    fn has_both(&self, position: TreePosition) -> bool {
        self.has(position) && self.has(position.sibling())
    }

    /// Returns a node, if the cache has it; counts as a use.
    pub fn node(&mut self, level: usize, node: u64) -> Option<HashNode> {
        let position = TreePosition::of_node(level, node);
        match self.used(position)? {
            VerifiedPair::Nodes(pair) => Some(pair.0[position.index_in_pair()]),
            VerifiedPair::Records(_) => None,
        }
    }

    /// Returns a record, if the cache has it; counts as a use.
    pub fn record(&mut self, record: u64) -> Option<Leaf> {
        let position = TreePosition::of_record(record);
        self.used(position)?.leaf(position)
    }

    /// Returns a node with its sibling, if the cache has both; counts as a use of them.
    pub fn pair(&mut self, level: usize, node: u64) -> Option<Pair> {
        if !self.has_both(TreePosition::of_node(level, node)) {
            return None;
        }
        let [left, right] = [node & !1, node | 1].map(|node| self.node(level, node));
        Some(Pair([left?, right?]))
    }

    /// Returns a record with its sibling, if the cache has both; counts as a use of them.
    pub fn records(&mut self, record: u64) -> Option<[Leaf; 2]> {
        if !self.has_both(TreePosition::of_record(record)) {
            return None;
        }
        let [left, right] = [record & !1, record | 1].map(|record| self.record(record));
        Some([left?, right?])
    }

    /// Replaces the siblings of a verified or written pair that the cache has; adds no entry.
    pub fn renew(&mut self, position: TreePosition, pair: &VerifiedPair) {
        for name in [position.sibling(), position].map(|position| self.name(position)) {
            if let Some(slot) = self.tags.as_ref().and_then(|tags| tags.probe(name)) {
                self.pairs[slot.index()] = pair.clone();
            }
        }
    }

    /// Adds a verified pair, in which this position was requested.
    pub fn put(&mut self, position: TreePosition, pair: &VerifiedPair) {
        for name in [position.sibling(), position].map(|position| self.name(position)) {
            let Some(tags) = &mut self.tags else { return };
            let slot = tags.lookup(name).unwrap_or_else(|| tags.insert(name, false).0);
            self.pairs[slot.index()] = pair.clone();
        }
    }
}
