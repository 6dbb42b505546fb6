//! What a channel of phase-change memory is made of.

use crate::rule::rule;
use serde::{Deserialize, Serialize};
use units::{Bytes, Frequency};

/// The most banks one channel may have.
const BANKS_MAX: usize = 64;
/// The most requests one queue may hold.
const QUEUE_MAX: usize = 4096;

/// One channel of phase-change memory and its controller.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcmConfig {
    /// Bytes on the channel.
    pub capacity: Bytes,
    /// The bus's clock in megahertz; its cycle is a whole number of femtoseconds.
    pub clock_mhz: Frequency,
    /// How long one line occupies the bus, in its clocks.
    pub burst_clocks: u64,
    /// Banks that work side by side, a power of two.
    pub banks: usize,
    /// How long a bank takes to read a line, in nanoseconds.
    pub read_ns: f64,
    /// How long a bank takes to write a line, in nanoseconds.
    pub write_ns: f64,
    /// Reads that may wait for a bank.
    pub read_queue: usize,
    /// Writes that may wait for a bank, in the memory itself.
    pub write_queue: usize,
    /// Writes that may wait for the bus, in the controller's write-pending queue: the door of the persistence domain.
    pub write_pending_queue: usize,
    /// Writes are served before reads once this many wait for a bank.
    pub drain_start: usize,
    /// Reads are served again once no more than this many writes wait for a bank.
    pub drain_stop: usize,
}

impl PcmConfig {
    /// The memory of the SecPB paper (HPCA 2023, Table I): 8 GB, 55 ns to read, 150 ns to write. Banks, burst and marks are
    /// those of gem5's NVM_2400_1x64 and its controller, whose clock and queues the paper has.
    pub fn secpb() -> PcmConfig {
        PcmConfig {
            capacity: Bytes(8 << 30),
            // A tCK of 0.833 ns, as gem5 has it.
            clock_mhz: Frequency::from_ratio(1_000_000, 833),
            burst_clocks: 4,
            banks: 16,
            read_ns: 55.0,
            write_ns: 150.0,
            read_queue: 64,
            write_queue: 128,
            write_pending_queue: 32,
            drain_start: 109,
            drain_stop: 64,
        }
    }

    /// Checks that the values can describe a memory.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        let (burst, banks) = (self.burst_clocks, self.banks);
        let (start, stop, queue) = (self.drain_start, self.drain_stop, self.write_queue);
        self.clock_mhz.check().map_err(|rule| format!("clock_mhz {rule}"))?;
        rule((1..=1_000).contains(&burst), || format!("burst_clocks must be between 1 and 1000, but is {burst}"))?;
        rule(banks.is_power_of_two() && banks <= BANKS_MAX, || {
            format!("banks must be a power of two of at most {BANKS_MAX}, but is {banks}")
        })?;
        for (name, ns) in [("read_ns", self.read_ns), ("write_ns", self.write_ns)] {
            rule(ns > 0.0 && ns < 1e6, || format!("{name} must be positive and below 1000000, but is {ns}"))?;
        }
        for (name, length) in
            [("read_queue", self.read_queue), ("write_queue", queue), ("write_pending_queue", self.write_pending_queue)]
        {
            rule((1..=QUEUE_MAX).contains(&length), || {
                format!("{name} must be between 1 and {QUEUE_MAX}, but is {length}")
            })?;
        }
        rule(start <= queue, || format!("drain_start must not exceed write_queue, but {start} > {queue}"))?;
        rule(stop < start, || format!("drain_stop must be below drain_start, but {stop} >= {start}"))
    }
}
