//! Counters of the last-level cache.

use derive_more::{AddAssign, Sub};
use serde::Serialize;

/// Events that the last-level cache has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct LlcCounters {
    /// Requested lines found in the cache.
    pub hits: u64,
    /// Requested lines found among those on their way out.
    pub hits_on_the_way_out: u64,
    /// Requested lines fetched from memory.
    pub misses: u64,
    /// Requested lines supplied by another core, which had them exclusively.
    pub from_cores: u64,
    /// Lines of `from_cores` that the last-level cache had encrypted and unverified, and could not supply.
    pub from_cores_unverified: u64,
    /// Clean lines that L2s sent back when they evicted them, because it had them encrypted and unverified.
    pub clean_writebacks: u64,
    /// Lines that the cache had encrypted and unverified, and that memory supplied because no core did. One of a run's
    /// checks.
    #[serde(skip)]
    pub stranded: u64,
    /// Lines that an L2 expected in memory, with a notification to the controller.
    pub predicted: u64,
    /// Lines of `predicted` that were on the chip: the memory request was wasted.
    pub predicted_wrongly: u64,
    /// Lines that the core already had, and requested to write.
    pub upgrades: u64,
    /// Cores probed to give a line up or to share it.
    pub probes: u64,
    /// Dirty lines written to memory.
    pub writebacks: u64,
    /// Lines of `writebacks` that a program stored past the caches.
    pub past_caches: u64,
    /// Lines written to memory because the kernel changed them.
    pub foreign_writes: u64,
    /// Sum over all misses of the time from the cache's miss to the line's release, at the controller or at an L2, in
    /// femtoseconds.
    pub miss_latency_fs: u64,
}
