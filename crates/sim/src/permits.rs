//! Permits: a limited number of permits are in use at once. A task that needs more permits than are free waits, in the
//! order of arrival.
//!
//! A task that needs no permit can wait until no task waits for permits: [`Permits::pass`] is a gate that is closed
//! while tasks wait for permits.

use crate::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

/// A waiting task, and whether its wait is over.
#[derive(Clone)]
struct Ticket {
    task: TaskId,
    granted: Rc<Cell<bool>>,
}

/// A counting semaphore with a gate.
pub struct Permits {
    clock: Clock,
    total: usize,
    free: Cell<usize>,
    most: Cell<usize>,
    /// Number of permits that each waiting task needs, in order of arrival.
    waiting: RefCell<VecDeque<(usize, Ticket)>>,
    at_door: RefCell<Vec<Ticket>>,
    /// Tasks that the gate has admitted but that have not passed yet. They pass one after the other, even if another
    /// event wakes a task out of turn. A task that arrives at this instant passes after them.
    entering: RefCell<VecDeque<Ticket>>,
}

impl Permits {
    /// Creates `total` permits, all of them free.
    pub fn new(clock: &Clock, total: usize) -> Permits {
        Permits {
            clock: clock.clone(),
            total,
            free: Cell::new(total),
            most: Cell::new(0),
            waiting: RefCell::default(),
            at_door: RefCell::default(),
            entering: RefCell::default(),
        }
    }

    /// Takes `wanted` permits at once, at most all of them, after the tasks that waited before.
    pub fn take(&self, wanted: usize) -> impl Future<Output = ()> + '_ {
        let wanted = wanted.min(self.total);
        granted(move || {
            if self.waiting.borrow().is_empty() && wanted <= self.free.get() {
                self.hand_out(wanted);
                return None;
            }
            let ticket = self.ticket();
            self.waiting.borrow_mut().push_back((wanted, ticket.clone()));
            Some(ticket)
        })
    }

    /// Gives back the permits of one `take`.
    pub fn give_back(&self, taken: usize) {
        self.free.set(self.free.get() + taken.min(self.total));
        let mut waiting = self.waiting.borrow_mut();
        while let Some((wanted, _)) = waiting.front()
            && *wanted <= self.free.get()
        {
            let Some((wanted, ticket)) = waiting.pop_front() else { break };
            self.hand_out(wanted);
            self.grant(&ticket);
        }
        if waiting.is_empty() {
            self.at_door.borrow_mut().drain(..).for_each(|ticket| self.let_in(&ticket));
        }
    }

    /// Waits until no task waits for permits, in order: a task that arrives when the gate has just opened passes after
    /// those that waited.
    pub fn pass(&self) -> impl Future<Output = ()> + '_ {
        let mut drawn: Option<Ticket> = None;
        poll_fn(move |_| {
            if let Some(ticket) = &drawn {
                if !ticket.granted.get() {
                    return Poll::Pending;
                }
                self.go_through();
                return Poll::Ready(());
            }
            let is_open = self.waiting.borrow().is_empty();
            if is_open && self.entering.borrow().is_empty() {
                return Poll::Ready(());
            }
            let ticket = self.ticket();
            if is_open {
                self.let_in(&ticket);
            } else {
                self.at_door.borrow_mut().push(ticket.clone());
            }
            drawn = Some(ticket);
            Poll::Pending
        })
    }

    /// Returns true if a permit is free.
    pub fn has_free(&self) -> bool {
        self.free.get() > 0
    }

    /// Returns true if a task waits for permits.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Returns the maximum number of permits that were in use at once.
    pub fn most(&self) -> usize {
        self.most.get()
    }

    fn hand_out(&self, count: usize) {
        self.free.set(self.free.get() - count);
        self.most.set(self.most.get().max(self.total - self.free.get()));
    }

    fn ticket(&self) -> Ticket {
        Ticket { task: self.clock.current_task(), granted: Rc::default() }
    }

    fn let_in(&self, ticket: &Ticket) {
        let mut entering = self.entering.borrow_mut();
        entering.push_back(ticket.clone());
        if entering.len() == 1 {
            self.grant(ticket);
        }
    }

    /// Removes the first admitted task, which has passed; the next may pass.
    fn go_through(&self) {
        let mut entering = self.entering.borrow_mut();
        entering.pop_front();
        if let Some(next) = entering.front() {
            self.grant(next);
        }
    }

    fn grant(&self, ticket: &Ticket) {
        ticket.granted.set(true);
        self.clock.wake(ticket.task);
    }
}

/// Calls `ask` once. The future is ready at once if `ask` returns no ticket, otherwise when the ticket is granted.
fn granted(ask: impl Fn() -> Option<Ticket>) -> impl Future<Output = ()> {
    let mut drawn: Option<Option<Ticket>> = None;
    poll_fn(move |_| match drawn.get_or_insert_with(&ask) {
        Some(ticket) if !ticket.granted.get() => Poll::Pending,
        _ => Poll::Ready(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Executor;
    use units::Duration;

    const NS: Duration = Duration::from_ns(1);

    /// Returns the time at which each task, in this order of arrival, is admitted, and the maximum number of permits in
    /// use. A task that needs no permit waits for the gate.
    fn times(total: usize, wanted: &[usize]) -> (Vec<(usize, u64)>, usize) {
        let mut executor = Executor::new();
        let permits = Rc::new(Permits::new(executor.clock(), total));
        let log = Rc::new(RefCell::new(Vec::new()));
        for (task, &wanted) in wanted.iter().enumerate() {
            let (clock, permits, log) = (executor.clock().clone(), permits.clone(), log.clone());
            executor.clock().spawn(async move {
                match wanted {
                    0 => permits.pass().await,
                    wanted => permits.take(wanted).await,
                }
                log.borrow_mut().push((task, clock.now().as_ns_f64() as u64));
                if wanted > 0 {
                    clock.sleep(NS * (10 + task as u64)).await;
                    permits.give_back(wanted);
                }
            });
        }
        executor.run();
        (log.take(), permits.most())
    }

    #[test]
    fn a_semaphore_never_exceeds_its_permits_and_serves_waiters_in_order() {
        assert_eq!(times(2, &[1, 1, 1, 1]), (vec![(0, 0), (1, 0), (2, 10), (3, 11)], 2));
    }

    #[test]
    fn a_semaphore_request_for_several_permits_is_not_overtaken() {
        assert_eq!(times(3, &[2, 5, 1]), (vec![(0, 0), (1, 10), (2, 21)], 3));
    }

    #[test]
    fn the_gate_of_a_semaphore_is_closed_while_a_request_waits() {
        assert_eq!(times(1, &[0, 1, 0, 1, 0, 1, 0]).0, [(0, 0), (1, 0), (2, 0), (3, 11), (5, 24), (4, 24), (6, 24)]);
    }

    #[test]
    fn a_task_that_arrives_as_the_semaphore_gate_opens_passes_after_the_waiting_tasks() {
        let mut executor = Executor::new();
        let permits = Rc::new(Permits::new(executor.clock(), 1));
        let log = Rc::new(RefCell::new(Vec::new()));
        // The first task gives its permit back at 10 ns, when the second gets it and the gate opens.
        for (task, comes) in [(0, 0), (1, 1)] {
            let (clock, permits) = (executor.clock().clone(), permits.clone());
            executor.clock().spawn(async move {
                clock.sleep(NS * comes).await;
                permits.take(1).await;
                clock.sleep(NS * (10 - 10 * task)).await;
                permits.give_back(1);
            });
        }
        for (task, comes) in [(2, 10), (3, 5), (4, 6), (5, 10)] {
            let (clock, permits, log) = (executor.clock().clone(), permits.clone(), log.clone());
            executor.clock().spawn(async move {
                clock.sleep(NS * comes).await;
                permits.pass().await;
                log.borrow_mut().push(task);
            });
        }
        executor.run();
        let waited: Vec<u64> = log.borrow().iter().copied().filter(|task| [3, 4].contains(task)).collect();
        assert_eq!(waited, [3, 4]);
        let behind = log.borrow().iter().position(|task| *task == 4) < log.borrow().iter().position(|task| *task == 5);
        assert!(behind, "{:?}", log.borrow());
    }
}
