//! The queue of loads in front of L1D, where loads of one line become one access.
//!
//! A load that arrives while an earlier load of its line still waits in the queue is *merged* with the earlier load.
//! The two loads share one look-up and its answer. Loads of a line that arrive in the same cycle also merge. A small
//! table contains the latest load of each line, with the cycle of its arrival and the cycle at which it left for its
//! look-up. The table is direct-mapped: if the line of a load was displaced, the load is not found, and a later load is
//! looked up separately.

use crate::node::interface::UNKNOWN;
use crate::pool::Pool;

/// More lines than the queue holds loads, so displacement is rare.
const TABLE: usize = 256;

/// The latest load of a line that entered the queue.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Queued {
    key: u64,
    arrived: u64,
    left: u64,
}

/// The queue, as seen by arriving loads.
#[derive(Clone, Debug)]
pub(in crate::node) struct ReadQueue {
    arrivals: Pool,
    latest: Box<[Queued]>,
}

impl ReadQueue {
    /// Creates a queue that accepts `width` loads per cycle.
    pub(in crate::node) fn new(width: u8) -> ReadQueue {
        let none = Queued { key: u64::MAX, arrived: 0, left: 0 };
        ReadQueue { arrivals: Pool::ports(width), latest: vec![none; TABLE].into() }
    }

    /// Returns the cycle at which a load that is sent at `cycle` arrives in the queue.
    #[inline]
    pub(in crate::node) fn come(&mut self, cycle: u64) -> u64 {
        self.arrivals.start(cycle)
    }

    /// Returns the cycle at which the waiting load of this line leaves the queue, for a load that arrives at `arrived`.
    /// [`UNKNOWN`] if that cycle is not known yet; `None` if no load of the line waits.
    #[inline]
    pub(in crate::node) fn meets(&self, key: u64, arrived: u64) -> Option<u64> {
        let queued = &self.latest[table_index(key)];
        (queued.key == key && queued.arrived <= arrived && arrived <= queued.left).then_some(queued.left)
    }

    /// Records a load of this line that arrived at `arrived`.
    #[inline]
    pub(in crate::node) fn arrived(&mut self, key: u64, arrived: u64) {
        self.latest[table_index(key)] = Queued { key, arrived, left: UNKNOWN };
    }

    /// Records that the load of this line leaves the queue at `left`.
    #[inline]
    pub(in crate::node) fn left(&mut self, key: u64, left: u64) {
        let queued = &mut self.latest[table_index(key)];
        if queued.key == key {
            queued.left = left;
        }
    }
}

fn table_index(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_merges_with_an_earlier_load_of_its_line_until_that_leaves_the_read_queue() {
        let mut queue = ReadQueue::new(2);
        queue.arrived(7, 10);
        assert_eq!((queue.meets(7, 99), queue.meets(8, 99)), (Some(UNKNOWN), None));
        queue.left(7, 12);
        assert_eq!([9, 10, 12, 13].map(|arrived| queue.meets(7, arrived)), [None, Some(12), Some(12), None]);
    }

    #[test]
    fn no_more_loads_enter_the_read_queue_in_a_cycle_than_it_has_ports() {
        let mut queue = ReadQueue::new(2);
        assert_eq!([5, 5, 5].map(|cycle| queue.come(cycle)), [5, 5, 6]);
    }
}
