//! Idle work: what a pipe does in the gaps, and can give up.
//!
//! Work on demand goes first. An idle item goes into a unit that would take nothing else: one that is free, is promised to
//! no item of demand and to no link of a chain. It never makes one wait for longer than an interval, which is what a unit takes
//! that it has just entered; what comes at the same instant goes before it. (Work on demand that is announced for later lets
//! idle items go in until then.) Idle items go in the order in which they were
//! offered. Those that are given up before they have gone in cost nothing: neither the units nor the simulator, which looks at
//! an item when it goes in and not while it waits.

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
    /// From when on they may go in.
    ready: Time,
    /// Those that have not gone in, as far as is known.
    waiting: Cell<u32>,
    /// When the others went in.
    starts: RefCell<Vec<Time>>,
}

/// The batches that wait, in the order in which they are ready.
#[derive(Debug, Default)]
pub(super) struct IdleQueue {
    batches: RefCell<VecDeque<IdleBatch>>,
    /// Whether there may be any: what every pass looks at.
    any: Cell<bool>,
}

impl IdleQueue {
    /// The first batch of which an item waits.
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
    /// Offers so many items of idle work, which may go in from `ready` on, now or later.
    pub fn offer(&self, now: Time, ready: Time, items: u32) -> IdleBatch {
        self.fill_gaps(now);
        let items = Items { ready: ready.max(now), waiting: Cell::new(items), starts: RefCell::default() };
        let batch = IdleBatch(Rc::new(items));
        let mut batches = self.idle.batches.borrow_mut();
        let place = batches.iter().rposition(|other| other.0.ready <= batch.0.ready).map_or(0, |before| before + 1);
        batches.insert(place, batch.clone());
        self.idle.any.set(true);
        batch
    }

    /// When an item of a batch comes out, if it has gone in before `now`.
    pub fn comes_out(&self, now: Time, batch: &IdleBatch, item: usize) -> Option<Time> {
        self.fill_gaps(now);
        batch.0.starts.borrow().get(item).map(|start| *start + self.latency)
    }

    /// Gives up the items of a batch that have not gone in before `now`. Returns how many these are.
    pub fn give_up(&self, now: Time, batch: &IdleBatch) -> u32 {
        self.fill_gaps(now);
        batch.0.waiting.take()
    }

    /// Items of a batch that have gone in before `now`, and when the last of them comes out.
    pub fn entered(&self, now: Time, batch: &IdleBatch) -> (u32, Option<Time>) {
        self.fill_gaps(now);
        let starts = batch.0.starts.borrow();
        (starts.len() as u32, starts.last().map(|start| *start + self.latency))
    }

    /// Lets idle items go in that could before `now`.
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
    fn idle_items_go_in_one_an_interval_and_demand_waits_for_the_one_that_has_just_gone_in() {
        let pipe = Pipe::new(1, NS * 10, NS * 4);
        let batch = pipe.offer(at(0), at(0), 100);
        // At 8 a third would go in: what comes on demand at that instant goes first, a nanosecond later it waits.
        assert_eq!(pipe.pass(at(8), 1).start, at(8));
        assert_eq!(pipe.comes_out(at(12), &batch, 1), Some(at(14)));
        assert_eq!([12, 13].map(|now| pipe.comes_out(at(now), &batch, 2)), [None, Some(at(22))]);
        assert_eq!(pipe.pass(at(13), 1).start, at(16));
        assert_eq!(pipe.give_up(at(40), &batch), 100 - 8, "at 0, 4, 12, 20, 24, 28, 32 and 36");
        assert_eq!((pipe.pass(at(40), 1).start, pipe.items()), (at(40), 8 + 3));
    }

    #[test]
    fn idle_items_leave_room_for_the_links_of_a_chain() {
        let pipe = Pipe::new(1, NS * 10, NS * 4);
        assert_eq!(pipe.pass_chained(at(0), 2).done, at(20));
        let batch = pipe.offer(at(0), at(0), 10);
        let out: Vec<Option<Time>> = (0..3).map(|item| pipe.comes_out(at(30), &batch, item)).collect();
        // The second link goes in at 10: after one at 4 there is no interval before it.
        assert_eq!(out, [14, 24, 28].map(|ns| Some(at(ns))));
    }

    #[test]
    fn what_is_given_up_is_never_looked_at_again() {
        let pipe = Pipe::new(1, NS * 10, NS);
        let batches: Vec<IdleBatch> = (0..10).map(|_| pipe.offer(at(0), at(0), u32::MAX)).collect();
        assert!(batches.iter().all(|batch| pipe.give_up(at(0), batch) == u32::MAX));
        let last = pipe.offer(at(0), at(0), 1);
        assert_eq!(pipe.comes_out(at(1), &last, 0), Some(at(10)));
        assert!(pipe.idle.first().is_none() && !pipe.idle.any.get());
    }

    /// What a random run does at one instant.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Demand(u32),
        /// So many items, which may go in so much later.
        Offer(u32, u64),
        GiveUp(usize),
    }

    /// Units that are looked at at every nanosecond: when items of demand go in, and those of each batch.
    fn ticking(units: usize, interval: u64, events: &[(u64, Event)], end: u64) -> (Vec<u64>, Vec<Vec<u64>>) {
        let (mut demand, mut batches) = (Vec::new(), Vec::<(u32, u64, Vec<u64>)>::new());
        let (mut waiting, mut free_at, mut next) = (0, vec![0; units], 0);
        for now in 0..end {
            while let Some((_, event)) = events.get(next).filter(|(at, _)| *at == now) {
                match event {
                    Event::Demand(items) => waiting += items,
                    Event::Offer(items, ahead) => batches.push((*items, now + ahead, Vec::new())),
                    Event::GiveUp(batch) => batches[*batch].0 = 0,
                }
                next += 1;
            }
            for free_at in free_at.iter_mut().filter(|free_at| **free_at <= now) {
                // The first of those that have been ready for longest.
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
    fn fvs_rule_4_both_classes_go_in_when_units_that_are_looked_at_at_every_tick_take_them() {
        let mut random = Random::new(7);
        for round in 0..400 {
            let (units, interval) = (1 + random.below(4) as usize, 1 + random.below(6));
            let (mut now, mut offered, mut events) = (0, 0, Vec::new());
            for _ in 0..40 {
                now += random.below(3 * interval);
                events.push(match random.below(4) {
                    0 | 1 => (now, Event::Demand(1 + random.below(3) as u32)),
                    2 if offered > 0 => (now, Event::GiveUp(random.below(offered) as usize)),
                    _ => {
                        offered += 1;
                        (now, Event::Offer(random.below(20) as u32, random.below(2) * random.below(9)))
                    }
                });
            }
            let end = now + 100 * interval;
            let pipe = Pipe::new(units, NS * 5, NS * interval);
            let (mut demand, mut batches) = (Vec::new(), Vec::new());
            for (now, event) in &events {
                match event {
                    Event::Demand(items) => demand.extend((0..*items).map(|_| pipe.pass(at(*now), 1).start)),
                    Event::Offer(items, ahead) => batches.push(pipe.offer(at(*now), at(now + ahead), *items)),
                    Event::GiveUp(batch) => {
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
