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
use crate::layout::{Layout, Region};
use crate::planted::{ChunkBug, Planted};
use crate::slot::{Kind, Role, Slot};
use crate::verbs::{Fault, LockName, Verbs, Wanted};
use crypto::{BLOCK_BYTES, SHA1_BYTES, sha1_of_pair, sha1_steps};
use serde::{Deserialize, Serialize};
use sim::lock::Mode;
use sim::{join, join_all};
use std::cell::Cell;
use units::{Line, ZERO_LINE};

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

/// The hash of a pair.
type Node = [u8; SHA1_BYTES];
/// That of a pair that was never written.
const BLANK_NODE: Node = [0; SHA1_BYTES];
/// Bytes of a pair of nodes.
const PAIR_BYTES: usize = 2 * SHA1_BYTES;

/// The node above a pair.
fn node_of(left: &[u8], right: &[u8]) -> Node {
    if left.iter().chain(right).all(|byte| *byte == 0) {
        return BLANK_NODE;
    }
    let mut node = sha1_of_pair(left, right);
    if node == BLANK_NODE {
        node[0] = 1;
    }
    node
}

/// Two nodes with one parent, which share a line.
#[derive(Clone, Copy, Debug)]
struct Pair([Node; 2]);

impl Pair {
    /// The pair in a line, and whether the rest of the line is zeros.
    fn read(line: &Line) -> (Pair, bool) {
        let node = |position: usize| std::array::from_fn(|byte| line[position * SHA1_BYTES + byte]);
        (Pair([node(0), node(1)]), line[PAIR_BYTES..].iter().all(|byte| *byte == 0))
    }

    fn to_line(self) -> Line {
        let mut line = ZERO_LINE;
        line[..PAIR_BYTES].copy_from_slice(self.0.as_flattened());
        line
    }

    fn node(&self) -> Node {
        node_of(&self.0[0], &self.0[1])
    }
}

/// A record with its sibling, and the pairs of nodes above, from the lowest up.
struct Path {
    leaves: [Leaf; 2],
    pairs: Vec<Pair>,
}

/// The tree, with its root.
pub(super) struct PairTree {
    records: Region,
    /// Lines of pairs, from the lowest level up.
    levels: Box<[Region]>,
    root: Cell<Node>,
    charge: HashCharge,
    planted: Planted,
}

impl PairTree {
    /// The tree that `layout` has room for, over records that were never written.
    ///
    /// # Panics
    /// If the layout has no records.
    pub fn new(layout: &Layout, charge: HashCharge, planted: Planted) -> PairTree {
        let records = layout.region(Kind::Records).expect("a layout with records");
        PairTree { records, levels: layout.levels().into(), root: Cell::new(BLANK_NODE), charge, planted }
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
        let path = self.bring(verbs, record, start).await?;
        Ok(path.leaves[position(record, 0)])
    }

    /// Stores a record, after its path was checked, and the path as it is then (Fig. 4b).
    ///
    /// # Errors
    /// As [`PairTree::read`]; then nothing changes.
    pub async fn write<V: Verbs>(&self, verbs: &V, record: u64, leaf: Leaf) -> Result<(), Fault> {
        let _alone = verbs.lock(self.lock(), Mode::Exclusive).await;
        let mut path = self.bring(verbs, record, |_| ()).await?;
        path.leaves[position(record, 0)] = leaf;
        let root = self.hash_again(verbs, record, &mut path).await;
        let of_record = self.leaf_slots(record).zip(leaf.lines()).map(|(slot, line)| (slot, Role::Record, line));
        let of_pairs = self.slots_above(record).zip(path.pairs.iter().map(|pair| pair.to_line()));
        let of_pairs = of_pairs.map(|((slot, role), line)| (slot, role, line));
        join_all(of_record.chain(of_pairs).map(|(slot, role, line)| verbs.store(slot, role, line.into()))).await;
        self.root.set(root);
        Ok(())
    }

    /// Brings a path and compares it from the root down. The pairs are asked for first: they are hashed while the longer records
    /// come.
    async fn bring<V: Verbs>(&self, verbs: &V, record: u64, start: impl Fn(&Leaf)) -> Result<Path, Fault> {
        let pairs = self.slots_above(record).map(|(slot, role)| self.bring_pair(verbs, slot, role));
        let (pairs, leaves) = join!(join_all(pairs), self.bring_leaves(verbs, record, start));
        let path = Path { leaves: leaves?, pairs: pairs.into_iter().collect::<Result<_, _>>()? };
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

    /// Compares each pair with the node above it, from the root down.
    fn compare(&self, record: u64, path: &Path) -> Result<(), Fault> {
        let mut expected = self.root.get();
        let slots: Vec<_> = self.slots_above(record).collect();
        for (level, pair) in path.pairs.iter().enumerate().rev() {
            let is_top = level + 1 == path.pairs.len();
            let skipped = is_top && self.planted.has(ChunkBug::RecordWalkALevelShort);
            if pair.node() != expected && !skipped {
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
        for (level, pair) in path.pairs.iter_mut().enumerate() {
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
        let passages = match self.charge {
            HashCharge::Once => 1,
            HashCharge::ByBlocks => sha1_steps(bytes),
        };
        for _ in 0..passages {
            verbs.hash().await;
        }
    }

    fn leaf_slots(&self, record: u64) -> impl Iterator<Item = Slot> + use<> {
        let first = self.slot_of(record).0;
        (first..first + LEAF_LINES as u64).map(Slot)
    }

    /// The lines of pairs above a record, from the lowest up.
    fn slots_above(&self, record: u64) -> impl Iterator<Item = (Slot, Role)> {
        self.levels.iter().enumerate().map(move |(level, region)| (region.slot(record >> (level + 2)), region.role))
    }

    /// What all walks share, and a write has alone.
    fn lock(&self) -> LockName {
        LockName::Metadata(self.levels.last().unwrap_or(&self.records).slot(0))
    }
}

/// Where a record is in its pair, or, at each level above, the node of its pair in the next.
fn position(record: u64, level: usize) -> usize {
    (record >> level & 1) as usize
}
