//! Idle work: work that a pipe performs while no other item needs a unit, and that the requester can cancel.
//!
//! Work on demand has priority. An idle item enters a unit only if the unit is free, and is not reserved for a demand
//! item or a link of a chain. An idle item delays a demand item by at most one interval, if it has just entered the
//! unit. A demand item of the same instant enters first. (If a demand item is announced for a later time, idle items
//! may enter until that time.) Idle items enter in the order in which they were offered. Items that are cancelled
//! before they enter cost no time, in the units or in the simulator. The simulator handles an item when the item enters
//! and not while it waits.

use super::Pipe;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use units::Time;

/// Items of idle work that were offered together.
#[derive(Clone, Debug)]
pub struct IdleBatch(Rc<Items>);

#[derive(Debug)]
struct Items {
    /// Time from which the items may enter.
    ready: Time,
    /// Number of items that have not entered, as far as is known.
    waiting: Cell<u32>,
    /// Times at which the items entered that have entered.
    starts: RefCell<Vec<Time>>,
}

/// Waiting batches, in the order of their ready times.
#[derive(Debug, Default)]
pub(super) struct IdleQueue {
    batches: RefCell<VecDeque<IdleBatch>>,
    /// True if the queue may contain batches; every pass checks this flag.
    any: Cell<bool>,
}

impl IdleQueue {
    /// Returns the first batch with a waiting item.
    fn first(&self) -> Option<IdleBatch> {
        let mut queue = self.batches.borrow_mut();
        while queue.front().is_some_and(|batch| batch.0.waiting.get() == 0) {
            queue.pop_front();
        }
        self.any.set(!queue.is_empty());
        queue.front().cloned()
    }
}

impl Pipe {
    /// Offers `items` items of idle work, which may enter from `ready` on, now or later.
    pub fn offer(&self, now: Time, ready: Time, items: u32) -> IdleBatch {
        self.fill_gaps(now);
        let items = Items { ready: ready.max(now), waiting: Cell::new(items), starts: RefCell::default() };
        let batch = IdleBatch(Rc::new(items));
        let mut batches = self.idle.batches.borrow_mut();
        let slot = batches.iter().rposition(|other| other.0.ready <= batch.0.ready).map_or(0, |before| before + 1);
        batches.insert(slot, batch.clone());
        self.idle.any.set(true);
        batch
    }

    /// Returns the time at which an item of a batch leaves, if it has entered before `now`.
    pub fn comes_out(&self, now: Time, batch: &IdleBatch, item: usize) -> Option<Time> {
        self.fill_gaps(now);
        batch.0.starts.borrow().get(item).map(|start| *start + self.latency)
    }

    /// Gives up the items of a batch that have not entered before `now`. Returns their number.
    pub fn give_up(&self, now: Time, batch: &IdleBatch) -> u32 {
        self.fill_gaps(now);
        batch.0.waiting.take()
    }

    /// Returns the number of items of a batch that have entered before `now`, and the time at which the last of them
    /// leaves.
    pub fn entered(&self, now: Time, batch: &IdleBatch) -> (u32, Option<Time>) {
        self.fill_gaps(now);
        let starts = batch.0.starts.borrow();
        (starts.len() as u32, starts.last().map(|start| *start + self.latency))
    }

    /// Enters the idle items that could enter before `now`.
    #[inline]
    pub(super) fn fill_gaps(&self, now: Time) {
        if self.idle.any.get() {
            self.let_in_before(now);
        }
    }

    #[cold]
    fn let_in_before(&self, now: Time) {
        let mut units = self.units.borrow_mut();
        while let Some(batch) = self.idle.first() {
            let (start, unit) = units.earliest(batch.0.ready);
            if start >= now {
                return;
            }
            units.take(unit, start);
            batch.0.waiting.set(batch.0.waiting.get() - 1);
            batch.0.starts.borrow_mut().push(start);
            self.items.set(self.items.get() + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;
    use units::random::Random;

    const NS: Duration = Duration::from_ns(1);

    fn at(ns: u64) -> Time {
        Time::ZERO + NS * ns
    }

    #[test]
    fn demand_items_of_a_pipelined_unit_wait_at_most_for_the_latest_idle_priority_item() {
        let pipe = Pipe::new(1, NS * 10, NS * 4);
        let batch = pipe.offer(at(0), at(0), 100);
        // At 8 a third idle item would enter: a demand item of that instant enters first, and one a nanosecond later
        // waits.
        assert_eq!(pipe.pass(at(8), 1).start, at(8));
        assert_eq!(pipe.comes_out(at(12), &batch, 1), Some(at(14)));
        assert_eq!([12, 13].map(|now| pipe.comes_out(at(now), &batch, 2)), [None, Some(at(22))]);
        assert_eq!(pipe.pass(at(13), 1).start, at(16));
        assert_eq!(pipe.give_up(at(40), &batch), 100 - 8, "at 0, 4, 12, 20, 24, 28, 32 and 36");
        assert_eq!((pipe.pass(at(40), 1).start, pipe.items()), (at(40), 8 + 3));
    }

    #[test]
    fn idle_priority_items_leave_the_reserved_intervals_of_a_chain_free() {
        let pipe = Pipe::new(1, NS * 10, NS * 4);
        assert_eq!(pipe.pass_chained(at(0), 2).done, at(20));
        let batch = pipe.offer(at(0), at(0), 10);
        let out: Vec<Option<Time>> = (0..3).map(|item| pipe.comes_out(at(30), &batch, item)).collect();
        // The second link enters at 10: after an idle item at 4 there is no interval before it.
        assert_eq!(out, [14, 24, 28].map(|ns| Some(at(ns))));
    }

    #[test]
    fn a_cancelled_batch_of_idle_priority_items_is_not_scheduled_again() {
        let pipe = Pipe::new(1, NS * 10, NS);
        let batches: Vec<IdleBatch> = (0..10).map(|_| pipe.offer(at(0), at(0), u32::MAX)).collect();
        assert!(batches.iter().all(|batch| pipe.give_up(at(0), batch) == u32::MAX));
        let last = pipe.offer(at(0), at(0), 1);
        assert_eq!(pipe.comes_out(at(1), &last, 0), Some(at(10)));
        assert!(pipe.idle.first().is_none() && !pipe.idle.any.get());
    }

    /// Event of a random run at one instant.
    #[derive(Clone, Copy, Debug)]
    enum PipeEvent {
        Demand(u32),
        /// A number of items, and the delay from which on they may enter.
        Offer(u32, u64),
        GiveUp(usize),
    }

    /// Simulates the units at every nanosecond. Returns the times at which demand items enter, and those of each batch.
    fn ticking(units: usize, interval: u64, events: &[(u64, PipeEvent)], end: u64) -> (Vec<u64>, Vec<Vec<u64>>) {
        let (mut demand, mut batches) = (Vec::new(), Vec::<(u32, u64, Vec<u64>)>::new());
        let (mut waiting, mut free_at, mut next) = (0, vec![0; units], 0);
        for now in 0..end {
            while let Some((_, event)) = events.get(next).filter(|(at, _)| *at == now) {
                match event {
                    PipeEvent::Demand(items) => waiting += items,
                    PipeEvent::Offer(items, delay) => batches.push((*items, now + delay, Vec::new())),
                    PipeEvent::GiveUp(batch) => batches[*batch].0 = 0,
                }
                next += 1;
            }
            for free_at in free_at.iter_mut().filter(|free_at| **free_at <= now) {
                // The first batch among those that have been ready for longest.
                let ready = batches.iter_mut().filter(|(left, ready, _)| *left > 0 && *ready <= now);
                let idle = ready.min_by_key(|(_, ready, _)| *ready);
                if waiting > 0 {
                    waiting -= 1;
                    demand.push(now);
                } else if let Some((left, _, starts)) = idle {
                    *left -= 1;
                    starts.push(now);
                } else {
                    continue;
                }
                *free_at = now + interval;
            }
        }
        (demand, batches.into_iter().map(|(.., starts)| starts).collect())
    }

    #[test]
    fn fvs_rule_4_demand_and_idle_items_start_as_in_a_cycle_by_cycle_model() {
        let mut random = Random::new(7);
        for round in 0..400 {
            let (units, interval) = (1 + random.below(4) as usize, 1 + random.below(6));
            let (mut now, mut offered, mut events) = (0, 0, Vec::new());
            for _ in 0..40 {
                now += random.below(3 * interval);
                events.push(match random.below(4) {
                    0 | 1 => (now, PipeEvent::Demand(1 + random.below(3) as u32)),
                    2 if offered > 0 => (now, PipeEvent::GiveUp(random.below(offered) as usize)),
                    _ => {
                        offered += 1;
                        (now, PipeEvent::Offer(random.below(20) as u32, random.below(2) * random.below(9)))
                    }
                });
            }
            let end = now + 100 * interval;
            let pipe = Pipe::new(units, NS * 5, NS * interval);
            let (mut demand, mut batches) = (Vec::new(), Vec::new());
            for (now, event) in &events {
                match event {
                    PipeEvent::Demand(items) => demand.extend((0..*items).map(|_| pipe.pass(at(*now), 1).start)),
                    PipeEvent::Offer(items, delay) => batches.push(pipe.offer(at(*now), at(now + delay), *items)),
                    PipeEvent::GiveUp(batch) => {
                        pipe.give_up(at(*now), &batches[*batch]);
                    }
                }
            }
            pipe.fill_gaps(at(end));
            let (expected, idle) = ticking(units, interval, &events, end);
            assert_eq!(demand, expected.into_iter().map(at).collect::<Vec<_>>(), "round {round}: {events:?}");
            for (batch, expected) in batches.iter().zip(idle) {
                let expected: Vec<Time> = expected.into_iter().map(at).collect();
                assert_eq!(*batch.0.starts.borrow(), expected, "round {round}: {events:?}");
            }
        }
    }
}
