//! The Merkle cache of verified nodes, at which the next walk may stop (Duc and Keryell, ACSAC 2006, the end of section
//! 2.4).
//!
//! It is fully associative and evicts the least recently used entry. An entry has one node, or a node with its sibling,
//! which are always verified together. Records do not enter this cache.

use super::node::{HashNode, Pair};
use machine::cache::TagArray;
use serde::{Deserialize, Serialize};

/// Bits of a node's number in the name of its entry, below its level.
const NODE_BITS: u32 = 56;

/// Organisation of a Merkle cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MerkleCacheDesign {
    /// Number of entries of the Merkle cache, which holds verified nodes of the tree over records; zero for no cache.
    pub entries: usize,
    /// True if an entry of the Merkle cache holds a node and its sibling.
    #[serde(default)]
    pub in_pairs: bool,
}

/// Verified nodes on the chip.
#[derive(Clone)]
pub(super) struct MerkleCache {
    design: MerkleCacheDesign,
    /// Entries by name of a node, or of a pair; `None` if the cache has no entries.
    tags: Option<TagArray>,
    /// Pairs by the position of their tag.
    pairs: Box<[Pair]>,
}

impl MerkleCache {
    /// Returns an empty cache.
    pub fn new(design: MerkleCacheDesign) -> MerkleCache {
        let tags = (design.entries > 0).then(|| TagArray::new(1, design.entries));
        MerkleCache { design, tags, pairs: vec![Pair::BLANK; design.entries].into() }
    }

    /// Empties the cache of all nodes.
    pub fn clear(&mut self) {
        *self = MerkleCache::new(self.design);
    }

    /// Returns the name of the entry that has a node of a level, from the lowest up.
    fn name(&self, level: usize, node: u64) -> u64 {
        (level as u64) << NODE_BITS | if self.design.in_pairs { node / 2 } else { node }
    }

    /// Returns whether the cache has a node. Does not update replacement state.
    pub fn has(&self, level: usize, node: u64) -> bool {
        self.tags.as_ref().is_some_and(|tags| tags.probe(self.name(level, node)).is_some())
    }

    /// Returns a node, if the cache has it; counts as a use.
    pub fn node(&mut self, level: usize, node: u64) -> Option<HashNode> {
        let name = self.name(level, node);
        let slot = self.tags.as_mut()?.lookup(name)?;
        Some(self.pairs[slot.index()].0[(node % 2) as usize])
    }

    /// Returns a node with its sibling, if the cache has both; counts as a use of them.
    pub fn pair(&mut self, level: usize, node: u64) -> Option<Pair> {
        let siblings = [node & !1, node | 1];
        let tags = self.tags.as_ref()?;
        let are_here = siblings.iter().all(|node| tags.probe(self.name(level, *node)).is_some());
        if !are_here {
            return None;
        }
        let [left, right] = siblings.map(|node| self.node(level, node));
        Some(Pair([left?, right?]))
    }

    /// Replaces the nodes of a verified or written pair that the cache has; adds no entry.
    pub fn renew(&mut self, level: usize, node: u64, pair: Pair) {
        for name in [node & !1, node | 1].map(|node| self.name(level, node)) {
            if let Some(slot) = self.tags.as_ref().and_then(|tags| tags.probe(name)) {
                self.pairs[slot.index()] = pair;
            }
        }
    }

    /// Adds a verified pair, in which this node was requested.
    pub fn put(&mut self, level: usize, node: u64, pair: Pair) {
        for name in [node ^ 1, node].map(|node| self.name(level, node)) {
            let Some(tags) = &mut self.tags else { return };
            let slot = tags.lookup(name).unwrap_or_else(|| tags.insert(name, false).0);
            self.pairs[slot.index()] = pair;
        }
    }
}
