//! Recovery: what the machine does with its memory when power is back.
//!
//! ```text
//! fetch all counters ─ compute all nodes from them, level by level ─ compare the root with its register
//!                                                  └ store the nodes that memory has otherwise ─ finish a renewal
//! ```
//! Nodes in memory may be of any age, so none is believed; the register decides. If the memory is not the one that it
//! vouches for, nothing is stored, and the chip has no root from then on: it brings no metadata any more, so no line is
//! released and none is written. (A blank root would vouch for a blank memory: an attacker who wiped the counters would see
//! every pad once more.) Tags are not looked at: they are tied to counters that are now known to be fresh, and are checked
//! with each read.
//!
//! A loss of power during recovery does no harm. Nodes are computed from counters alone, and a renewal that was
//! going on is told by each line's tag how far it had come.

use super::Scheme;
use super::persist::Progress;
use crate::domain::Registers;
use crate::planted::Bug;
use crate::tree::{Node, Tree};
use crate::verbs::{Fault, Role, Slot, Verbs, Wanted};
use sim::join_all;
use std::collections::BTreeMap;
use units::{LINE_BYTES, Line, ZERO_LINE};

/// Lines fetched at the same time.
const FETCHED_AT_ONCE: usize = 64;

impl Scheme {
    /// Makes a fresh chip continue with the memory that a loss of power has left behind; reports if that cannot be trusted.
    /// A design without persistence has nothing to continue with: its chip stays as new.
    pub async fn recover<V: Verbs>(&self, verbs: &V, registers: &Registers) {
        if let (true, Some(tree)) = (self.persistence.exists(), &self.tree) {
            let outcome = self.try_recover(verbs, tree, registers).await;
            self.finish(verbs, outcome).await;
        }
    }

    async fn try_recover<V: Verbs>(&self, verbs: &V, tree: &Tree, registers: &Registers) -> Result<(), Fault> {
        let (root, outdated) = self.rebuild(verbs, tree).await;
        let registers = &self.as_planted(&root, registers);
        // A register that was never set vouches for a memory that was never written.
        let blank = registers.root.is_empty() && root.iter().all(|line| *line == ZERO_LINE);
        if root != registers.root && !blank && !self.planted.has(Bug::RecoveryAcceptsAnyRoot) {
            self.on_chip(|chip| chip.rootless = !self.planted.has(Bug::RefusalLeavesBlankRoot));
            return Err(Fault::Root);
        }
        if !self.planted.has(Bug::RecoveryForgetsRoot) {
            self.on_chip(|chip| chip.root = root);
        }
        for ((slot, role), content) in outdated {
            if self.stores_node(role, &content) {
                verbs.store(slot, role, content.into()).await;
            }
        }
        match &registers.renewal {
            Some(renewal) => self.renew_durably(verbs, renewal, Progress::Unknown).await,
            None => Ok(()),
        }
    }

    /// The registers as recovery takes them: as they are, but for planted bugs.
    fn as_planted(&self, root: &[Line], registers: &Registers) -> Registers {
        let mut taken = registers.clone();
        if self.planted.has(Bug::RecoveryComparesHalf) {
            let halves = taken.root.iter_mut().zip(root);
            halves.for_each(|(line, computed)| line[LINE_BYTES / 2..].copy_from_slice(&computed[LINE_BYTES / 2..]));
        }
        taken.renewal = taken.renewal.filter(|_| !self.planted.has(Bug::RecoverySkipsRenewal));
        taken
    }

    /// Whether a node goes to memory that memory has otherwise: each does.
    fn stores_node(&self, role: Role, content: &Line) -> bool {
        let kept = self.planted.has(Bug::RecoveryKeepsNodes)
            || self.planted.has(Bug::RecoveryStoresLowestNodes) && role != Role::Node(0)
            || self.planted.has(Bug::RecoveryKeepsUnknownNodes) && *content == ZERO_LINE;
        !kept
    }

    /// Computes all nodes from the counters in memory. Returns the root, and the nodes that memory has otherwise.
    async fn rebuild<V: Verbs>(&self, verbs: &V, tree: &Tree) -> (Box<[Line]>, Vec<((Slot, Role), Line)>) {
        let mut root = self.on_chip(|chip| vec![ZERO_LINE; chip.root.len()].into_boxed_slice());
        let mut outdated = Vec::new();
        let mut children = BTreeMap::new();
        let counters = self.layout.counters().into_iter().flat_map(|region| region.slots());
        self.fetch_all(verbs, counters, Role::Counter, |slot, stored| {
            if stored != ZERO_LINE {
                children.insert(slot, stored);
            }
        })
        .await;
        for level in 0..=self.layout.levels().len() {
            join_all(children.iter().map(|_| verbs.hash())).await;
            let mut nodes: BTreeMap<Slot, Line> = BTreeMap::new();
            for (slot, content) in &children {
                let Some(parent) = self.parent(*slot) else { continue };
                let node = match parent.node {
                    Node::Root(line) => &mut root[line],
                    Node::Stored(above) => nodes.entry(above).or_insert(ZERO_LINE),
                };
                // Tags of children never overflow.
                let _ = tree.tell(parent, node, *slot, content);
            }
            let role = Role::Node(level as u8);
            let stored = self.layout.levels().get(level).into_iter().flat_map(|region| region.slots());
            self.fetch_all(verbs, stored, role, |slot, stored| {
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

    async fn fetch_all<V: Verbs>(
        &self,
        verbs: &V,
        slots: impl Iterator<Item = Slot>,
        role: Role,
        mut take: impl FnMut(Slot, Line),
    ) {
        let slots: Vec<Slot> = slots.collect();
        for batch in slots.chunks(FETCHED_AT_ONCE) {
            let fetched = join_all(batch.iter().map(|slot| verbs.fetch(*slot, role, Wanted::Line))).await;
            batch.iter().zip(fetched).for_each(|(slot, content)| take(*slot, content.examine()));
        }
    }
}
