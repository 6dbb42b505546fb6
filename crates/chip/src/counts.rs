//! All statistics of a machine at one moment. The difference of two readings gives the statistics of a part of a run.

use crate::chip::{Chip, LlcCounts};
use crate::predictability::Predictions;
use crate::shadow::Shadow;
use crate::waits::LostCycleTotals;
use crate::word_counts::FrequentWord;
use enum_map::EnumMap;
use machine::dram::DramCounts;
use machine::memory::MemorySystem;
use machine::node::{FenceCounts, NodeCounts, PersistCounts, PersistPath};
use protection::execution::{TimedCounts, TimedMemory};
use protection::on_chip::{CopyCounts, MetadataCacheCounts};
use protection::scheme::{Scheme, SchemeCounts};
use protection::slot::{Kind, MetadataCacheKind};
use std::cell::RefCell;
use std::ops::{AddAssign, Sub};
use std::rc::Rc;

/// Statistics of the metadata caches.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetadataCachesCounts(EnumMap<MetadataCacheKind, MetadataCacheCounts>);

impl MetadataCachesCounts {
    /// Adds up the statistics of the kinds in each cache.
    fn of(seen: EnumMap<Kind, MetadataCacheCounts>) -> MetadataCachesCounts {
        let mut caches = MetadataCachesCounts::default();
        for (kind, seen) in seen {
            if let Some(cache) = kind.cache() {
                caches.0[cache] += seen;
            }
        }
        caches
    }
}

impl AddAssign for MetadataCachesCounts {
    fn add_assign(&mut self, other: MetadataCachesCounts) {
        self.0.iter_mut().for_each(|(cache, sum)| *sum += other.0[cache]);
    }
}

impl Sub for MetadataCachesCounts {
    type Output = MetadataCachesCounts;

    fn sub(self, other: MetadataCachesCounts) -> MetadataCachesCounts {
        MetadataCachesCounts(EnumMap::from_fn(|cache| self.0[cache] - other.0[cache]))
    }
}

/// Statistics up to a moment, or of a part of a run.
#[derive(Clone, Copy, Debug, Default, derive_more::AddAssign, derive_more::Sub)]
pub struct Counts {
    /// Statistics of the cores and their private caches.
    pub node: NodeCounts,
    /// Statistics of the persist buffers.
    pub persist: PersistCounts,
    /// Statistics of the flushes and fences of the cores.
    pub epochs: FenceCounts,
    /// Statistics of the last-level cache.
    pub llc: LlcCounts,
    /// Time that the cores lost, by cause.
    pub waits: LostCycleTotals,
    /// Statistics of the timed memory.
    pub protection: TimedCounts,
    /// Statistics of the scheme that do not depend on its mode (functional or timed).
    pub scheme: SchemeCounts,
    /// Statistics of the metadata caches.
    pub caches: MetadataCachesCounts,
    /// Look-ups of encryption counters in the last-level cache.
    pub last_level_counters: MetadataCacheCounts,
    /// Look-ups of tree nodes in the last-level cache.
    pub last_level_nodes: MetadataCacheCounts,
    /// Statistics of the copies of encryption counters in L2s.
    pub copies: CopyCounts,
    /// Statistics of all memory channels, summed.
    pub dram: DramCounts,
}

impl Counts {
    /// Bytes of all reads and writes of memory.
    pub fn dram_bytes(&self) -> u64 {
        self.protection.bytes_moved
    }

    /// Statistics of the metadata caches, in the order of [`MetadataCacheKind`].
    pub fn metadata_caches(&self) -> [MetadataCacheCounts; MetadataCacheKind::COUNT] {
        self.caches.0.into_array()
    }
}

/// Components from which the statistics are read.
#[derive(Clone)]
pub struct Meters {
    /// Chip with the cores and the last-level cache.
    pub chip: Rc<Chip>,
    /// Scheme with the metadata caches.
    pub scheme: Rc<Scheme>,
    /// Timed memory with the statistics of the protection.
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

    /// Statistics of each core up to now.
    pub fn cores(&self) -> Vec<NodeCounts> {
        self.chip.cores.nodes().iter().map(|node| node.borrow().counts()).collect()
    }

    /// The words that were most frequent in lines to and from memory; none without tables of frequent values.
    pub fn most_frequent(&self) -> Vec<FrequentWord> {
        self.shadow.borrow().predictability().most_frequent()
    }

    /// Predictability results of the tables of frequent values up to now.
    pub fn predicted(&self) -> Predictions {
        self.shadow.borrow().predictability().seen()
    }

    /// Reads all statistics of the run.
    pub fn read(&self) -> Counts {
        let (caches, last_level, copies) = self
            .scheme
            .fixed()
            .map(|scheme| scheme.on_chip(|chip| (chip.caches.seen, chip.shared_counts(), chip.copy_counts())))
            .unwrap_or_default();
        let last_level = last_level.unwrap_or_default();
        let nodes = self.chip.cores.nodes();
        Counts {
            node: self.cores().into_iter().reduce(NodeCounts::with_core).unwrap_or_default(),
            persist: sum(nodes.iter().filter_map(|node| node.borrow().persist_buffer().map(PersistPath::counts))),
            epochs: sum(nodes.iter().filter_map(|node| node.borrow().fence_counts())),
            llc: self.chip.llc.counts(),
            waits: self.chip.account.waits(&self.chip.cores),
            protection: self.memory.counts(),
            scheme: self.scheme.counted(),
            caches: MetadataCachesCounts::of(caches),
            last_level_counters: last_level[Kind::Counters],
            last_level_nodes: last_level[Kind::Nodes],
            copies: copies.unwrap_or_default(),
            dram: self.channels.counts(),
        }
    }
}

/// Sum of the statistics of several components.
fn sum<C: Default + std::ops::AddAssign>(counts: impl Iterator<Item = C>) -> C {
    counts.fold(C::default(), |mut sum, more| {
        sum += more;
        sum
    })
}
