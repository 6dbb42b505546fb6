//! Work queues: pass items to free tasks.

use crate::{Clock, TaskId};
use slab::Slab;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::task::Poll;
use units::Time;

/// Work for identical tasks: each item is passed to a free task, in order of arrival, and begins at its time.
///
/// An idle task receives its item at once and is woken when the item begins, so passing the item costs no additional
/// event.
pub struct WorkQueue<T> {
    clock: Clock,
    /// Items that are not assigned to a task.
    items: RefCell<VecDeque<(Time, T)>>,
    idle: RefCell<VecDeque<(TaskId, usize)>>,
    /// One entry for each task that is idle or has not begun: its assigned item.
    desks: RefCell<Slab<Option<(Time, T)>>>,
}

impl<T> WorkQueue<T> {
    /// Creates a queue without items and idle tasks.
    pub fn new(clock: &Clock) -> WorkQueue<T> {
        WorkQueue {
            clock: clock.clone(),
            items: RefCell::default(),
            idle: RefCell::default(),
            desks: RefCell::default(),
        }
    }

    /// Appends an item that begins at `at`, or when a task is free.
    pub fn push(&self, at: Time, item: T) {
        match self.idle.borrow_mut().pop_front() {
            Some((task, desk)) => {
                self.desks.borrow_mut()[desk] = Some((at, item));
                self.clock.wake_at(task, at);
            }
            None => self.items.borrow_mut().push_back((at, item)),
        }
    }

    /// Waits for the first unassigned item and for its start time, and returns the item.
    pub fn next(&self) -> impl Future<Output = T> + '_ {
        self.take(|_, item| item)
    }

    /// Like [`WorkQueue::next`], and also returns the start time of the item.
    pub fn next_with_time(&self) -> impl Future<Output = (Time, T)> + '_ {
        self.take(|at, item| (at, item))
    }

    fn take<R>(&self, of: impl Fn(Time, T) -> R) -> impl Future<Output = R> {
        let mut seat = None;
        poll_fn(move |_| {
            let (desk, may_begin) = seat.map_or_else(|| self.sit_down(), |desk| (desk, true));
            seat = Some(desk);
            if may_begin { self.begin(desk, &of) } else { Poll::Pending }
        })
    }

    /// Returns the item of a desk, if its start time has passed.
    fn begin<R>(&self, desk: usize, of: &impl Fn(Time, T) -> R) -> Poll<R> {
        let mut desks = self.desks.borrow_mut();
        match desks[desk] {
            Some((at, _)) if at <= self.clock.now() => {
                desks.remove(desk).map_or(Poll::Pending, |(at, item)| Poll::Ready(of(at, item)))
            }
            _ => Poll::Pending,
        }
    }

    /// Assigns a desk to the current task, with an item if one is waiting. Returns the desk, and true if the item may
    /// begin now. The item must begin after the items of this instant that are assigned to tasks that have not woken
    /// yet.
    fn sit_down(&self) -> (usize, bool) {
        let task = self.clock.current_task();
        let given = self.items.borrow_mut().pop_front();
        let is_due = |given: &Option<(Time, T)>| given.as_ref().is_some_and(|(at, _)| *at <= self.clock.now());
        let may_begin = is_due(&given) && !self.desks.borrow().iter().any(|(_, given)| is_due(given));
        let at = given.as_ref().map(|(at, _)| *at);
        let desk = self.desks.borrow_mut().insert(given);
        match at {
            None => self.idle.borrow_mut().push_back((task, desk)),
            Some(at) if !may_begin => self.clock.wake_at(task, at),
            Some(_) => {}
        }
        (desk, may_begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Executor;
    use std::rc::Rc;
    use units::Duration;

    const NS: Duration = Duration::from_ns(1);

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    /// A task ends its work at the instant at which other tasks got items but have not woken yet.
    #[test]
    fn a_work_queue_keeps_its_order_for_workers_that_are_about_to_wake() {
        let mut executor = Executor::new();
        let queue = Rc::new(WorkQueue::new(executor.clock()));
        let log = Rc::new(RefCell::new(Vec::new()));
        let (clock, pushes) = (executor.clock().clone(), queue.clone());
        executor.clock().spawn(async move {
            clock.sleep(NS * 10).await;
            (1..=4).for_each(|item| pushes.push(clock.now(), item));
        });
        queue.push(at(0), 0);
        for _ in 0..3 {
            let (clock, queue, log) = (executor.clock().clone(), queue.clone(), log.clone());
            executor.clock().spawn(async move {
                loop {
                    let item = queue.next().await;
                    log.borrow_mut().push(item);
                    clock.sleep(NS * 10).await;
                }
            });
        }
        executor.run();
        assert_eq!(*log.borrow(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_work_queue_assigns_items_to_free_workers_in_order_of_time() {
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
