//! The cache of nodes: those that a walk has verified, so that the next walk may stop at one (Duc and Keryell, ACSAC 2006, the
//! end of section 2.4).
//!
//! It is fully associative and gives up what was used least recently. An entry has one node, or a node with its sibling, which are
//! always verified together. Records do not come here.

use super::node::{Node, Pair};
use machine::cache::TagArray;
use serde::{Deserialize, Serialize};

/// Bits of a node's number in the name of its entry, below its level.
const NODE_BITS: u32 = 56;

/// How a cache of nodes is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MerkleCacheDesign {
    /// How many entries it has; none if there is no cache.
    pub entries: usize,
    /// Whether an entry has a node and its sibling.
    #[serde(default)]
    pub in_pairs: bool,
}

/// Verified nodes on the chip.
#[derive(Clone)]
pub(super) struct MerkleCache {
    design: MerkleCacheDesign,
    /// By name of a node, or of a pair; none without an entry.
    tags: Option<TagArray>,
    /// By the position of their tag.
    pairs: Box<[Pair]>,
}

impl MerkleCache {
    /// An empty cache.
    pub fn new(design: MerkleCacheDesign) -> MerkleCache {
        let tags = (design.entries > 0).then(|| TagArray::new(1, design.entries));
        MerkleCache { design, tags, pairs: vec![Pair::BLANK; design.entries].into() }
    }

    /// Gives all up.
    pub fn clear(&mut self) {
        *self = MerkleCache::new(self.design);
    }

    /// The name of the entry that has a node of a level, from the lowest up.
    fn name(&self, level: usize, node: u64) -> u64 {
        (level as u64) << NODE_BITS | if self.design.in_pairs { node / 2 } else { node }
    }

    /// Whether a node is here; that is no use of it.
    pub fn has(&self, level: usize, node: u64) -> bool {
        self.tags.as_ref().is_some_and(|tags| tags.probe(self.name(level, node)).is_some())
    }

    /// A node, if it is here; that is a use of it.
    pub fn node(&mut self, level: usize, node: u64) -> Option<Node> {
        let name = self.name(level, node);
        let slot = self.tags.as_mut()?.lookup(name)?;
        Some(self.pairs[slot.index()].0[(node % 2) as usize])
    }

    /// A node with its sibling, if both are here; that is a use of them.
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

    /// A pair that was verified or written is renewed as far as its nodes are here; none enters.
    pub fn renew(&mut self, level: usize, node: u64, pair: Pair) {
        for name in [node & !1, node | 1].map(|node| self.name(level, node)) {
            if let Some(slot) = self.tags.as_ref().and_then(|tags| tags.probe(name)) {
                self.pairs[slot.index()] = pair;
            }
        }
    }

    /// A verified pair enters, of which this node was asked for.
    pub fn put(&mut self, level: usize, node: u64, pair: Pair) {
        for name in [node ^ 1, node].map(|node| self.name(level, node)) {
            let Some(tags) = &mut self.tags else { return };
            let slot = tags.lookup(name).unwrap_or_else(|| tags.insert(name, false).0);
            self.pairs[slot.index()] = pair;
        }
    }
}
