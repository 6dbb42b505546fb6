//! Statistics of a core.

use derive_more::{AddAssign, Sub};
use serde::Serialize;

/// Accesses to a lookup structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct HitCounts {
    /// Number of accesses that hit.
    pub hits: u64,
    /// Accesses that missed, including accesses that waited for an earlier miss of the same entry.
    pub misses: u64,
}

/// Accesses to one private cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CacheCounts {
    /// Number of accesses that hit.
    pub hits: u64,
    /// Accesses that missed and requested the line.
    pub misses: u64,
    /// Accesses that missed and waited for an outstanding miss or prefetch of the same line.
    pub merged: u64,
    /// Dirty lines evicted to the next level.
    pub writebacks: u64,
    /// Prefetches into this cache; the other fields do not include prefetches.
    pub prefetches: PrefetchCounts,
}

/// Results of a cache's prefetches. Issued lines that are neither useful nor useless are outstanding, or in the cache
/// and not yet used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct PrefetchCounts {
    /// Number of prefetched lines.
    pub issued: u64,
    /// Issued lines that were used.
    pub useful: u64,
    /// Useful lines that were needed before they arrived.
    pub late: u64,
    /// Issued lines that were evicted without a use.
    pub useless: u64,
}

impl PrefetchCounts {
    /// Counts the first use of a prefetched line.
    pub(super) fn count_use(&mut self, late: bool) {
        self.useful += 1;
        self.late += u64::from(late);
    }
}

/// Latency of lines that arrive in L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct MissCounts {
    /// Number of lines that arrived.
    pub lines: u64,
    /// Sum of the times from the L2 miss, after a register was assigned, to the arrival of the line in L2, in core
    /// cycles.
    pub cycles: u64,
}

/// Statistics of a persist buffer: its stores and their waiting times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct PersistCounts {
    /// Stores of the program that entered the buffer. The SecPB paper calls this number per thousand instructions PPTI.
    pub stores: u64,
    /// Entries that stores allocated. The SecPB paper calls `stores` divided by this number NWPE, writes per entry.
    pub allocations: u64,
    /// Entries that were chosen for draining.
    pub drains: u64,
    /// Entries drained because another core read the line. Not included in [`PersistCounts::drains`].
    pub flushed: u64,
    /// Entries that moved to the persist buffer of another core, because that core wrote the line.
    pub given_up: u64,
    /// Cycles for which stores waited because no entry was free.
    pub full_cycles: u64,
    /// Cycles for which stores waited because the entry of their line was being drained.
    pub leaving_cycles: u64,
    /// Cycles for which stores in the buffer waited for their answers.
    pub answer_cycles: u64,
}

/// Statistics of the flushes and fences of a core's program, summed over the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct FenceCounts {
    /// Lines that the program flushed, dirty or not.
    pub flushes: u64,
    /// Number of executed persist fences.
    pub fences: u64,
    /// Persist fences that waited for flushes.
    pub fences_held: u64,
}

/// Cycles that delayed the entry of instructions into the window. If several causes overlap in a cycle, the cycle is
/// charged to the first of them in the order branch, serial, fetch, window, load queue, store queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct LostCycles {
    /// Cycles lost to misses of the instruction cache and the instruction TLB.
    pub fetch: u64,
    /// Cycles lost to the refill of the front end after mispredicted branches.
    pub branch: u64,
    /// Cycles in which the window was full or no physical register was free.
    pub window: u64,
    /// Cycles in which the load queue was full.
    pub load_queue: u64,
    /// Cycles in which the store queue was full.
    pub store_queue: u64,
    /// Cycles lost to the execution of serialising instructions.
    pub serial: u64,
    /// Cycles in which the core had no instruction to execute, because other cores had to execute their part of the
    /// program first.
    pub idle: u64,
    /// Cycles in which the core was switched to another process.
    pub switch: u64,
}

/// All statistics of a core, summed over the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct NodeCounts {
    /// Instructions that entered the window.
    pub instructions: u64,
    /// Core cycles until the latest retirement.
    pub cycles: u64,
    /// Instructions that may change the control flow.
    pub branches: u64,
    /// Branches predicted wrongly and corrected at execution.
    pub mispredicts: u64,
    /// Branches with a direct target that was unknown until decoding.
    pub misfetches: u64,
    /// Loads: each line that an instruction reads counts once per instruction.
    pub loads: u64,
    /// Stores: each line that an instruction writes counts once per instruction.
    pub stores: u64,
    /// Loads that received their data from the store queue.
    pub forwarded: u64,
    /// Stores to a line that the core held, but without permission to write it.
    pub upgrades: u64,
    /// Accesses to the first-level instruction cache; one access per change of line.
    pub l1i: CacheCounts,
    /// Accesses to the first-level data cache.
    pub l1d: CacheCounts,
    /// Accesses to the second-level cache.
    pub l2: CacheCounts,
    /// L2 misses by loads, stores and page-table walks, without instruction fetches, prefetches and upgrades.
    pub l2_data_misses: MissCounts,
    /// Look-ups of the first-level instruction TLB.
    pub itlb: HitCounts,
    /// Look-ups of the first-level data TLB.
    pub dtlb: HitCounts,
    /// Look-ups of the second-level TLB.
    pub stlb: HitCounts,
    /// Cycles that dispatch lost, by cause.
    pub lost_cycles: LostCycles,
}

impl NodeCounts {
    /// Adds the statistics of another core that ran at the same time. All fields are summed, except `cycles`, which is
    /// the maximum.
    #[must_use]
    pub fn with_core(self, other: NodeCounts) -> NodeCounts {
        let mut sum = self;
        sum += other;
        sum.cycles = self.cycles.max(other.cycles);
        sum
    }
}
