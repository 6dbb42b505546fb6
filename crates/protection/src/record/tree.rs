//! The tree over records: a node is one SHA-1 hash of the *pair* below it, two records at the bottom (Duc and Keryell, ACSAC
//! 2006, figures 3 and 4).
//!
//! ```text
//! on the chip          root = b(0,0)
//! a line of a pair     b(1,0) b(1,1) 0        20 + 20 bytes, 24 spare
//!                      ...
//! five lines each      record 2n, record 2n + 1
//! ```
//! A pair that was never written is all zeros, and so is the node above it; the node above any other pair is never all
//! zeros. The bytes of a line that no hash covers must be zeros; otherwise the walk refuses the line.
//!
//! All walks share one lock. A write reads and hashes copies of its path while walks continue. It acquires this lock
//! exclusively to commit: it stores the path, and changes the root, against which every walk verifies its nodes. One
//! write at a time has a path: a path that was read before another write commits would undo that write.

use super::hashes::{HashCharge, RecordHashes};
use super::leaf::{LEAF_LINES, Leaf, SEALED_BYTES};
use super::merkle_cache::MerkleCacheDesign;
use super::node::{HashNode, PAIR_BYTES, Pair, node_of};
use super::path::{CachedPath, RecordPath};
use super::tree_slots::{TreeSlots, leaf_from};
use super::verification::{Loaded, NodeName, Siblings};
use super::vouched::VouchedNodes;
use crate::layout::Layout;
use crate::planted::{PageChunkBug, PlantedBug};
use crate::slot::{Role, Slot};
use crate::verbs::{Fault, LockName, Verbs, Wanted};
use crypto::BLOCK_BYTES;
use serde::{Deserialize, Serialize};
use sim::lock::Mode;
use sim::{join, join_all};
use std::rc::Rc;
use units::Line;

/// Options of walks to records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WalkDesign {
    /// Time of a hash in the unit.
    #[serde(default)]
    pub hash_charge: HashCharge,
    /// Nodes at which a walk may stop.
    #[serde(default)]
    pub merkle_cache: MerkleCacheDesign,
    /// Lines of the verification buffer, through which the operating system walks; zero if hardware walks.
    #[serde(default)]
    pub verification_buffer: usize,
}

/// The tree, with its root and the nodes that the chip keeps.
#[derive(Clone)]
pub(super) struct PairTree {
    slots: TreeSlots,
    vouched: VouchedNodes,
    hashes: RecordHashes,
    planted: PlantedBug,
}

impl PairTree {
    /// Returns a tree with the slots of `layout`, over records that were never written.
    ///
    /// # Panics
    /// If the layout has no records.
    pub fn new(layout: &Layout, walks: WalkDesign, planted: PlantedBug) -> PairTree {
        let slots = TreeSlots::new(layout);
        let hardware_enters = walks.verification_buffer == 0 || planted.has(PageChunkBug::HardwareWalksEvict);
        let vouched = VouchedNodes::new(walks.merkle_cache, slots.levels(), hardware_enters);
        PairTree { slots, vouched, hashes: RecordHashes::new(walks.hash_charge), planted }
    }

    /// Nodes that the chip vouches for.
    pub fn vouched(&self) -> &VouchedNodes {
        &self.vouched
    }

    /// Depth of the records in the tree.
    pub fn depth(&self) -> usize {
        self.slots.levels() + 1
    }

    /// Number of hashes computed so far.
    pub fn hashed(&self) -> u64 {
        self.hashes.computed()
    }

    /// Returns the first slot of a record.
    pub fn slot_of(&self, record: u64) -> Slot {
        self.slots.of_record(record)
    }

    /// Returns the slot of a node and its sibling.
    pub fn address_of(&self, name: NodeName) -> Slot {
        self.slots.of_siblings(name)
    }

    /// Returns a record from the Merkle cache, or fetches and verifies it up to the root (Fig. 4a of the paper). Calls
    /// `arrived` when the record has arrived, before it is checked.
    ///
    /// # Errors
    /// The slot of a pair or record that does not fit the node above it, or of a line with spare bytes that are not zeros.
    pub async fn read<V: Verbs>(&self, verbs: &V, record: u64, arrived: impl Fn(&Leaf)) -> Result<Leaf, Fault> {
        let _shared = verbs.lock(self.lock(), Mode::Shared).await;
        if let Some(leaf) = self.vouched.record(record) {
            arrived(&leaf);
            return Ok(leaf);
        }
        self.vouched.count_walk();
        let path = self.bring(verbs, record, self.vouched.nearest(record), arrived).await?;
        self.vouched.keep(record, &path);
        Ok(path.leaves[position(record, 0)])
    }

    /// Verifies the path of a record, then stores the record and the changed path (Fig. 4b of the paper), unless
    /// `may_commit` refuses.
    ///
    /// # Errors
    /// Same errors as [`PairTree::read`], and the errors of `may_commit`. In these cases the tree does not change.
    pub async fn write<V: Verbs>(
        &self,
        verbs: &V,
        record: u64,
        leaf: Leaf,
        may_commit: impl Fn() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let _path = match self.planted.has(PageChunkBug::PathsReadTogether) {
            false => Some(verbs.lock(LockName::RecordPath, Mode::Exclusive).await),
            true => None,
        };
        let mut path = self.bring(verbs, record, self.vouched.cached(record), |_| ()).await?;
        path.leaves[position(record, 0)] = leaf;
        let root = self.hash_again(verbs, record, &mut path).await;
        let excludes_walks = !self.planted.has(PageChunkBug::WalksDuringCommit);
        let mode = if excludes_walks { Mode::Exclusive } else { Mode::Shared };
        let _commit = verbs.lock(self.lock(), mode).await;
        may_commit()?;
        let of_record = self.slots.of_leaf(record).zip(leaf.lines()).map(|(slot, line)| (slot, Role::Record, line));
        let of_pairs = self.slots.above(record).zip(path.pairs.iter().map(|(pair, _)| pair.to_line()));
        let of_pairs = of_pairs.map(|((slot, role), line)| (slot, role, line));
        join_all(of_record.chain(of_pairs).map(|(slot, role, line)| verbs.store(slot, role, line.into()))).await;
        self.vouched.set_root(root);
        if !self.planted.has(PageChunkBug::MerkleCacheStale) {
            self.vouched.keep_nodes(record, &path);
        }
        if !self.planted.has(PageChunkBug::CachedRecordStale) {
            self.vouched.keep_records(record, &path);
        }
        Ok(())
    }

    /// Fetches the siblings that `cached` lacks, and compares all pairs from the topmost down. Pairs of nodes are
    /// requested first: they are hashed while the longer records arrive.
    async fn bring<V: Verbs>(
        &self,
        verbs: &V,
        record: u64,
        cached: CachedPath,
        arrived: impl Fn(&Leaf),
    ) -> Result<RecordPath, Fault> {
        let CachedPath { leaves, pairs, above } = cached;
        let leaves_are_cached = leaves.is_some();
        let pairs = pairs.into_iter().zip(self.slots.above(record)).map(async |(cached, (slot, role))| match cached {
            Some(pair) => Ok((pair, true)),
            None => Ok((self.bring_pair(verbs, slot, role).await?, false)),
        });
        let leaves = async {
            match leaves {
                Some(leaves) => Ok(leaves),
                None => self.bring_leaves(verbs, record, arrived).await,
            }
        };
        let (pairs, leaves) = join!(join_all(pairs), leaves);
        let pairs = pairs.into_iter().collect::<Result<_, _>>()?;
        let path = RecordPath { leaves: leaves?, leaves_are_cached, pairs, above };
        if self.planted.has(PageChunkBug::MerkleCacheUnverified) {
            self.vouched.keep_nodes(record, &path);
        }
        if self.planted.has(PageChunkBug::CachedRecordUnverified) {
            self.vouched.keep_records(record, &path);
        }
        self.compare(record, &path)?;
        Ok(path)
    }

    async fn bring_pair<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role) -> Result<Pair, Fault> {
        let (pair, spare_is_zero) = fetch_pair(verbs, slot, role).await;
        self.hashes.compute(verbs, PAIR_BYTES).await;
        self.unless_spare_is_used(slot, spare_is_zero).map(|()| pair)
    }

    /// Fetches a record and its sibling, in order.
    async fn bring_leaves<V: Verbs>(
        &self,
        verbs: &V,
        record: u64,
        arrived: impl Fn(&Leaf),
    ) -> Result<[Leaf; 2], Fault> {
        let bring_leaf = async |of: u64| {
            let leaf = fetch_leaf(verbs, self.slot_of(of)).await;
            if of == record {
                arrived(&leaf);
            }
            leaf
        };
        let left = record & !1;
        let (left_leaf, right_leaf) = join!(bring_leaf(left), bring_leaf(left + 1));
        self.hashes.compute(verbs, 2 * SEALED_BYTES).await;
        for (of, leaf) in [(left, &left_leaf), (left + 1, &right_leaf)] {
            self.unless_spare_is_used(self.slot_of(of), leaf.spare_is_zero())?;
        }
        Ok([left_leaf, right_leaf])
    }

    fn unless_spare_is_used(&self, slot: Slot, is_zero: bool) -> Result<(), Fault> {
        if is_zero || self.planted.has(PageChunkBug::RecordSpareIgnored) { Ok(()) } else { Err(Fault::Tree(slot)) }
    }

    /// Compares each pair that was fetched with the node above it, from the topmost down.
    fn compare(&self, record: u64, path: &RecordPath) -> Result<(), Fault> {
        let mut expected = path.above;
        let slots: Vec<_> = self.slots.above(record).collect();
        for (level, (pair, is_cached)) in path.pairs.iter().enumerate().rev() {
            let is_top = level + 1 == self.slots.levels();
            let skipped = *is_cached || is_top && self.planted.has(PageChunkBug::RecordWalkALevelShort);
            if !skipped && pair.node() != expected {
                return Err(Fault::Tree(slots[level].0));
            }
            expected = pair.0[position(record, level + 1)];
        }
        let fits = path.leaves_are_cached || self.node_of_leaves(&path.leaves) == expected;
        if fits { Ok(()) } else { Err(Fault::Tree(self.slot_of(record))) }
    }

    /// Puts the new hashes of a changed record into the pairs of its path, from the lowest up. Returns the new root.
    async fn hash_again<V: Verbs>(&self, verbs: &V, record: u64, path: &mut RecordPath) -> HashNode {
        self.hashes.compute(verbs, 2 * SEALED_BYTES).await;
        let mut node = self.node_of_leaves(&path.leaves);
        for (level, (pair, _)) in path.pairs.iter_mut().enumerate() {
            pair.0[position(record, level + 1)] = node;
            self.hashes.compute(verbs, PAIR_BYTES).await;
            node = pair.node();
        }
        node
    }

    fn node_of_leaves(&self, [left, right]: &[Leaf; 2]) -> HashNode {
        let start = if self.planted.has(PageChunkBug::RecordVectorUnhashed) { BLOCK_BYTES } else { 0 };
        node_of(&left.sealed()[start..], &right.sealed()[start..])
    }

    /// Returns whether the tree has a node or a record of this name.
    pub fn has(&self, name: NodeName) -> bool {
        name.depth <= self.depth() && name.position >> name.depth == 0
    }

    /// Fetches a node below the root, which the tree has, and its sibling from an address. Returns `None` if memory has no
    /// slots at this address.
    pub async fn fetch_siblings<V: Verbs>(&self, verbs: &V, address: Slot, name: NodeName) -> Option<Siblings> {
        let are_records = name.depth == self.depth();
        let lines = if are_records { 2 * LEAF_LINES } else { 1 };
        if !self.slots.has(address, lines) {
            return None;
        }
        Some(if are_records {
            let right = self.slots.right_of(address);
            let (left, right) = join!(fetch_leaf(verbs, address), fetch_leaf(verbs, right));
            Siblings::Records(Rc::new([left, right]))
        } else {
            let role = self.slots.role(self.vouched.level_of(name.depth));
            let (pair, spare_is_zero) = fetch_pair(verbs, address, role).await;
            Siblings::Nodes(pair, spare_is_zero)
        })
    }

    /// Computes the node above two siblings that were loaded.
    ///
    /// # Errors
    /// The siblings' address, if bytes of their lines that the hash does not cover are not zeros.
    pub async fn node_above<V: Verbs>(&self, verbs: &V, loaded: &Loaded) -> Result<HashNode, Fault> {
        let node = match &loaded.siblings {
            Siblings::Nodes(pair, _) => {
                self.hashes.compute(verbs, PAIR_BYTES).await;
                pair.node()
            }
            Siblings::Records(leaves) => {
                self.hashes.compute(verbs, 2 * SEALED_BYTES).await;
                self.node_of_leaves(leaves)
            }
        };
        self.unless_spare_is_used(loaded.address, loaded.siblings.spare_is_zero()).map(|()| node)
    }

    /// Calls `name` with each slot that a walk to a record would fetch now.
    pub fn name_fetched(&self, record: u64, mut name: impl FnMut(Slot)) {
        if self.vouched.peek(record).is_some() {
            return;
        }
        let pairs = self.slots.above(record).take(self.vouched.lowest(record)).map(|(slot, _)| slot);
        pairs.chain(self.slots.of_leaf(record & !1)).chain(self.slots.of_leaf(record | 1)).for_each(&mut name);
    }

    /// Waits until all walks have ended, and blocks new walks until the returned guard is dropped.
    pub async fn alone<'a, V: Verbs>(&self, verbs: &'a V) -> V::Guard<'a> {
        verbs.lock(self.lock(), Mode::Exclusive).await
    }

    /// Name of the lock that all walks share and a write takes exclusively.
    pub fn lock(&self) -> LockName {
        LockName::Metadata(self.slots.topmost())
    }
}

/// Returns a pair from a line, and true if the remaining bytes of the line are zeros.
async fn fetch_pair<V: Verbs>(verbs: &V, slot: Slot, role: Role) -> (Pair, bool) {
    Pair::read(&verbs.fetch(slot, role, Wanted::LINE).await.content.examine())
}

/// Returns a record from the lines that begin with this one.
async fn fetch_leaf<V: Verbs>(verbs: &V, first: Slot) -> Leaf {
    let lines = leaf_from(first).map(|slot| verbs.fetch(slot, Role::Record, Wanted::LINE));
    let lines: Vec<Line> = join_all(lines).await.iter().map(|line| line.content.examine()).collect();
    Leaf::of_lines(&lines)
}

/// Index of a record in its pair at level 0, or, at each level above, of the node of its pair in the next pair.
pub(super) fn position(record: u64, level: usize) -> usize {
    (record >> level & 1) as usize
}
