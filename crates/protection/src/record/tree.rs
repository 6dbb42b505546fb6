//! The tree over records: a node is one SHA-1 hash of the *pair* below it, two records at the bottom (Duc and Keryell, ACSAC
//! 2006, figures 3 and 4).
//!
//! ```text
//! on the chip          root = b(0,0)
//! a line of a pair     b(1,0) b(1,1) 0        20 + 20 bytes, 24 spare
//!                      ...
//! five lines each      record 2n, record 2n + 1
//! ```
//! A pair that was never written is zeros, and so is its node; the node of any other pair is not zeros. What a hash leaves out
//! of the lines in memory is zeros or refused.
//!
//! All walks share one lock, which a write has alone: a write changes the root, and so what every walk compares with.

use super::leaf::{LEAF_LINES, Leaf, SEALED_BYTES};
use super::merkle_cache::{MerkleCache, MerkleCacheDesign};
use super::node::{BLANK_NODE, Node, PAIR_BYTES, Pair, node_of};
use crate::layout::{Layout, Region};
use crate::planted::{ChunkBug, Planted};
use crate::slot::{Kind, Role, Slot};
use crate::verbs::{Fault, LockName, Verbs, Wanted};
use crypto::{BLOCK_BYTES, sha1_steps};
use serde::{Deserialize, Serialize};
use sim::lock::Mode;
use sim::{join, join_all};
use std::cell::{Cell, RefCell};
use units::Line;

/// The time that a hash takes of the unit for hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashCharge {
    /// One passage, whatever its length, as the paper has it.
    #[default]
    Once,
    /// A passage for each block of 64 bytes that SHA-1 takes.
    ByBlocks,
}

/// A record with its sibling, and the pairs of nodes above, from the lowest up to where the chip vouches for the rest.
struct Path {
    leaves: [Leaf; 2],
    /// Each with whether the cache has it.
    pairs: Vec<(Pair, bool)>,
    /// The node above the last.
    above: Node,
}

/// How walks are done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WalkDesign {
    /// What a hash takes.
    #[serde(default)]
    pub hash_charge: HashCharge,
    /// Where a walk may stop.
    #[serde(default)]
    pub merkle_cache: MerkleCacheDesign,
}

/// The tree, with its root and the nodes that the chip keeps.
#[derive(Clone)]
pub(super) struct PairTree {
    records: Region,
    /// Lines of pairs, from the lowest level up.
    levels: Box<[Region]>,
    root: Cell<Node>,
    cache: RefCell<MerkleCache>,
    charge: HashCharge,
    /// Hashes computed so far.
    hashed: Cell<u64>,
    planted: Planted,
}

impl PairTree {
    /// The tree that `layout` has room for, over records that were never written.
    ///
    /// # Panics
    /// If the layout has no records.
    pub fn new(layout: &Layout, WalkDesign { hash_charge, merkle_cache }: WalkDesign, planted: Planted) -> PairTree {
        let records = layout.region(Kind::Records).expect("a layout with records");
        let (root, cache) = (Cell::new(BLANK_NODE), RefCell::new(MerkleCache::new(merkle_cache)));
        let (levels, hashed) = (layout.levels().into(), Cell::new(0));
        PairTree { records, levels, root, cache, charge: hash_charge, hashed, planted }
    }

    /// The cache of nodes gives all up.
    pub fn forget_nodes(&self) {
        self.cache.borrow_mut().clear();
    }

    /// Hashes computed so far.
    pub fn hashed(&self) -> u64 {
        self.hashed.get()
    }

    /// The first slot of a record.
    pub fn slot_of(&self, record: u64) -> Slot {
        self.records.slot(record * LEAF_LINES as u64)
    }

    /// Brings a record, and checks it up to the root (Fig. 4a). Calls `start` when the record has come, before it is checked.
    ///
    /// # Errors
    /// The slot of the pair that does not fit what vouches for it, or of a line whose spare bytes are not zeros.
    pub async fn read<V: Verbs>(&self, verbs: &V, record: u64, start: impl Fn(&Leaf)) -> Result<Leaf, Fault> {
        let _shared = verbs.lock(self.lock(), Mode::Shared).await;
        let (known, above) = self.nearest(record);
        let sought = vec![None; known];
        let path = self.bring(verbs, record, (sought, above), start).await?;
        self.keep(record, &path.pairs);
        Ok(path.leaves[position(record, 0)])
    }

    /// Stores a record, after its path was checked, and the path as it is then (Fig. 4b).
    ///
    /// # Errors
    /// As [`PairTree::read`]; then nothing changes.
    pub async fn write<V: Verbs>(&self, verbs: &V, record: u64, leaf: Leaf) -> Result<(), Fault> {
        let _alone = verbs.lock(self.lock(), Mode::Exclusive).await;
        let mut path = self.bring(verbs, record, (self.cached(record), self.root.get()), |_| ()).await?;
        path.leaves[position(record, 0)] = leaf;
        let root = self.hash_again(verbs, record, &mut path).await;
        let of_record = self.leaf_slots(record).zip(leaf.lines()).map(|(slot, line)| (slot, Role::Record, line));
        let of_pairs = self.slots_above(record).zip(path.pairs.iter().map(|(pair, _)| pair.to_line()));
        let of_pairs = of_pairs.map(|((slot, role), line)| (slot, role, line));
        join_all(of_record.chain(of_pairs).map(|(slot, role, line)| verbs.store(slot, role, line.into()))).await;
        self.root.set(root);
        if !self.planted.has(ChunkBug::MerkleCacheStale) {
            self.keep(record, &path.pairs);
        }
        Ok(())
    }

    /// The lowest node above a record that the chip has, and its level: that of the root if the cache has none.
    fn nearest(&self, record: u64) -> (usize, Node) {
        let mut cache = self.cache.borrow_mut();
        let mut found = (0..self.levels.len()).map(|level| (level, cache.node(level, node_above(record, level))));
        let found = found.find_map(|(level, node)| node.map(|node| (level, node)));
        found.unwrap_or((self.levels.len(), self.root.get()))
    }

    /// The pairs above a record that the cache has, from the lowest up.
    fn cached(&self, record: u64) -> Vec<Option<Pair>> {
        let mut cache = self.cache.borrow_mut();
        (0..self.levels.len()).map(|level| cache.pair(level, node_above(record, level))).collect()
    }

    /// Keeps verified pairs above a record, from the highest down.
    fn keep(&self, record: u64, pairs: &[(Pair, bool)]) {
        let mut cache = self.cache.borrow_mut();
        for (level, (pair, _)) in pairs.iter().enumerate().rev() {
            cache.put(level, node_above(record, level), *pair);
        }
    }

    /// Brings as many pairs as are told, and compares them from the topmost down, which is below `above`: those that the cache has are
    /// given. Pairs are asked for first: they are hashed while the longer records come.
    async fn bring<V: Verbs>(
        &self,
        verbs: &V,
        record: u64,
        (cached, above): (Vec<Option<Pair>>, Node),
        start: impl Fn(&Leaf),
    ) -> Result<Path, Fault> {
        let pairs = cached.into_iter().zip(self.slots_above(record)).map(async |(cached, (slot, role))| match cached {
            Some(pair) => Ok((pair, true)),
            None => Ok((self.bring_pair(verbs, slot, role).await?, false)),
        });
        let (pairs, leaves) = join!(join_all(pairs), self.bring_leaves(verbs, record, start));
        let path = Path { leaves: leaves?, pairs: pairs.into_iter().collect::<Result<_, _>>()?, above };
        if self.planted.has(ChunkBug::MerkleCacheUnverified) {
            self.keep(record, &path.pairs);
        }
        self.compare(record, &path)?;
        Ok(path)
    }

    async fn bring_pair<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role) -> Result<Pair, Fault> {
        let line = verbs.fetch(slot, role, Wanted::LINE).await.content.examine();
        self.hash(verbs, PAIR_BYTES).await;
        let (pair, rest_is_zero) = Pair::read(&line);
        self.unless_spare_is_used(slot, rest_is_zero).map(|()| pair)
    }

    /// A record and its sibling, in order.
    async fn bring_leaves<V: Verbs>(&self, verbs: &V, record: u64, start: impl Fn(&Leaf)) -> Result<[Leaf; 2], Fault> {
        let fetch_leaf = async |of: u64| {
            let lines = self.leaf_slots(of).map(|slot| verbs.fetch(slot, Role::Record, Wanted::LINE));
            let lines: Vec<Line> = join_all(lines).await.iter().map(|line| line.content.examine()).collect();
            let leaf = Leaf::of_lines(&lines);
            if of == record {
                start(&leaf);
            }
            leaf
        };
        let left = record & !1;
        let (left_leaf, right_leaf) = join!(fetch_leaf(left), fetch_leaf(left + 1));
        self.hash(verbs, 2 * SEALED_BYTES).await;
        for (of, leaf) in [(left, &left_leaf), (left + 1, &right_leaf)] {
            self.unless_spare_is_used(self.slot_of(of), leaf.spare_is_zero())?;
        }
        Ok([left_leaf, right_leaf])
    }

    fn unless_spare_is_used(&self, slot: Slot, is_zero: bool) -> Result<(), Fault> {
        if is_zero || self.planted.has(ChunkBug::RecordSpareIgnored) { Ok(()) } else { Err(Fault::Tree(slot)) }
    }

    /// Compares each pair that was brought with the node above it, from the topmost down.
    fn compare(&self, record: u64, path: &Path) -> Result<(), Fault> {
        let mut expected = path.above;
        let slots: Vec<_> = self.slots_above(record).collect();
        for (level, (pair, is_cached)) in path.pairs.iter().enumerate().rev() {
            let is_top = level + 1 == self.levels.len();
            let skipped = *is_cached || is_top && self.planted.has(ChunkBug::RecordWalkALevelShort);
            if !skipped && pair.node() != expected {
                return Err(Fault::Tree(slots[level].0));
            }
            expected = pair.0[position(record, level + 1)];
        }
        let fits = self.node_of_leaves(&path.leaves) == expected;
        if fits { Ok(()) } else { Err(Fault::Tree(self.slot_of(record))) }
    }

    /// Puts the hashes of what has changed into the pairs of a path, from the lowest up. Returns the new root.
    async fn hash_again<V: Verbs>(&self, verbs: &V, record: u64, path: &mut Path) -> Node {
        self.hash(verbs, 2 * SEALED_BYTES).await;
        let mut node = self.node_of_leaves(&path.leaves);
        for (level, (pair, _)) in path.pairs.iter_mut().enumerate() {
            pair.0[position(record, level + 1)] = node;
            self.hash(verbs, PAIR_BYTES).await;
            node = pair.node();
        }
        node
    }

    fn node_of_leaves(&self, [left, right]: &[Leaf; 2]) -> Node {
        let start = if self.planted.has(ChunkBug::RecordVectorUnhashed) { BLOCK_BYTES } else { 0 };
        node_of(&left.sealed()[start..], &right.sealed()[start..])
    }

    /// Waits for the hash of so many bytes.
    async fn hash<V: Verbs>(&self, verbs: &V, bytes: usize) {
        self.hashed.set(self.hashed.get() + 1);
        let passages = match self.charge {
            HashCharge::Once => 1,
            HashCharge::ByBlocks => sha1_steps(bytes),
        };
        for _ in 0..passages {
            verbs.hash().await;
        }
    }

    /// Names the slots that a walk to a record fetches now.
    pub fn name_fetched(&self, record: u64, mut name: impl FnMut(Slot)) {
        let cache = self.cache.borrow();
        let known = (0..self.levels.len()).find(|level| cache.has(*level, node_above(record, *level)));
        let pairs = self.slots_above(record).take(known.unwrap_or(self.levels.len())).map(|(slot, _)| slot);
        pairs.chain(self.leaf_slots(record & !1)).chain(self.leaf_slots(record | 1)).for_each(&mut name);
    }

    fn leaf_slots(&self, record: u64) -> impl Iterator<Item = Slot> + use<> {
        let first = self.slot_of(record).0;
        (first..first + LEAF_LINES as u64).map(Slot)
    }

    /// The lines of pairs above a record, from the lowest up.
    fn slots_above(&self, record: u64) -> impl Iterator<Item = (Slot, Role)> {
        self.levels.iter().enumerate().map(move |(level, region)| (region.slot(record >> (level + 2)), region.role))
    }

    /// Waits until no walk is under way, and lets none begin until what comes back is dropped.
    pub async fn alone<'a, V: Verbs>(&self, verbs: &'a V) -> V::Guard<'a> {
        verbs.lock(self.lock(), Mode::Exclusive).await
    }

    /// What all walks share, and a write has alone.
    fn lock(&self) -> LockName {
        LockName::Metadata(self.levels.last().unwrap_or(&self.records).slot(0))
    }
}

/// The number of the node above a record at a level of pairs, from the lowest up.
fn node_above(record: u64, level: usize) -> u64 {
    record >> (level + 1)
}

/// Where a record is in its pair, or, at each level above, the node of its pair in the next.
fn position(record: u64, level: usize) -> usize {
    (record >> level & 1) as usize
}
