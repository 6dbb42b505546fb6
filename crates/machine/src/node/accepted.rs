//! Interface to the stores that L1D has accepted, for the simulation of a loss of power with durable caches.
//!
//! L1D receives the stores of a program out of order: a store that hits is written while an earlier one waits for its line.
//! It counts as accepted when it leaves the store queue, or the write buffer behind the queue, in program order.

use super::Node;
use super::pipeline::stores::StoreQueue;
use units::{Clock, Cycles, LineAddr, Time};

/// The stores of one core that L1D has received.
pub struct AcceptedStores<'a> {
    clock: Clock,
    stores: &'a mut StoreQueue,
}

impl Node {
    /// Returns the stores that L1D has received.
    pub fn accepted_stores(&mut self) -> AcceptedStores<'_> {
        AcceptedStores { clock: self.clock, stores: &mut self.core.stores }
    }
}

impl AcceptedStores<'_> {
    /// Returns the stores of the program that left the store queue since the last call, in program order: one for each touch as
    /// passed by the feed. Times do not decrease. Empty unless
    /// [`NodeConfig::reports_stores`](super::NodeConfig::reports_stores) is set.
    pub fn take(&mut self) -> impl Iterator<Item = (Time, LineAddr)> + use<> {
        let clock = self.clock;
        self.stores.take_written().into_iter().map(move |(cycle, line)| (clock.start_of(Cycles(cycle)), line))
    }

    /// Number of stores to a line that are in L1D, or in a combining buffer, while an earlier store keeps them in the queue.
    pub fn in_queue(&self, line: LineAddr) -> u32 {
        self.stores.written_early(line)
    }
}
