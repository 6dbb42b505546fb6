//! Pipelined hardware: engines, and ports of small caches.

mod idle;
mod units;

pub use idle::IdleBatch;

use self::units::PipeUnits;
use ::units::{Duration, Time};
use idle::IdleQueue;
use std::cell::{Cell, RefCell};

/// Identical pipelined units behind one dispatcher: an AES engine, a hash unit, or the port of a small cache.
///
/// Each unit accepts a new item every `interval` and delivers it `latency` later. An item enters the unit that is free
/// first.
#[derive(Debug)]
pub struct Pipe {
    latency: Duration,
    units: RefCell<PipeUnits>,
    /// Idle work, which enters units only in cycles in which no other item enters.
    idle: IdleQueue,
    items: Cell<u64>,
    waited: Cell<Duration>,
}

/// Times at which a group of items enters and leaves a [`Pipe`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Time at which the first item enters.
    pub start: Time,
    /// Time at which the last item leaves.
    pub done: Time,
}

impl Pipe {
    /// Creates a pipe of `units` pipelines.
    ///
    /// # Panics
    /// If there are no units.
    pub fn new(units: usize, latency: Duration, interval: Duration) -> Pipe {
        assert!(units > 0, "a pipe needs at least one unit");
        Pipe {
            latency,
            units: RefCell::new(PipeUnits::new(units, interval)),
            idle: IdleQueue::default(),
            items: Cell::new(0),
            waited: Cell::new(Duration::ZERO),
        }
    }

    /// Sends `items` through, from `now` on; returns their times.
    pub fn pass(&self, now: Time, items: u32) -> Passage {
        self.pass_in(self.latency, now, items)
    }

    /// Like [`Pipe::pass`], for items that the units deliver after another latency.
    pub fn pass_in(&self, latency: Duration, now: Time, items: u32) -> Passage {
        self.fill_gaps(now);
        let mut units = self.units.borrow_mut();
        units.forget_past(now);
        if items == 1 {
            // The common case: most look-ups, hashes and tags.
            let start = units.enter(now);
            self.count(1, start.since(now));
            return Passage { start, done: start + latency };
        }
        let mut passage = Passage { start: Time::NEVER, done: now };
        for _ in 0..items {
            let start = units.enter(now);
            passage = Passage { start: passage.start.min(start), done: passage.done.max(start + latency) };
        }
        self.count(items, passage.start.min(passage.done).since(now));
        passage
    }

    /// Sends `links` through, from `now` on, each after the previous link has left; returns their times. Between the
    /// links, the units accept other items.
    pub fn pass_chained(&self, now: Time, links: u32) -> Passage {
        self.fill_gaps(now);
        let mut units = self.units.borrow_mut();
        units.forget_past(now);
        let mut passage = Passage { start: now, done: now };
        for link in 0..links {
            let start = if link == 0 { units.enter(now) } else { units.reserve(passage.done) };
            passage = Passage { start: if link == 0 { start } else { passage.start }, done: start + self.latency };
        }
        self.count(links, passage.start.since(now));
        passage
    }

    /// Returns the time that an item would wait for a free unit if it arrived now.
    pub fn backlog(&self, now: Time) -> Duration {
        self.fill_gaps(now);
        let mut units = self.units.borrow_mut();
        units.forget_past(now);
        units.earliest(now).0.since(now)
    }

    fn count(&self, items: u32, waited: Duration) {
        self.items.set(self.items.get() + u64::from(items));
        self.waited.set(self.waited.get() + waited);
    }

    /// Returns the time from the entry of an item to its departure.
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// Returns the number of items that have entered.
    pub fn items(&self) -> u64 {
        self.items.get()
    }

    /// Returns the sum of all groups' waits for a free unit.
    pub fn waited(&self) -> Duration {
        self.waited.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::units::random::Random;

    const NS: Duration = Duration::from_ns(1);

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    #[test]
    fn a_pipelined_unit_starts_one_item_per_interval_and_completes_it_after_its_latency() {
        let pipe = Pipe::new(1, NS * 10, NS * 2);
        assert_eq!(pipe.pass(at(5), 1), Passage { start: at(5), done: at(15) });
        assert_eq!(pipe.pass(at(5), 3), Passage { start: at(7), done: at(21) });
        assert_eq!(pipe.pass(at(30), 1), Passage { start: at(30), done: at(40) });
        assert_eq!((pipe.items(), pipe.waited()), (5, NS * 2));
        assert_eq!([30, 31, 32, 40].map(|now| pipe.backlog(at(now))), [2, 1, 0, 0].map(|wait| NS * wait));
        assert_eq!([31, 32].map(|now| pipe.pass(at(now), 1).start), [32, 34].map(at));
        assert_eq!((pipe.items(), pipe.waited()), (7, NS * 5));
    }

    #[test]
    fn two_pipelined_units_start_two_items_at_once() {
        let pipe = Pipe::new(2, NS * 10, NS * 4);
        assert_eq!(pipe.pass(at(0), 4), Passage { start: at(0), done: at(14) });
    }

    #[test]
    fn chained_items_of_a_pipelined_unit_are_serial_and_other_items_enter_between_them() {
        let pipe = Pipe::new(1, NS * 10, NS * 2);
        assert_eq!(pipe.pass_chained(at(0), 3), Passage { start: at(0), done: at(30) });
        // The links entered at 0, 10 and 20: other items use the intervals from 2, 4 and 6, but not that from 9.
        assert_eq!(pipe.pass(at(1), 3), Passage { start: at(2), done: at(16) });
        assert_eq!(pipe.pass(at(9), 1), Passage { start: at(12), done: at(22) });
        assert_eq!(pipe.pass(at(20), 1), Passage { start: at(22), done: at(32) });
        assert_eq!(pipe.items(), 8);
    }

    #[test]
    fn chained_items_of_a_pipelined_unit_wait_once_and_do_not_collide_with_other_chains() {
        let pipe = Pipe::new(1, NS * 10, NS * 4);
        pipe.pass(at(0), 2);
        assert_eq!(pipe.pass_chained(at(1), 2), Passage { start: at(8), done: at(28) });
        // Its links are reserved at 12 and, since 18 to 22 is the first chain's, at 22.
        assert_eq!(pipe.pass_chained(at(8), 2), Passage { start: at(12), done: at(32) });
        let pipe = Pipe::new(2, NS * 10, NS * 4);
        assert_eq!([(); 2].map(|()| pipe.pass_chained(at(0), 2).done), [at(20); 2]);
    }

    #[test]
    fn an_item_of_a_pipelined_unit_may_have_another_latency() {
        let pipe = Pipe::new(1, NS * 10, NS * 2);
        assert_eq!(pipe.pass_in(NS * 13, at(0), 2), Passage { start: at(0), done: at(15) });
        assert_eq!(pipe.pass(at(0), 1).done, at(14));
    }

    #[test]
    fn no_pipelined_unit_starts_two_random_items_within_an_interval() {
        let mut random = Random::new(1);
        for _ in 0..500 {
            let (latency, interval, units) = (1 + random.below(20), 1 + random.below(8), 1 + random.below(3) as usize);
            let pipe = Pipe::new(units, NS * latency, NS * interval);
            let (mut now, mut starts) = (0, Vec::new());
            for _ in 0..60 {
                now += random.below(2 * interval / units as u64 + 1);
                if random.below(2) == 0 {
                    starts.push(pipe.pass(at(now), 1).start);
                } else {
                    let Passage { start, done } = pipe.pass_chained(at(now), 2);
                    let second = Time::from_fs(done.as_fs() - (NS * latency).as_fs());
                    assert!(second >= start + NS * latency, "the second link waits for the first");
                    starts.extend([start, second]);
                }
                assert!(starts.last() >= Some(&at(now)));
            }
            starts.sort_unstable();
            let apart = starts.windows(units + 1).all(|taken| taken[0] + NS * interval <= taken[units]);
            assert!(apart, "{units} units, latency {latency}, interval {interval}: {starts:?}");
        }
    }

    #[test]
    fn completed_chains_leave_no_reservation_in_a_pipelined_unit() {
        // The second link never goes into the unit that took the first, which is still busy.
        let pipe = Pipe::new(2, NS * 3, NS * 5);
        for chain in 0..100 {
            assert_eq!(pipe.pass_chained(at(20 * chain), 2).done, at(20 * chain + 6));
            assert!(pipe.units.borrow().reserved().len() <= 1, "{chain}");
        }
        pipe.pass(at(2_000), 1);
        assert_eq!(pipe.units.borrow().reserved(), []);
    }
}
