//! What the last-level cache counts.

use derive_more::{AddAssign, Sub};
use serde::Serialize;

/// What the last-level cache has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct LlcCounters {
    /// Lines asked for and found.
    pub hits: u64,
    /// Lines asked for and found among those on their way out.
    pub hits_on_the_way_out: u64,
    /// Lines asked for and fetched from memory.
    pub misses: u64,
    /// Lines asked for and supplied by another core, which had them exclusively.
    pub from_cores: u64,
    /// Of these, lines that the last-level cache had encrypted and unverified, and could not supply itself.
    pub from_cores_unverified: u64,
    /// Clean lines that L2s sent back when they evicted them, because it had them encrypted and unverified.
    pub clean_writebacks: u64,
    /// Lines that it had encrypted and unverified, and no core supplied: memory was asked. Among a run's checks.
    #[serde(skip)]
    pub stranded: u64,
    /// Lines that an L2 expected in memory, and notified the controller of.
    pub predicted: u64,
    /// Of these, lines that were on the chip: memory was asked in vain.
    pub predicted_wrongly: u64,
    /// Lines that the core had already, and asked to write.
    pub upgrades: u64,
    /// Cores that were asked to give a line up or to share it.
    pub probes: u64,
    /// Dirty lines written to memory.
    pub writebacks: u64,
    /// Of these, lines that a program stored past the caches.
    pub past_caches: u64,
    /// Lines written to memory because the kernel changed them.
    pub foreign_writes: u64,
    /// The sum of all misses' times from the cache's miss to the released line, in femtoseconds; to where it is released, be
    /// that the controller or an L2.
    pub miss_latency_fs: u64,
}
