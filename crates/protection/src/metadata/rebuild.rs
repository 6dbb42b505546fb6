//! The tree again, from what a loss of power has left in memory.
//!
//! ```text
//! fetch all counters ─ compute all nodes from them, level by level ─ compare the root with its register
//!                                                  └ store the nodes that memory has otherwise
//! ```
//! Nodes in memory may be of any age, so none is believed; the register decides. If the memory is not the one that it
//! vouches for, nothing is stored, and the chip has no root from then on: it brings no metadata any more, so no line is
//! released and none is written. (A blank root would vouch for a blank memory: an attacker that wiped the counters
//! would see every pad once more.)

use super::Metadata;
use super::climb::Lines;
use crate::planted::Bug;
use crate::slot::{Kind, Role, Slot};
use crate::tree::{Node, Tree};
use crate::verbs::{Fault, Verbs, Wanted};
use sim::join_all;
use units::{LINE_BYTES, Line, ZERO_LINE};

/// Lines fetched at the same time.
const FETCHED_AT_ONCE: usize = 64;

/// What rebuilds the tree.
pub(crate) struct Rebuild<'a, V> {
    pub metadata: &'a Metadata,
    pub tree: &'a Tree,
    pub verbs: &'a V,
}

impl<V: Verbs> Rebuild<'_, V> {
    /// Goes on with the counters in memory if they have this root, which is empty if none was ever set.
    ///
    /// # Errors
    /// If they have another.
    pub async fn restore(&self, registered: &[Line]) -> Result<(), Fault> {
        let (root, outdated) = self.rebuild().await;
        // A register that was never set vouches for a memory that was never written.
        let blank = registered.is_empty() && root.iter().all(|line| *line == ZERO_LINE);
        if !self.are_equal(&root, registered) && !blank && !self.metadata.planted.has(Bug::RecoveryAcceptsAnyRoot) {
            self.metadata.on_chip(|chip| chip.rootless = !self.metadata.planted.has(Bug::RefusalLeavesBlankRoot));
            return Err(Fault::Root);
        }
        if !self.metadata.planted.has(Bug::RecoveryForgetsRoot) {
            self.metadata.on_chip(|chip| chip.root = root);
        }
        for ((slot, role), content) in outdated {
            if self.stores_node(role, &content) {
                self.verbs.store(slot, role, content.into()).await;
            }
        }
        Ok(())
    }

    fn are_equal(&self, root: &[Line], registered: &[Line]) -> bool {
        let compared = if self.metadata.planted.has(Bug::RecoveryComparesHalf) { LINE_BYTES / 2 } else { LINE_BYTES };
        let mut lines = root.iter().zip(registered);
        root.len() == registered.len() && lines.all(|(one, other)| one[..compared] == other[..compared])
    }

    /// Whether a node goes to memory that memory has otherwise: each does.
    fn stores_node(&self, role: Role, content: &Line) -> bool {
        let kept = self.metadata.planted.has(Bug::RecoveryKeepsNodes)
            || self.metadata.planted.has(Bug::RecoveryStoresLowestNodes) && role != Role::Node(0)
            || self.metadata.planted.has(Bug::RecoveryKeepsUnknownNodes) && *content == ZERO_LINE;
        !kept
    }

    /// Computes all nodes from the counters in memory. Returns the root, and the nodes that memory has otherwise.
    async fn rebuild(&self) -> (Box<[Line]>, Vec<((Slot, Role), Line)>) {
        let mut root = self.metadata.on_chip(|chip| vec![ZERO_LINE; chip.root.len()].into_boxed_slice());
        let mut outdated = Vec::new();
        let mut children = Lines::new();
        let counters = self.metadata.layout.region(Kind::Counters).into_iter().flat_map(|region| region.slots());
        fetch_all(self.verbs, counters, Role::Counter, |slot, stored| {
            if stored != ZERO_LINE {
                children.insert(slot, stored);
            }
        })
        .await;
        for level in 0..=self.metadata.layout.levels().len() {
            join_all(children.iter().map(|_| self.verbs.hash())).await;
            let mut nodes = Lines::new();
            for (slot, content) in &children {
                let Some(parent) = self.metadata.parent(*slot) else { continue };
                let node = match parent.node {
                    Node::Root(line) => &mut root[line],
                    Node::Stored(above) => nodes.entry(above).or_insert(ZERO_LINE),
                };
                // Tags of children never overflow.
                let _ = self.tree.update(parent, node, *slot, content);
            }
            let role = Role::Node(level as u8);
            let stored = self.metadata.layout.levels().get(level).into_iter().flat_map(|region| region.slots());
            fetch_all(self.verbs, stored, role, |slot, stored| {
                let node = nodes.get(&slot).copied().unwrap_or(ZERO_LINE);
                if stored != node {
                    outdated.push(((slot, role), node));
                }
            })
            .await;
            children = nodes;
        }
        (root, outdated)
    }
}

async fn fetch_all<V: Verbs>(
    verbs: &V,
    slots: impl Iterator<Item = Slot>,
    role: Role,
    mut take: impl FnMut(Slot, Line),
) {
    let slots: Vec<Slot> = slots.collect();
    for batch in slots.chunks(FETCHED_AT_ONCE) {
        let fetched = join_all(batch.iter().map(|slot| verbs.fetch(*slot, role, Wanted::LINE))).await;
        batch.iter().zip(fetched).for_each(|(slot, line)| take(*slot, line.content.examine()));
    }
}
