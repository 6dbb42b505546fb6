//! State that the chip keeps after losses of power, and after faults that stopped a write half-way.

use crate::meetings::Mechanism;
use crate::planted::{PlantedBug, SessionBug};
use crate::slot::Slot;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use units::LineAddr;

/// State that the chip keeps about its memory, in addition to the memory's content.
#[derive(Clone, Debug, Default)]
pub struct PowerState {
    /// True if recovery has refused the memory. The chip then has no root, and trusts only content that is on the chip.
    pub rootless: bool,
    /// True if recovery has accepted a memory. This memory has held the machine's start-up content since its first
    /// session.
    pub recovered: bool,
    /// True if a tuple was given up half-way, so that the chip is ahead of the durable state. Accesses then do not
    /// change memory until power returns.
    pub halted: bool,
    /// True if power has failed, and a battery supplies the chip.
    on_battery: bool,
    /// Counter line of the group that is being re-encrypted in tuples, or whose re-encryption has stopped.
    pub renewing: Option<Slot>,
    /// True if a fault was reported since power returned: it may have stopped a write that was under way.
    faulted: bool,
    /// Nodes of the tree that the battery has yet to update, with the number of updates. Recovery computes all nodes
    /// from the counters, so memory needs no other node.
    needed: Option<FxHashMap<Slot, u32>>,
    /// True if the register of the root is outdated, because durable caches have changed memory.
    root_outdated: bool,
    /// Lines with durable stores that a battery could not write to memory. Reads of them are refused until they are
    /// written again.
    lost: BTreeSet<LineAddr>,
}

impl Hash for PowerState {
    /// Leaves out the work of a battery.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        let PowerState { rootless, recovered, halted, faulted, root_outdated, renewing, .. } = *self;
        (rootless, recovered, halted, faulted, root_outdated, renewing, &self.lost).hash(hash);
    }
}

impl PowerState {
    /// The states that are set.
    pub fn set(&self) -> impl Iterator<Item = Mechanism> + use<> {
        let states = [
            (self.halted, Mechanism::HaltedChip),
            (!self.lost.is_empty(), Mechanism::LostLines),
            (self.root_outdated, Mechanism::OutdatedRoot),
        ];
        states.into_iter().filter_map(|(is_set, state)| is_set.then_some(state))
    }

    /// Records that power has failed, and that a battery supplies the chip.
    pub fn fails(&mut self) {
        self.on_battery = true;
    }

    /// Returns true if a battery supplies the chip.
    pub fn is_on_battery(&self) -> bool {
        self.on_battery
    }

    /// Sets the nodes that the battery has to update, each as often as it occurs.
    pub fn needs(&mut self, nodes: impl Iterator<Item = Slot>) {
        let mut needed = FxHashMap::default();
        nodes.for_each(|node| *needed.entry(node).or_default() += 1);
        self.needed = Some(needed);
    }

    /// Counts one more update of each of these nodes.
    pub fn updated(&mut self, nodes: impl Iterator<Item = Slot>) {
        let Some(needed) = &mut self.needed else { return };
        for node in nodes {
            if let Some(times) = needed.get_mut(&node) {
                *times -= 1;
                if *times == 0 {
                    needed.remove(&node);
                }
            }
        }
    }

    /// Returns true if a node that leaves the chip must be written to memory.
    pub fn writes_back(&self, node: Slot) -> bool {
        self.needed.as_ref().is_none_or(|needed| needed.contains_key(&node))
    }

    /// Records that a fault was reported.
    pub fn reported(&mut self) {
        self.faulted = true;
    }

    /// Returns true if no fault was reported since power returned.
    pub fn met_no_fault(&self) -> bool {
        !self.faulted
    }

    /// Returns true if memory may not be changed: the chip has halted, and power has not failed since.
    pub fn changes_nothing(&self) -> bool {
        self.halted && !self.on_battery
    }

    /// Records that memory is about to change while the root in its register does not. Returns true if the register
    /// must be marked as outdated.
    pub fn outdates_root(&mut self, planted: PlantedBug) -> bool {
        (!self.rootless || planted.has(SessionBug::RefusalOutdatesRoot))
            && !std::mem::replace(&mut self.root_outdated, true)
    }

    /// Records that the root's register is valid again: a battery has written everything to memory.
    pub fn root_is_saved(&mut self) {
        self.root_outdated = false;
    }

    /// Records that stores to these lines are lost. Returns all lines with lost stores.
    pub fn loses(&mut self, lines: impl IntoIterator<Item = LineAddr>, planted: PlantedBug) -> BTreeSet<LineAddr> {
        if planted.has(SessionBug::LossForgetsEarlier) {
            self.lost.clear();
        }
        self.lost.extend(lines);
        self.lost.clone()
    }

    /// Returns true if the last stores to a line are lost.
    pub fn has_lost(&self, line: LineAddr) -> bool {
        self.lost.contains(&line)
    }

    /// Removes these lines, which are durable now, from the lost ones. Returns the lines that remain lost, or `None` if
    /// no line was lost.
    pub fn found_again(&mut self, lines: impl Iterator<Item = LineAddr>) -> Option<BTreeSet<LineAddr>> {
        if self.lost.is_empty() {
            return None;
        }
        lines.for_each(|line| {
            self.lost.remove(&line);
        });
        Some(self.lost.clone())
    }
}
