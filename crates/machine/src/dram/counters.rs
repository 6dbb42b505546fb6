//! What a channel has done.

use super::{Kind, RowOutcome};
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use units::Duration;

/// How long requests of one kind waited in their queue, in a memory with commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct QueueCounters {
    /// Requests that have had their first command: an activate, a precharge or the one that moves the line.
    pub requests: u64,
    /// The sum of the memory clocks from their entry into the queue to that (EMCC, MICRO 2022, figure 22).
    pub clocks: u64,
}

/// Totals since power-on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct DramCounters {
    /// Reads submitted.
    pub reads: u64,
    /// Writes submitted.
    pub writes: u64,
    /// Reads answered from the write queue.
    pub forwarded: u64,
    /// Writes that replaced a waiting write of the same line.
    pub merged: u64,
    /// Activate commands.
    pub activates: u64,
    /// Precharge commands; closing all banks of a rank is one.
    pub precharges: u64,
    /// Refresh commands.
    pub refreshes: u64,
    /// Requests that found their row open.
    pub row_hits: u64,
    /// Requests that found their bank closed.
    pub row_closed: u64,
    /// Requests that found another row open.
    pub row_conflicts: u64,
    /// The sum over all reads of the time from submission to the last data.
    pub read_latency: Duration,
    /// Memory clocks in which the data bus moved data.
    pub data_bus_busy_clocks: u64,
    /// How long reads waited for their first commands.
    pub read_queue: QueueCounters,
    /// How long writes did.
    pub write_queue: QueueCounters,
}

impl DramCounters {
    /// Counts how a request found its bank, with its first command, which came so many clocks after it.
    pub(super) fn count_first_command(&mut self, kind: Kind, outcome: RowOutcome, waited: u64) {
        let queue = match kind {
            Kind::Read => &mut self.read_queue,
            Kind::Write => &mut self.write_queue,
        };
        *queue += QueueCounters { requests: 1, clocks: waited };
        match outcome {
            RowOutcome::Hit => self.row_hits += 1,
            RowOutcome::Closed => self.row_closed += 1,
            RowOutcome::Conflict => self.row_conflicts += 1,
        }
    }
}
