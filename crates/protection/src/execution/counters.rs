//! What a timed memory counts.

use crate::execution::{ReadCounters, WindowCounters};
use crate::slot::{Kind, Role};
use enum_map::EnumMap;
use serde::Serialize;
use std::ops::{AddAssign, Index, Sub};

/// Lines moved, by kind. Of tags that lie behind their data, what is moved for data beyond a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Traffic(EnumMap<Kind, u64>);

impl Traffic {
    pub(super) fn count(&mut self, role: Role) {
        self.0[role.kind()] += 1;
    }

    /// Of everything.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

impl Index<Kind> for Traffic {
    type Output = u64;

    fn index(&self, kind: Kind) -> &u64 {
        &self.0[kind]
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Traffic) {
        self.0.iter_mut().for_each(|(kind, lines)| *lines += other[kind]);
    }
}

impl Sub for Traffic {
    type Output = Traffic;

    fn sub(self, other: Traffic) -> Traffic {
        Traffic(EnumMap::from_fn(|kind| self[kind] - other[kind]))
    }
}

/// What a timed memory has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, derive_more::AddAssign, derive_more::Sub)]
pub struct TimedCounters {
    /// Lines fetched from memory.
    pub fetched: Traffic,
    /// Lines stored to memory.
    pub stored: Traffic,
    /// Bytes of both: a record has it by itself.
    #[serde(skip)]
    pub bytes_moved: u64,
    /// AES blocks, the masks of tags among them.
    pub aes_blocks: u64,
    /// Those of them that went through the units of an L2.
    pub aes_blocks_in_l2: u64,
    /// Blocks of Triple-DES.
    pub tdes_blocks: u64,
    /// What reads took, and what for: a record has it by itself.
    #[serde(skip)]
    pub reads: ReadCounters,
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
    /// How often a root's register was set, of the tree or of a forest, of a design with persistence.
    pub root_updates: u64,
    /// Lines released before their verdicts.
    pub ahead: WindowCounters,
}
