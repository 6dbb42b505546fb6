//! The load queue: loads between dispatch and retirement, the latencies on their path, and loads that take their data
//! from stores.

use crate::node::config::NodeConfig;
use crate::node::pipeline::plan::DependentInput;
use crate::node::pipeline::queue::Queue;
use crate::node::pipeline::read_queue::ReadQueue;
use crate::node::pipeline::stores::Forward;
use crate::node::pipeline::window::{Dependent, ReorderWindow};

/// The load queue of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct LoadQueue {
    queue: Queue,
    /// Queue in front of L1D, if loads are merged in it.
    pub(in crate::node) read_queue: Option<ReadQueue>,
    start_latency: u64,
    return_latency: u64,
    forward_latency: u64,
    partial_forward_penalty: u64,
    /// Loads that took their data from a store.
    forwarded: u64,
}

impl LoadQueue {
    pub(in crate::node) fn new(config: &NodeConfig) -> LoadQueue {
        LoadQueue {
            queue: Queue::new(config.load_queue),
            read_queue: config.read_queue_ports.map(ReadQueue::new),
            start_latency: config.load_start_cycles,
            return_latency: config.load_return_cycles,
            forward_latency: config.forward_latency_cycles,
            partial_forward_penalty: config.partial_forward_penalty_cycles,
            forwarded: 0,
        }
    }

    /// Returns the number of loads so far.
    pub(in crate::node) fn entered(&self) -> u64 {
        self.queue.entered()
    }

    /// Returns the number of loads that took their data from a store.
    pub(in crate::node) fn forwarded(&self) -> u64 {
        self.forwarded
    }

    /// Returns the cycle from which `count` more loads may enter, or `None` if that cycle is not known yet.
    #[inline]
    pub(in crate::node) fn room(&self, count: u32) -> Option<u64> {
        self.queue.room(count.into())
    }

    /// Enters `count` loads, which retire later.
    #[inline]
    pub(in crate::node) fn enter(&mut self, count: u32) {
        self.queue.enter_many(count.into());
    }

    /// Removes the oldest `count` loads, which retire at `cycle`.
    #[inline]
    pub(in crate::node) fn leave(&mut self, count: u32, cycle: u64) {
        for _ in 0..count {
            self.queue.leave(cycle);
        }
    }

    /// Returns the cycle at which a load that is issued at `cycle` starts its access.
    #[inline]
    pub(in crate::node) fn start(&self, cycle: u64) -> u64 {
        cycle + self.start_latency
    }

    /// Returns the cycle at which the core can use data that L1D has at `cycle`.
    #[inline]
    pub(in crate::node) fn usable(&self, cycle: u64) -> u64 {
        cycle + self.return_latency
    }

    /// Forwards the data of load `number` from a store. Returns the cycle of the data, or `None` if the time of the
    /// store's data is not known yet. The load is then woken later.
    pub(in crate::node) fn forward(
        &mut self,
        number: u64,
        forward: Forward,
        start: u64,
        window: &mut ReorderWindow,
    ) -> Option<u64> {
        self.forwarded += 1;
        let penalty = if forward.covers { 0 } else { self.partial_forward_penalty };
        let delay = self.forward_latency + penalty;
        match window.completion(forward.owner) {
            Some(stored) => Some(start.max(stored) + delay),
            None => {
                window.depend(forward.owner, Dependent { number, input: DependentInput::Operand, delay });
                None
            }
        }
    }
}
