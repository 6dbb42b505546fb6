//! The queue of loads in front of L1D, where loads of one line become one access.
//!
//! A load that comes while an earlier one of its line still waits in the queue is *merged* with that: it takes no look-up
//! of its own and has the other's answer. Loads that come in one cycle meet there too. A small table remembers the latest
//! load of each line: when it came, and when it left the queue for its look-up. It is direct-mapped, so a load whose line
//! was displaced is not found, and the later one is looked up by itself.

use crate::node::interface::UNKNOWN;
use crate::pool::Pool;

/// More lines than the queue holds loads, so that displacement is rare.
const TABLE: usize = 256;

/// A load that was in the queue.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Queued {
    key: u64,
    came: u64,
    left: u64,
}

/// The queue, as seen by those that come.
#[derive(Clone, Debug)]
pub(in crate::node) struct ReadQueue {
    arrivals: Pool,
    latest: Box<[Queued]>,
}

impl ReadQueue {
    /// A queue into which so many loads come in a cycle.
    pub(in crate::node) fn new(width: u8) -> ReadQueue {
        let none = Queued { key: u64::MAX, came: 0, left: 0 };
        ReadQueue { arrivals: Pool::ports(width), latest: vec![none; TABLE].into() }
    }

    /// When a load that is sent at `cycle` comes.
    #[inline]
    pub(in crate::node) fn come(&mut self, cycle: u64) -> u64 {
        self.arrivals.start(cycle)
    }

    /// When the load that waits for this line, as seen by one that comes at `came`, leaves the queue; [`UNKNOWN`] if that is
    /// not known yet.
    #[inline]
    pub(in crate::node) fn meets(&self, key: u64, came: u64) -> Option<u64> {
        let queued = &self.latest[place(key)];
        (queued.key == key && queued.came <= came && came <= queued.left).then_some(queued.left)
    }

    /// A load of this line came at `came`.
    #[inline]
    pub(in crate::node) fn came(&mut self, key: u64, came: u64) {
        self.latest[place(key)] = Queued { key, came, left: UNKNOWN };
    }

    /// The load of this line leaves the queue at `left`.
    #[inline]
    pub(in crate::node) fn left(&mut self, key: u64, left: u64) {
        let queued = &mut self.latest[place(key)];
        if queued.key == key {
            queued.left = left;
        }
    }
}

fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_meets_an_earlier_one_of_its_line_until_that_has_left() {
        let mut queue = ReadQueue::new(2);
        queue.came(7, 10);
        assert_eq!((queue.meets(7, 99), queue.meets(8, 99)), (Some(UNKNOWN), None));
        queue.left(7, 12);
        assert_eq!([9, 10, 12, 13].map(|came| queue.meets(7, came)), [None, Some(12), Some(12), None]);
    }

    #[test]
    fn no_more_come_in_a_cycle_than_the_queue_has_ports() {
        let mut queue = ReadQueue::new(2);
        assert_eq!([5, 5, 5].map(|cycle| queue.come(cycle)), [5, 5, 6]);
    }
}
