//! Statistics of a timed memory.

use crate::execution::{ReadCounts, WindowCounts};
use crate::slot::{Kind, Role};
use enum_map::EnumMap;
use serde::Serialize;
use std::ops::{AddAssign, Index, Sub};

/// Number of transferred lines, by kind. For tags behind their data: the second lines that the channel transfers for
/// data accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Traffic(EnumMap<Kind, u64>);

impl Traffic {
    pub(super) fn count(&mut self, role: Role) {
        self.0[role.kind()] += 1;
    }

    /// Number of transferred lines of all kinds.
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

/// Statistics of a timed memory so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, derive_more::AddAssign, derive_more::Sub)]
pub struct TimedCounts {
    /// Lines fetched from memory.
    pub fetched: Traffic,
    /// Lines stored to memory.
    pub stored: Traffic,
    /// Bytes fetched and stored; records of runs list them separately.
    #[serde(skip)]
    pub bytes_moved: u64,
    /// Number of AES blocks, including the masks of tags.
    pub aes_blocks: u64,
    /// Number of AES blocks that passed through the units of an L2.
    pub aes_blocks_in_l2: u64,
    /// Number of Triple-DES blocks.
    pub tdes_blocks: u64,
    /// Latencies of reads and their parts; records of runs list them separately.
    #[serde(skip)]
    pub reads: ReadCounts,
    /// Lines released in the L2 that requested them.
    pub released_in_l2: u64,
    /// Tags of data lines that were computed.
    pub macs: u64,
    /// Metadata lines that passed through the hash engine.
    pub hashes: u64,
    /// Lines that were released without verification by a tag.
    pub released_unverified: u64,
    /// Tuples that became durable.
    pub tuples: u64,
    /// Number of updates of a root's register, of the tree or of a forest, in a design with persistence.
    pub root_updates: u64,
    /// Statistics on lines released before their verdicts.
    pub ahead: WindowCounts,
}
