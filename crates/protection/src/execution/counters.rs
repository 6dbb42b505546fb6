//! What a timed memory counts.

use crate::execution::WindowCounters;
use crate::verbs::Role;
use derive_more::{AddAssign, Sub};
use serde::Serialize;

/// Lines moved, by role: data, counters, tags, nodes, owners.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Traffic {
    /// Of data.
    pub data: u64,
    /// Of counters.
    pub counters: u64,
    /// Of tags. Where they lie behind their data, what is moved for data beyond a line.
    pub tags: u64,
    /// Of tree nodes.
    pub nodes: u64,
    /// Of the table of owners.
    pub owners: u64,
}

impl Traffic {
    pub(super) fn count(&mut self, role: Role) {
        match role {
            Role::Data => self.data += 1,
            Role::Counter => self.counters += 1,
            Role::Tag => self.tags += 1,
            Role::Node(_) => self.nodes += 1,
            Role::Owner => self.owners += 1,
        }
    }

    /// Of everything.
    pub fn total(&self) -> u64 {
        self.data + self.counters + self.tags + self.nodes + self.owners
    }
}

/// What a timed memory has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct TimedCounters {
    /// Lines fetched from memory.
    pub fetched: Traffic,
    /// Lines stored to memory.
    pub stored: Traffic,
    /// AES blocks, the masks of tags among them.
    pub aes_blocks: u64,
    /// Those of them that went through the units of an L2.
    pub aes_blocks_in_l2: u64,
    /// Lines released in the L2 that asked for them.
    pub released_in_l2: u64,
    /// Tags of data lines computed.
    pub macs: u64,
    /// Lines of metadata that went through the engine for hashes.
    pub hashes: u64,
    /// Lines released without anything vouching for them.
    pub released_unverified: u64,
    /// Tuples that became durable.
    pub tuples: u64,
    /// Lines released ahead of their verdicts.
    pub ahead: WindowCounters,
}
