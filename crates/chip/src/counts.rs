//! All counters of a machine at one moment; the difference of two readings counts a part of a run.

use crate::chip::{Chip, LlcCounters};
use crate::predictability::Predictions;
use crate::shadow::Shadow;
use crate::waits::LostCycleTotals;
use derive_more::{AddAssign, Sub};
use machine::dram::DramCounters;
use machine::memory::MemorySystem;
use machine::node::{EpochCounters, NodeCounters, PersistCounters};
use protection::execution::{TimedCounters, TimedMemory};
use protection::on_chip::{ChipState, CopyCounters, MetadataCacheCounters};
use protection::scheme::{Scheme, SchemeCounters};
use protection::slot::Kind;
use std::cell::RefCell;
use std::rc::Rc;

/// Counters of the metadata caches, by the metadata that they hold.
#[derive(Clone, Copy, Debug, Default, AddAssign, Sub)]
pub struct CachesOfMetadata {
    /// Cache of counters, which also holds the owners.
    pub counters: MetadataCacheCounters,
    /// Cache of MAC tags.
    pub tags: MetadataCacheCounters,
    /// Cache of tree nodes.
    pub nodes: MetadataCacheCounters,
    /// Cache of bitmaps of re-ordered lines.
    pub bitmaps: MetadataCacheCounters,
}

/// Counts up to a moment, or in a part of a run.
#[derive(Clone, Copy, Debug, Default, AddAssign, Sub)]
pub struct Counts {
    /// Counters of the cores and their private caches.
    pub node: NodeCounters,
    /// Counters of the persist buffers.
    pub persist: PersistCounters,
    /// Flushes and fences of the cores.
    pub epochs: EpochCounters,
    /// Counters of the last-level cache.
    pub llc: LlcCounters,
    /// Time that the cores lost, by cause.
    pub waits: LostCycleTotals,
    /// Counters of the timed memory.
    pub protection: TimedCounters,
    /// Counters of the scheme, independent of its mode.
    pub scheme: SchemeCounters,
    /// Counters of the metadata caches.
    pub caches: CachesOfMetadata,
    /// Look-ups of counters in the last-level cache.
    pub last_level_counters: MetadataCacheCounters,
    /// Look-ups of tree nodes in the last-level cache.
    pub last_level_nodes: MetadataCacheCounters,
    /// Copies of counters in L2s.
    pub copies: CopyCounters,
    /// Counters of all memory channels together.
    pub dram: DramCounters,
}

impl Counts {
    /// Bytes of all reads and writes of memory.
    pub fn dram_bytes(&self) -> u64 {
        self.protection.bytes_moved
    }

    /// Counters of the caches of counters, tags, tree nodes and bitmaps.
    pub fn metadata_caches(&self) -> [MetadataCacheCounters; Kind::CACHES] {
        let CachesOfMetadata { counters, tags, nodes, bitmaps } = self.caches;
        [counters, tags, nodes, bitmaps]
    }
}

/// Components that the counters are read from.
#[derive(Clone)]
pub struct Meters {
    /// Chip with the cores and the last-level cache.
    pub chip: Rc<Chip>,
    /// Scheme with the metadata caches.
    pub scheme: Rc<Scheme>,
    /// Timed memory with the counters of protection.
    pub memory: Rc<TimedMemory>,
    /// Channels of the memory system.
    pub channels: MemorySystem,
    /// Shadow with the content of lines.
    pub shadow: Rc<RefCell<Shadow>>,
}

impl Meters {
    /// Number of instructions that have entered the windows of all cores.
    pub fn instructions(&self) -> u64 {
        self.chip.cores.nodes().iter().map(|node| node.borrow().instructions()).sum()
    }

    /// Counters of each core up to now.
    pub fn cores(&self) -> Vec<NodeCounters> {
        self.chip.cores.nodes().iter().map(|node| node.borrow().counters()).collect()
    }

    /// Prediction results of the tables of frequent values up to now.
    pub fn predicted(&self) -> Predictions {
        self.shadow.borrow().predicted()
    }

    /// Reads all counters of the run.
    pub fn read(&self) -> Counts {
        let caches = self.scheme.on_chip(|chip| chip.caches.seen);
        let last_level = self.scheme.on_chip(|chip| chip.shared_counters()).unwrap_or_default();
        let nodes = self.chip.cores.nodes();
        Counts {
            node: self.cores().into_iter().reduce(NodeCounters::with_core).unwrap_or_default(),
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
            copies: self.scheme.on_chip(ChipState::copy_counters).unwrap_or_default(),
            dram: self.channels.counters(),
        }
    }
}

/// Sum of the counters.
fn sum<C: Default + std::ops::AddAssign>(counters: impl Iterator<Item = C>) -> C {
    counters.fold(C::default(), |mut sum, more| {
        sum += more;
        sum
    })
}
