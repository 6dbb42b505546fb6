//! Statistics of a memory channel.

use super::{Kind, RowOutcome};
use crate::channel::BackgroundCounts;
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use units::Duration;

/// Waiting times of the requests of one kind in their queue, for a memory with commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct QueueCounts {
    /// Requests with a first command: an activate, a precharge or the column command.
    pub requests: u64,
    /// Sum of the memory clocks from entering the queue to that command (EMCC, MICRO 2022, figure 22).
    pub clocks: u64,
}

/// Statistics of the queues of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct QueuesCounts {
    /// Waiting times of reads before their first commands.
    #[serde(rename = "read_queue")]
    pub reads: QueueCounts,
    /// Waiting times of writes before their first commands.
    #[serde(rename = "write_queue")]
    pub writes: QueueCounts,
    /// Counts of background requests.
    pub background: BackgroundCounts,
}

/// Statistics of a channel, summed since power-on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct DramCounts {
    /// Number of submitted reads.
    pub reads: u64,
    /// Number of submitted writes.
    pub writes: u64,
    /// Reads answered from the write queue.
    pub forwarded: u64,
    /// Writes that replaced a waiting write of the same line.
    pub merged: u64,
    /// Number of activate commands.
    pub activates: u64,
    /// Precharge commands; a command that closes all banks of a rank counts once.
    pub precharges: u64,
    /// Number of refresh commands.
    pub refreshes: u64,
    /// Requests that found their row open.
    pub row_hits: u64,
    /// Requests that found their bank closed.
    pub row_closed: u64,
    /// Requests that found another row open.
    pub row_conflicts: u64,
    /// The sum over all reads of the time from submission to the last data.
    pub read_latency: Duration,
    /// Memory clocks in which the data bus transferred data.
    pub data_bus_busy_clocks: u64,
    /// Requests in the queues.
    #[serde(flatten)]
    pub queues: QueuesCounts,
}

impl DramCounts {
    /// Counts the bank state that a request found, when its first command issues, `waited` clocks after the arrival of
    /// the request.
    pub(super) fn count_first_command(&mut self, kind: Kind, outcome: RowOutcome, waited: u64) {
        let queue = match kind {
            Kind::Read => &mut self.queues.reads,
            Kind::Write => &mut self.queues.writes,
        };
        *queue += QueueCounts { requests: 1, clocks: waited };
        match outcome {
            RowOutcome::Hit => self.row_hits += 1,
            RowOutcome::Closed => self.row_closed += 1,
            RowOutcome::Conflict => self.row_conflicts += 1,
        }
    }
}
