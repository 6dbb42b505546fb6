//! Rebuilds the tree from the counters in memory after a loss of power.
//!
//! ```text
//! fetch all counters ─ compute all nodes from them, level by level ─ compare each root with its register
//!                                                  └ store the nodes that memory has otherwise
//! ```
//! In a forest, the chip compares each node that is a root with its register. The node counts as blank in its parent. The
//! rebuild does not use memory's copy of it.
//!
//! Nodes in memory may be of any age, so the chip trusts only the register. If the rebuilt root differs from the
//! register, the chip stores no node and has no root from then on. It then refuses to fetch metadata, so it releases no
//! line and writes no line. (A blank root would vouch for a blank memory: an attacker that wiped the counters would see
//! every pad once more.)

use super::Metadata;
use super::climb::Lines;
use crate::domain::Registers;
use crate::planted::Bug;
use crate::slot::{Kind, Role, Slot};
use crate::tree::{Node, Tree};
use crate::verbs::{Fault, Verbs, Wanted};
use sim::join_all;
use std::collections::BTreeSet;
use units::{LINE_BYTES, Line, ZERO_LINE};

/// Maximum number of concurrent fetches of a rebuild.
const FETCHED_AT_ONCE: usize = 64;

/// A rebuild of the tree.
pub(crate) struct Rebuild<'a, V> {
    pub metadata: &'a Metadata,
    pub tree: &'a Tree,
    pub verbs: &'a V,
}

/// A tree computed from the counters in memory.
struct Rebuilt {
    /// Lines of the root.
    root: Box<[Line]>,
    /// The other roots of a forest.
    forest: Lines,
    /// New contents of the ordinary nodes that differ from memory.
    outdated: Vec<((Slot, Role), Line)>,
}

impl<V: Verbs> Rebuild<'_, V> {
    /// Accepts the counters in memory if the tree over them has the roots in these registers.
    ///
    /// # Errors
    /// If the tree has other roots.
    pub async fn restore(&self, registers: &Registers) -> Result<(), Fault> {
        let roots = self.metadata.on_chip(|chip| chip.forest.roots());
        let roots = roots.into_iter().chain(registers.forest.keys().copied()).collect();
        let Rebuilt { root, forest, outdated } = self.rebuild(&roots).await;
        let planted = self.metadata.planted;
        let vouched = self.vouches_for_root(registers, &root)
            && (planted.has(Bug::RecoveryComparesOwnRoot) || vouches_for_forest(registers, &forest));
        if !vouched && !planted.has(Bug::RecoveryAcceptsAnyRoot) {
            self.metadata.on_chip(|chip| chip.power.rootless = !planted.has(Bug::RefusalLeavesBlankRoot));
            return Err(Fault::Root);
        }
        if !planted.has(Bug::RecoveryForgetsRoot) {
            self.metadata.on_chip(|chip| chip.root = root);
        }
        if !planted.has(Bug::RecoveryForgetsForest) {
            self.keep(forest);
        }
        for ((slot, role), content) in outdated {
            if self.stores_node(role, &content) {
                self.verbs.store(slot, role, content.into()).await;
            }
        }
        Ok(())
    }

    /// Returns true if the root equals the register. An empty register vouches for a memory that was never written.
    fn vouches_for_root(&self, registers: &Registers, root: &[Line]) -> bool {
        let registered = &registers.root;
        if registers.outdated {
            return false;
        }
        if registered.is_empty() && root.iter().all(|line| *line == ZERO_LINE) {
            return true;
        }
        let compared = if self.metadata.planted.has(Bug::RecoveryComparesHalf) { LINE_BYTES / 2 } else { LINE_BYTES };
        let mut lines = root.iter().zip(registered);
        root.len() == registered.len() && lines.all(|(one, other)| one[..compared] == other[..compared])
    }

    /// Keeps the roots of a forest on the chip.
    fn keep(&self, forest: Lines) {
        for (slot, content) in forest {
            if let Role::Node(level) = self.metadata.layout.role_and_index(slot).0 {
                self.metadata.on_chip(|chip| chip.forest.keep(slot, usize::from(level), content));
            }
        }
    }

    /// Returns true if a node that differs from memory is stored. Only planted bugs return false.
    fn stores_node(&self, role: Role, content: &Line) -> bool {
        let kept = self.metadata.planted.has(Bug::RecoveryKeepsNodes)
            || self.metadata.planted.has(Bug::RecoveryStoresLowestNodes) && role != Role::Node(0)
            || self.metadata.planted.has(Bug::RecoveryKeepsUnknownNodes) && *content == ZERO_LINE;
        !kept
    }

    /// Computes all nodes from the counters in memory. `roots` are the nodes that are roots of a forest.
    async fn rebuild(&self, roots: &BTreeSet<Slot>) -> Rebuilt {
        let mut root = self.metadata.on_chip(|chip| vec![ZERO_LINE; chip.root.len()].into_boxed_slice());
        let mut outdated = Vec::new();
        let mut forest: Lines = roots.iter().map(|slot| (*slot, ZERO_LINE)).collect();
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
            nodes.retain(|slot, node| match forest.get_mut(slot) {
                Some(root) => {
                    *root = *node;
                    false
                }
                None => true,
            });
            let role = Role::Node(level as u8);
            let stored = self.metadata.layout.levels().get(level).into_iter().flat_map(|region| region.slots());
            let stored = stored.filter(|slot| !roots.contains(slot));
            fetch_all(self.verbs, stored, role, |slot, stored| {
                let node = nodes.get(&slot).copied().unwrap_or(ZERO_LINE);
                if stored != node {
                    outdated.push(((slot, role), node));
                }
            })
            .await;
            children = nodes;
        }
        Rebuilt { root, forest, outdated }
    }
}

/// Returns true if the roots of a forest equal their registers. A register that was never set counts as blank.
fn vouches_for_forest(registers: &Registers, forest: &Lines) -> bool {
    forest.iter().all(|(slot, content)| registers.forest.get(slot).unwrap_or(&ZERO_LINE) == content)
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
