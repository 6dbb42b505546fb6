//! Hardware that is a machine: pipelined units and ports, and what hands work to tasks that are free.

use crate::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::task::Poll;
use units::{Duration, Time};

/// Identical pipelined units behind one dispatcher: an AES engine, a hash unit, or the port of a small cache.
///
/// Each unit takes a new item every `interval` and delivers it `latency` after it went in. An item goes to the unit
/// that is free first.
#[derive(Debug)]
pub struct Pipe {
    latency: Duration,
    interval: Duration,
    next_free: RefCell<Vec<Time>>,
    items: Cell<u64>,
    waited: Cell<Duration>,
}

/// When a group of items went through a [`Pipe`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When the first item went in.
    pub start: Time,
    /// When the last item came out.
    pub done: Time,
}

impl Pipe {
    /// `units` pipelines.
    ///
    /// # Panics
    /// If there are no units.
    pub fn new(units: usize, latency: Duration, interval: Duration) -> Pipe {
        assert!(units > 0, "a pipe needs at least one unit");
        Pipe {
            latency,
            interval,
            next_free: RefCell::new(vec![Time::ZERO; units]),
            items: Cell::new(0),
            waited: Cell::new(Duration::ZERO),
        }
    }

    /// Sends `items` through, from `now` on, and says when.
    pub fn pass(&self, now: Time, items: u32) -> Passage {
        let mut units = self.next_free.borrow_mut();
        let mut passage = Passage { start: Time::NEVER, done: now };
        for _ in 0..items {
            let mut free = 0;
            for unit in 1..units.len() {
                if units[unit] < units[free] {
                    free = unit;
                }
            }
            let start = units[free].max(now);
            units[free] = start + self.interval;
            passage = Passage { start: passage.start.min(start), done: passage.done.max(start + self.latency) };
        }
        self.items.set(self.items.get() + u64::from(items));
        self.waited.set(self.waited.get() + passage.start.min(passage.done).since(now));
        passage
    }

    /// How many items have gone in.
    pub fn items(&self) -> u64 {
        self.items.get()
    }

    /// The sum of all groups' waits for a free unit.
    pub fn waited(&self) -> Duration {
        self.waited.get()
    }
}

/// Work for alike tasks: each item goes to one that is free, first come first served, and is begun at its own time.
///
/// An idle task is given its item at once and woken when it is to begin, so that handing it over costs no event.
pub struct WorkQueue<T> {
    clock: Clock,
    /// What no task was free for.
    items: RefCell<VecDeque<(Time, T)>>,
    idle: RefCell<VecDeque<(TaskId, usize)>>,
    /// One place for each task that is idle or has not begun yet.
    desks: RefCell<Vec<Desk<T>>>,
}

enum Desk<T> {
    Unused,
    Idle,
    Given(Time, T),
}

impl<T> WorkQueue<T> {
    /// No work, and no idle task.
    pub fn new(clock: &Clock) -> WorkQueue<T> {
        WorkQueue {
            clock: clock.clone(),
            items: RefCell::default(),
            idle: RefCell::default(),
            desks: RefCell::default(),
        }
    }

    /// Appends an item that is to be begun at `at`, or as soon as a task is free.
    pub fn push(&self, at: Time, item: T) {
        match self.idle.borrow_mut().pop_front() {
            Some((task, desk)) => {
                self.desks.borrow_mut()[desk] = Desk::Given(at, item);
                self.clock.wake_at(task, at);
            }
            None => self.items.borrow_mut().push_back((at, item)),
        }
    }

    /// Takes the first item that no other task has, waiting for one and for its time.
    pub fn next(&self) -> impl Future<Output = T> + '_ {
        let mut seat = None;
        poll_fn(move |_| {
            let desk = *seat.get_or_insert_with(|| self.sit_down());
            let mut desks = self.desks.borrow_mut();
            match std::mem::replace(&mut desks[desk], Desk::Unused) {
                Desk::Given(at, item) if at <= self.clock.now() => Poll::Ready(item),
                waiting => {
                    desks[desk] = waiting;
                    Poll::Pending
                }
            }
        })
    }

    /// A place for the present task, with its work on it if there is any.
    fn sit_down(&self) -> usize {
        let mut desks = self.desks.borrow_mut();
        let desk = desks.iter().position(|desk| matches!(desk, Desk::Unused)).unwrap_or_else(|| {
            desks.push(Desk::Unused);
            desks.len() - 1
        });
        let task = self.clock.current_task();
        desks[desk] = match self.items.borrow_mut().pop_front() {
            Some((at, item)) => {
                if at > self.clock.now() {
                    self.clock.wake_at(task, at);
                }
                Desk::Given(at, item)
            }
            None => {
                self.idle.borrow_mut().push_back((task, desk));
                Desk::Idle
            }
        };
        desk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Executor;
    use std::rc::Rc;

    const NS: Duration = Duration::from_ns(1);

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    #[test]
    fn a_pipe_takes_one_item_an_interval_and_delivers_after_its_latency() {
        let pipe = Pipe::new(1, NS * 10, NS * 2);
        assert_eq!(pipe.pass(at(5), 1), Passage { start: at(5), done: at(15) });
        assert_eq!(pipe.pass(at(5), 3), Passage { start: at(7), done: at(21) });
        assert_eq!(pipe.pass(at(30), 1), Passage { start: at(30), done: at(40) });
        assert_eq!((pipe.items(), pipe.waited()), (5, NS * 2));
    }

    #[test]
    fn two_units_take_two_items_at_once() {
        let pipe = Pipe::new(2, NS * 10, NS * 4);
        assert_eq!(pipe.pass(at(0), 4), Passage { start: at(0), done: at(14) });
    }

    #[test]
    fn work_goes_to_whoever_is_free_in_order_and_begins_at_its_time() {
        let mut executor = Executor::new();
        let queue = Rc::new(WorkQueue::new(executor.clock()));
        let log = Rc::new(RefCell::new(Vec::new()));
        for worker in ["a", "b"] {
            let (clock, queue, log) = (executor.clock().clone(), queue.clone(), log.clone());
            executor.clock().spawn(async move {
                loop {
                    let item = queue.next().await;
                    log.borrow_mut().push((worker, item, clock.now()));
                    clock.sleep(NS * 10).await;
                }
            });
        }
        executor.run();
        for (item, ns) in [(1, 5), (2, 3), (3, 4), (4, 40)] {
            queue.push(at(ns), item);
        }
        executor.run();
        assert_eq!(*log.borrow(), [("b", 2, at(3)), ("a", 1, at(5)), ("b", 3, at(13)), ("a", 4, at(40))]);
    }
}
