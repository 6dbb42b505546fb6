//! Hardware that is a machine: pipelined units and ports, and queues with a limit.

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

/// A first-in, first-out queue between tasks, with a limit on its length.
pub struct Queue<T> {
    clock: Clock,
    limit: usize,
    items: RefCell<VecDeque<T>>,
    takers: RefCell<VecDeque<TaskId>>,
}

impl<T> Queue<T> {
    /// An empty queue for at most `limit` items.
    pub fn new(clock: &Clock, limit: usize) -> Queue<T> {
        Queue {
            clock: clock.clone(),
            limit,
            items: RefCell::new(VecDeque::with_capacity(limit.min(1024))),
            takers: RefCell::new(VecDeque::new()),
        }
    }

    /// Appends an item, or gives it back if the queue is full.
    pub fn push(&self, item: T) -> Result<(), T> {
        if self.items.borrow().len() >= self.limit {
            return Err(item);
        }
        self.items.borrow_mut().push_back(item);
        if let Some(task) = self.takers.borrow_mut().pop_front() {
            self.clock.wake(task);
        }
        Ok(())
    }

    /// Takes the first item, waiting for one if there is none.
    pub fn pop(&self) -> impl Future<Output = T> + '_ {
        poll_fn(|_| match self.items.borrow_mut().pop_front() {
            Some(item) => Poll::Ready(item),
            None => {
                let task = self.clock.current_task();
                let mut takers = self.takers.borrow_mut();
                if !takers.contains(&task) {
                    takers.push_back(task);
                }
                Poll::Pending
            }
        })
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.items.borrow().len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.borrow().is_empty()
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
    fn a_queue_keeps_order_and_refuses_what_does_not_fit() {
        let mut executor = Executor::new();
        let queue = Rc::new(Queue::new(executor.clock(), 2));
        let taken = Rc::new(RefCell::new(Vec::new()));
        let (source, log) = (queue.clone(), taken.clone());
        executor.clock().spawn(async move {
            loop {
                let item = source.pop().await;
                log.borrow_mut().push(item);
            }
        });
        assert_eq!((queue.push(1), queue.push(2), queue.push(3)), (Ok(()), Ok(()), Err(3)));
        executor.run();
        assert_eq!(queue.push(4), Ok(()));
        executor.run();
        assert_eq!(*taken.borrow(), [1, 2, 4]);
    }
}
