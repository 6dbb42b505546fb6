//! What a core counted.

use derive_more::{AddAssign, Sub};
use serde::Serialize;

/// Accesses to a table that either has the thing or has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct HitCounters {
    /// Found.
    pub hits: u64,
    /// Not found; those that joined an earlier miss of the same thing are among them.
    pub misses: u64,
}

/// Accesses to one private cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CacheCounters {
    /// Found.
    pub hits: u64,
    /// Not found, and the first to send for the line.
    pub misses: u64,
    /// Not found, and joined to an earlier miss of the same line, or to its prefetch.
    pub merged: u64,
    /// Dirty lines that left for the next level.
    pub writebacks: u64,
    /// What its prefetcher did; none of that is in the other counts.
    pub prefetches: PrefetchCounters,
}

/// What came of a cache's prefetches. Those neither useful nor useless are under way or still waiting for a use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct PrefetchCounters {
    /// Lines prefetched.
    pub issued: u64,
    /// Of these, used.
    pub useful: u64,
    /// Of those used, wanted before they had arrived.
    pub late: u64,
    /// Of those issued, gone without a use.
    pub useless: u64,
}

impl PrefetchCounters {
    /// The first use of a line that was prefetched.
    pub(super) fn count_use(&mut self, late: bool) {
        self.useful += 1;
        self.late += u64::from(late);
    }
}

/// The time that lines took to come into L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct MissCounters {
    /// Lines that came.
    pub lines: u64,
    /// The sum of the times from L2's miss, with a register for it, to the line's arrival there, in core cycles.
    pub cycles: u64,
}

/// Stores into a persist buffer, and what they waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct PersistCounters {
    /// Stores of the program that entered it. SecPB's PPTI is a thousand of these by instructions.
    pub stores: u64,
    /// Entries that they allocated. Its NWPE, writes per entry, is stores by these.
    pub allocations: u64,
    /// Entries that were chosen to be drained.
    pub drains: u64,
    /// Entries that left because another core read the line. Not among [`PersistCounters::drains`].
    pub flushed: u64,
    /// Entries that went over to the buffer of another core, which wrote the line.
    pub given_up: u64,
    /// Cycles that stores waited because no entry was free.
    pub full_cycles: u64,
    /// Cycles that stores waited because the entry of their line was leaving.
    pub leaving_cycles: u64,
    /// Cycles that stores that had entered waited for their answers.
    pub answer_cycles: u64,
}

/// What a core's program has flushed and fenced; plain sums over the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct EpochCounters {
    /// Lines that it flushed, dirty or not.
    pub flushes: u64,
    /// Persist fences.
    pub fences: u64,
    /// Of these, fences that waited for flushes.
    pub fences_held: u64,
}

/// Cycles by which the entry of instructions into the window was put off, each charged to the first cause that reached so far: in
/// the order branch, serial, fetch, window, load queue, store queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct LostCycles {
    /// Instruction cache, instruction TLB.
    pub fetch: u64,
    /// Refill after branches gone wrong.
    pub branch: u64,
    /// The window was full, or there was no physical register.
    pub window: u64,
    /// The load queue was full.
    pub load_queue: u64,
    /// The store queue was full.
    pub store_queue: u64,
    /// Serialising instructions.
    pub serial: u64,
    /// There was nothing to execute, because other cores' part of the program had to come first.
    pub idle: u64,
    /// The core was switched to another process.
    pub switch: u64,
}

/// Everything that a core counts; plain sums over the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct NodeCounters {
    /// Instructions that entered the window.
    pub instructions: u64,
    /// Core cycles until the latest retirement.
    pub cycles: u64,
    /// Instructions that may change the flow of control.
    pub branches: u64,
    /// Of these, predicted wrongly and found so at execution.
    pub mispredicts: u64,
    /// Of these, with a direct target that was unknown until decoding.
    pub misfetches: u64,
    /// Lines read by instructions, once per instruction and line.
    pub loads: u64,
    /// Lines written by instructions, once per instruction and line.
    pub stores: u64,
    /// Loads that took their data from the store queue.
    pub forwarded: u64,
    /// Stores that found their line held, but perhaps by other cores too.
    pub upgrades: u64,
    /// The first-level instruction cache; one access per change of line.
    pub l1i: CacheCounters,
    /// The first-level data cache.
    pub l1d: CacheCounters,
    /// The second-level cache.
    pub l2: CacheCounters,
    /// Its misses by loads, stores and page-table walks: not those by instruction fetch, nor prefetches, nor upgrades.
    pub l2_data_misses: MissCounters,
    /// The first-level instruction TLB.
    pub itlb: HitCounters,
    /// The first-level data TLB.
    pub dtlb: HitCounters,
    /// The second-level TLB.
    pub stlb: HitCounters,
    /// Where dispatch lost time.
    pub lost_cycles: LostCycles,
}

impl NodeCounters {
    /// What this core and another counted: sums, but of the cycles, which passed at the same time, the most.
    #[must_use]
    pub fn beside(self, other: NodeCounters) -> NodeCounters {
        let mut sum = self;
        sum += other;
        sum.cycles = self.cycles.max(other.cycles);
        sum
    }
}
