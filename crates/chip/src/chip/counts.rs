//! Statistics of the last-level cache.

use derive_more::{AddAssign, Sub};
use serde::Serialize;

/// Statistics of the last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct LlcCounts {
    /// Requested lines found in the cache.
    pub hits: u64,
    /// Requested lines found among the lines on their way from the cache to memory.
    pub hits_on_the_way_out: u64,
    /// Requested lines fetched from memory.
    pub misses: u64,
    /// Requested lines supplied by another core, which held them exclusive or modified.
    pub from_cores: u64,
    /// Lines of `from_cores` that the last-level cache had encrypted and unverified, and could not supply.
    pub from_cores_unverified: u64,
    /// Clean lines that L2s sent back when they evicted them, because the last-level cache had them encrypted and
    /// unverified.
    pub clean_writebacks: u64,
    /// Lines that the cache had encrypted and unverified, and that memory supplied because no core did. A run checks
    /// that this number is zero.
    #[serde(skip)]
    pub stranded: u64,
    /// Lines that an L2 predicted to be in memory, and for which it notified the controller.
    pub predicted: u64,
    /// Lines of `predicted` that were on the chip: the memory request was wasted.
    pub predicted_wrongly: u64,
    /// Requests for write permission on lines that the core already held.
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
