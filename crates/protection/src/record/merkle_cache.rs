//! The cache of nodes: those that a walk has verified, so that the next walk may stop at one (Duc and Keryell, ACSAC 2006, the
//! end of section 2.4).
//!
//! It is fully associative and gives up what was used least recently. An entry has one node, or a node with its sibling, which are
//! always verified together. Records do not come here.

use super::node::{Node, Pair};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a cache of nodes is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MerkleCacheDesign {
    /// How many entries it has; none if there is no cache.
    pub entries: usize,
    /// Whether an entry has a node and its sibling.
    #[serde(default)]
    pub in_pairs: bool,
}

/// A node by its level, from the lowest up, and its number there; of pairs, likewise.
type Name = (usize, u64);

/// Verified nodes on the chip.
pub(super) struct MerkleCache {
    design: MerkleCacheDesign,
    /// By name of a node, or of a pair: what it has, and when it was used last.
    entries: FxHashMap<Name, (Pair, u64)>,
    /// By when it was used last.
    by_use: BTreeMap<u64, Name>,
    uses: u64,
}

impl MerkleCache {
    /// An empty cache.
    pub fn new(design: MerkleCacheDesign) -> MerkleCache {
        MerkleCache { design, entries: FxHashMap::default(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Gives all up.
    pub fn clear(&mut self) {
        *self = MerkleCache::new(self.design);
    }

    /// The name of the entry that has a node.
    fn name(&self, (level, node): Name) -> Name {
        (level, if self.design.in_pairs { node / 2 } else { node })
    }

    /// A node, if it is here; that is a use of it.
    pub fn node(&mut self, level: usize, node: u64) -> Option<Node> {
        let name = self.name((level, node));
        let pair = self.entries.get(&name)?.0;
        self.enter(name, pair);
        Some(pair.0[(node % 2) as usize])
    }

    /// A node with its sibling, if both are here; that is a use of them.
    pub fn pair(&mut self, level: usize, node: u64) -> Option<Pair> {
        let [left, right] = [node & !1, node | 1].map(|node| self.name((level, node)));
        if !self.entries.contains_key(&left) || !self.entries.contains_key(&right) {
            return None;
        }
        Some(Pair([self.node(level, node & !1)?, self.node(level, node | 1)?]))
    }

    /// A verified pair enters, of which this node was asked for.
    pub fn put(&mut self, level: usize, node: u64, pair: Pair) {
        if self.design.entries == 0 {
            return;
        }
        for node in [node ^ 1, node] {
            let name = self.name((level, node));
            self.enter(name, pair);
        }
        while self.entries.len() > self.design.entries
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    fn enter(&mut self, name: Name, pair: Pair) {
        self.uses += 1;
        if let Some((_, used)) = self.entries.insert(name, (pair, self.uses)) {
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.uses, name);
    }
}
