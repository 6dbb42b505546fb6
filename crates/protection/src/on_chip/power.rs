//! What losses of power, and what stopped a write half-way, leave for the chip to know.

use crate::slot::Slot;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use units::LineAddr;

/// What the chip knows of its memory beside what that holds.
#[derive(Clone, Debug, Default)]
pub struct Power {
    /// Recovery has refused the memory, so there is no root: nothing that is not on the chip is believed any more.
    pub rootless: bool,
    /// Recovery has accepted a memory: what the machine starts with has been there since it was new.
    pub recovered: bool,
    /// A tuple was given up half-way, so the chip is ahead of what is durable: nothing changes memory until power returns.
    pub halted: bool,
    /// Whether power has failed, and a battery is at work.
    on_battery: bool,
    /// Whether anything was reported since power came: a write under way may have come to nothing by that.
    faulted: bool,
    /// Nodes of the tree that the battery has still to update, with how often. Recovery computes all nodes from the counters, so
    /// memory needs none.
    needed: Option<FxHashMap<Slot, u32>>,
    /// Whether the register of the root is outdated, where durable caches have changed memory.
    root_outdated: bool,
    /// Lines whose durable stores a battery could not take to memory: they are refused until they are written again.
    lost: BTreeSet<LineAddr>,
}

impl Power {
    /// Power has failed, and a battery begins its work.
    pub fn fails(&mut self) {
        self.on_battery = true;
    }

    /// The battery has these nodes to update, each as often as it is named.
    pub fn needs(&mut self, nodes: impl Iterator<Item = Slot>) {
        let mut needed = FxHashMap::default();
        nodes.for_each(|node| *needed.entry(node).or_default() += 1);
        self.needed = Some(needed);
    }

    /// These nodes were updated once more.
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

    /// Whether memory has to get a node that leaves the chip.
    pub fn writes_back(&self, node: Slot) -> bool {
        self.needed.as_ref().is_none_or(|needed| needed.contains_key(&node))
    }

    /// Something was reported.
    pub fn reported(&mut self) {
        self.faulted = true;
    }

    /// Whether nothing was reported since power came.
    pub fn met_no_fault(&self) -> bool {
        !self.faulted
    }

    /// Whether memory may not be changed: the chip has halted, and power has not failed since.
    pub fn changes_nothing(&self) -> bool {
        self.halted && !self.on_battery
    }

    /// Memory is about to change behind the root in its register; whether the register has to be told.
    pub fn outdates_root(&mut self) -> bool {
        !self.rootless && !std::mem::replace(&mut self.root_outdated, true)
    }

    /// Stores to these lines are lost, beside those that are: all that are.
    pub fn loses(&mut self, lines: impl IntoIterator<Item = LineAddr>) -> BTreeSet<LineAddr> {
        self.lost.extend(lines);
        self.lost.clone()
    }

    /// Whether the last stores to a line are lost.
    pub fn has_lost(&self, line: LineAddr) -> bool {
        self.lost.contains(&line)
    }

    /// Lines are durable that may have been lost before: those that still are, if these are fewer.
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
