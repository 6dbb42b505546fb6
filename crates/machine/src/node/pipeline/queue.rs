//! Limits on the flow of instructions: widths and queues.
//!
//! The window, the load queue and the store queue share one model: entries enter in order and leave in order. A new
//! entry waits until the entry `capacity` positions earlier has left. So the model stores only the cycles of the latest
//! departures.

/// Limits events to `width` per cycle, in order.
#[derive(Clone, Debug)]
pub(in crate::node) struct Pacer {
    width: u64,
    cycle: u64,
    used: u64,
}

impl Pacer {
    pub(in crate::node) fn new(width: u8) -> Pacer {
        Pacer { width: u64::from(width), cycle: 0, used: 0 }
    }

    /// Returns the cycle of the latest event.
    #[inline]
    pub(in crate::node) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Allows no further event in the cycle of the latest event.
    #[inline]
    pub(in crate::node) fn end_cycle(&mut self) {
        self.used = self.width;
    }

    /// Allows no event before `cycle`. Returns the minimum number of cycles by which this call delays the next event.
    pub(in crate::node) fn skip_to(&mut self, cycle: u64) -> u64 {
        let skipped = cycle.saturating_sub(self.cycle);
        if skipped > 0 {
            (self.cycle, self.used) = (cycle, 0);
        }
        skipped
    }

    /// Returns the cycle of the next event, which is at or after `earliest`.
    #[inline]
    pub(in crate::node) fn next(&mut self, earliest: u64) -> u64 {
        if earliest > self.cycle {
            self.cycle = earliest;
            self.used = 1;
        } else if self.used < self.width {
            self.used += 1;
        } else {
            self.cycle += 1;
            self.used = 1;
        }
        self.cycle
    }
}

/// A first-in-first-out queue of bounded size, modelled by the cycles of its departures.
#[derive(Clone, Debug)]
pub(in crate::node) struct Queue {
    capacity: u64,
    entered: u64,
    left: u64,
    departures: Box<[u64]>,
}

impl Queue {
    pub(in crate::node) fn new(capacity: u32) -> Queue {
        let kept = capacity.next_power_of_two() as usize;
        Queue { capacity: u64::from(capacity), entered: 0, left: 0, departures: vec![0; kept].into() }
    }

    /// Returns the number of entries so far, which is the number of the next entry.
    #[inline]
    pub(in crate::node) fn entered(&self) -> u64 {
        self.entered
    }

    /// Returns the number of departures so far, which is the number of the oldest entry inside.
    #[inline]
    pub(in crate::node) fn left(&self) -> u64 {
        self.left
    }

    /// Like [`Queue::room`], with `taken` entries permanently occupied.
    pub(in crate::node) fn room_with(&self, taken: u64, count: u64) -> Option<u64> {
        self.room(if count == 0 { 0 } else { count + taken })
    }

    /// Returns the cycle from which the queue has room for `count` more entries, or `None` if that cycle is not known
    /// yet. A group larger than the queue waits until the queue is empty.
    #[inline]
    pub(in crate::node) fn room(&self, count: u64) -> Option<u64> {
        let must_leave = (self.entered + count).saturating_sub(self.capacity).min(self.entered);
        match must_leave {
            0 => Some(0),
            _ if count == 0 => Some(0),
            _ if must_leave > self.left => None,
            _ => Some(self.departures[self.index(must_leave - 1)]),
        }
    }

    /// Returns the cycle at which all entries so far have left, or `None` if that cycle is not known yet.
    pub(in crate::node) fn empty_from(&self) -> Option<u64> {
        (self.left == self.entered).then(|| self.last_departure())
    }

    /// Returns the cycle of the latest departure.
    pub(in crate::node) fn last_departure(&self) -> u64 {
        self.left.checked_sub(1).map_or(0, |last| self.departures[self.index(last)])
    }

    /// Returns the cycle at which entry `number` left. The entry must be among the latest departures: the queue stores
    /// a limited number of them.
    pub(in crate::node) fn departure(&self, number: u64) -> u64 {
        self.departures[self.index(number)]
    }

    /// Returns true if entry `number` is inside at `cycle`, as far as is known.
    #[inline]
    pub(in crate::node) fn holds(&self, number: u64, cycle: u64) -> bool {
        let forgotten = number + (self.departures.len() as u64) < self.left;
        number >= self.left || (!forgotten && self.departures[self.index(number)] > cycle)
    }

    #[inline]
    pub(in crate::node) fn enter(&mut self) -> u64 {
        self.entered += 1;
        self.entered - 1
    }

    #[inline]
    pub(in crate::node) fn enter_many(&mut self, count: u64) {
        self.entered += count;
    }

    #[inline]
    pub(in crate::node) fn leave(&mut self, cycle: u64) {
        let index = self.index(self.left);
        self.departures[index] = cycle;
        self.left += 1;
    }

    #[inline]
    fn index(&self, number: u64) -> usize {
        number as usize & (self.departures.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pipeline_queue_has_room_when_its_oldest_entry_leaves() {
        let mut queue = Queue::new(3);
        for _ in 0..3 {
            assert_eq!(queue.room(1), Some(0));
            queue.enter();
        }
        assert_eq!(queue.room(1), None);
        queue.leave(17);
        assert_eq!((queue.room(1), queue.room(2)), (Some(17), None));
        assert_eq!(queue.room(0), Some(0), "who needs no place waits for none");
    }

    #[test]
    fn a_group_larger_than_a_pipeline_queue_enters_when_the_queue_is_empty() {
        let mut queue = Queue::new(2);
        assert_eq!(queue.room(9), Some(0));
        queue.enter();
        assert_eq!(queue.room(9), None);
        queue.leave(5);
        assert_eq!(queue.room(9), Some(5));
    }

    #[test]
    fn the_pipeline_pacer_admits_its_width_per_cycle_in_order() {
        let mut pacer = Pacer::new(2);
        let cycles: Vec<u64> = [0, 0, 0, 7, 3, 3].map(|earliest| pacer.next(earliest)).into();
        assert_eq!(cycles, [0, 0, 1, 7, 7, 8]);
    }
}
