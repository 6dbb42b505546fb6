//! All counters of a machine at one moment, so that a stretch of a run can be counted as a difference.

use crate::chip::{Chip, LlcCounters};
use crate::predictability::Predictions;
use crate::shadow::Shadow;
use crate::waits::Waits;
use derive_more::{AddAssign, Sub};
use machine::dram::DramCounters;
use machine::memory::MemorySystem;
use machine::node::{EpochCounters, NodeCounters, PersistCounters};
use protection::execution::{TimedCounters, TimedMemory};
use protection::on_chip::{CacheCounters, CopyCounters, OnChip};
use protection::scheme::{Scheme, SchemeCounters};
use protection::slot::Kind;
use std::cell::RefCell;
use std::rc::Rc;

/// What caches of metadata counted, by what they are for.
#[derive(Clone, Copy, Debug, Default, AddAssign, Sub)]
pub struct CachesOfMetadata {
    /// Of counters, in which owners are looked up as well.
    pub counters: CacheCounters,
    /// Of tags.
    pub tags: CacheCounters,
    /// Of tree nodes.
    pub nodes: CacheCounters,
    /// Of bitmaps.
    pub bitmaps: CacheCounters,
}

/// What was counted up to a moment, or in a stretch.
#[derive(Clone, Copy, Debug, Default, AddAssign, Sub)]
pub struct Counts {
    /// The core and its private caches.
    pub node: NodeCounters,
    /// The cores' persist buffers.
    pub persist: PersistCounters,
    /// What cores flushed and fenced.
    pub epochs: EpochCounters,
    /// The last-level cache.
    pub llc: LlcCounters,
    /// What the cores lost.
    pub waits: Waits,
    /// What protection did.
    pub protection: TimedCounters,
    /// What protection counted wherever it was done.
    pub scheme: SchemeCounters,
    /// The caches of metadata.
    pub caches: CachesOfMetadata,
    /// Counters in the last-level cache.
    pub last_level_counters: CacheCounters,
    /// Nodes of the tree there.
    pub last_level_nodes: CacheCounters,
    /// Copies of counters in L2s.
    pub copies: CopyCounters,
    /// All memory channels together.
    pub dram: DramCounters,
}

impl Counts {
    /// All reads and writes of memory, in bytes.
    pub fn dram_bytes(&self) -> u64 {
        self.protection.bytes_moved
    }

    /// The caches of counters, tags, tree nodes and bitmaps.
    pub fn metadata_caches(&self) -> [CacheCounters; Kind::CACHES] {
        let CachesOfMetadata { counters, tags, nodes, bitmaps } = self.caches;
        [counters, tags, nodes, bitmaps]
    }
}

/// Where the counters are.
#[derive(Clone)]
pub struct Meters {
    /// The core and the last-level cache.
    pub chip: Rc<Chip>,
    /// The metadata caches.
    pub scheme: Rc<Scheme>,
    /// The protection.
    pub memory: Rc<TimedMemory>,
    /// The memory.
    pub channels: MemorySystem,
    /// The content of lines.
    pub shadow: Rc<RefCell<Shadow>>,
}

impl Meters {
    /// How many instructions have entered the windows of all cores.
    pub fn instructions(&self) -> u64 {
        self.chip.cores.nodes().iter().map(|node| node.borrow().instructions()).sum()
    }

    /// What each core has counted up to now.
    pub fn cores(&self) -> Vec<NodeCounters> {
        self.chip.cores.nodes().iter().map(|node| node.borrow().counters()).collect()
    }

    /// What tables of frequent values would have predicted up to now.
    pub fn predicted(&self) -> Predictions {
        self.shadow.borrow().predicted()
    }

    /// What was counted up to now.
    pub fn read(&self) -> Counts {
        let caches = self.scheme.on_chip(|chip| chip.caches.seen);
        let last_level = self.scheme.on_chip(|chip| chip.shared_counters()).unwrap_or_default();
        let nodes = self.chip.cores.nodes();
        Counts {
            node: self.cores().into_iter().reduce(NodeCounters::beside).unwrap_or_default(),
            persist: sum(nodes.iter().filter_map(|node| node.borrow().persist_counters())),
            epochs: sum(nodes.iter().filter_map(|node| node.borrow().epoch_counters())),
            llc: self.chip.counters(),
            waits: self.chip.waits(),
            protection: self.memory.counters(),
            scheme: self.scheme.counted(),
            caches: CachesOfMetadata {
                counters: caches[Kind::Counters] + caches[Kind::Owners],
                tags: caches[Kind::Tags],
                nodes: caches[Kind::Nodes],
                bitmaps: caches[Kind::Bitmaps],
            },
            last_level_counters: last_level[Kind::Counters],
            last_level_nodes: last_level[Kind::Nodes],
            copies: self.scheme.on_chip(OnChip::copy_counters).unwrap_or_default(),
            dram: self.channels.counters(),
        }
    }
}

/// What all of some counted.
fn sum<C: Default + std::ops::AddAssign>(counters: impl Iterator<Item = C>) -> C {
    counters.fold(C::default(), |mut sum, more| {
        sum += more;
        sum
    })
}
