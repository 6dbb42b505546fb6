//! The executor: takes the earliest event, sets the clock to the time of the event, and polls the task that the event
//! wakes.

use crate::queue::{Event, EventQueue};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use units::{Duration, Time};

/// Number of a task. Numbers of finished tasks are re-used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Interface of the simulation for tasks and machines: the current time, and waiting for a later one.
#[derive(Clone)]
pub struct Clock(Rc<ExecutorState>);

struct ExecutorState {
    now: Cell<Time>,
    current: Cell<TaskId>,
    sequence: Cell<u64>,
    hash: Cell<u64>,
    events: RefCell<EventQueue>,
    born: RefCell<Vec<Task>>,
}

/// The tasks of one simulation. Dropping the executor models a loss of power: every task stops at its current await.
pub struct Executor {
    clock: Clock,
    tasks: Vec<Option<Task>>,
    free: Vec<TaskId>,
}

impl Clock {
    /// Returns the current simulated time.
    pub fn now(&self) -> Time {
        self.0.now.get()
    }

    /// Returns the running task: the one to wake when its next condition holds.
    pub fn current_task(&self) -> TaskId {
        self.0.current.get()
    }

    /// Polls `task` again at `at`, or now if `at` has passed.
    pub fn wake_at(&self, task: TaskId, at: Time) {
        let sequence = self.0.sequence.get();
        self.0.sequence.set(sequence + 1);
        self.0.events.borrow_mut().push(Event { at: at.max(self.now()), sequence, task });
    }

    /// Polls `task` again at this instant, after everything already due.
    pub fn wake(&self, task: TaskId) {
        self.wake_at(task, self.now());
    }

    /// Waits until `at`; returns at once if `at` has passed.
    pub fn sleep_until(&self, at: Time) -> Sleep<'_> {
        Sleep { clock: self, at, scheduled: false }
    }

    /// Waits for a span of time.
    pub fn sleep(&self, span: Duration) -> Sleep<'_> {
        self.sleep_until(self.now() + span)
    }

    /// Starts a task at this instant.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.born.borrow_mut().push(Box::pin(task));
    }

    /// Returns a hash over every event so far: two runs are identical if their hashes are equal.
    pub fn event_hash(&self) -> u64 {
        self.0.hash.get()
    }

    /// Returns the number of events so far.
    pub fn event_count(&self) -> u64 {
        self.0.sequence.get()
    }
}

/// A wait for an instant. Written by hand, since nearly all waits of accesses are of this kind: a value of three words,
/// which can be stored and moved.
#[must_use = "nothing waits before it is awaited"]
pub struct Sleep<'a> {
    clock: &'a Clock,
    at: Time,
    /// True if a wake-up is requested.
    scheduled: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.at {
            return Poll::Ready(());
        }
        if !self.scheduled {
            self.scheduled = true;
            self.clock.wake_at(self.clock.current_task(), self.at);
        }
        Poll::Pending
    }
}

impl Default for Executor {
    fn default() -> Executor {
        Executor::new()
    }
}

impl Executor {
    /// Creates a simulation at power-on, without tasks.
    pub fn new() -> Executor {
        let state = ExecutorState {
            now: Cell::new(Time::ZERO),
            current: Cell::new(TaskId(0)),
            sequence: Cell::new(0),
            hash: Cell::new(0xcbf2_9ce4_8422_2325),
            events: RefCell::new(EventQueue::new()),
            born: RefCell::new(Vec::new()),
        };
        Executor { clock: Clock(Rc::new(state)), tasks: Vec::new(), free: Vec::new() }
    }

    /// Returns the clock of the simulation.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Runs until `done` returns true, checked after every event, or until no event is left. Returns true if `done` was
    /// reached.
    pub fn run_until(&mut self, mut done: impl FnMut() -> bool) -> bool {
        loop {
            self.adopt_born();
            if done() {
                return true;
            }
            let Some(event) = self.clock.0.events.borrow_mut().pop() else { return false };
            self.step(event);
        }
    }

    /// Runs until no event is left.
    pub fn run(&mut self) {
        self.run_until(|| false);
    }

    fn step(&mut self, event: Event) {
        let state = &self.clock.0;
        state.now.set(event.at);
        state.current.set(event.task);
        let mixed = state.hash.get() ^ event.at.as_fs().rotate_left(17) ^ u64::from(event.task.0);
        state.hash.set(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let slot = &mut self.tasks[event.task.0 as usize];
        // A finished task may still have an outstanding wake-up.
        let Some(task) = slot else { return };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            *slot = None;
            self.free.push(event.task);
        }
    }

    #[inline]
    fn adopt_born(&mut self) {
        if !self.clock.0.born.borrow().is_empty() {
            self.adopt();
        }
    }

    #[cold]
    fn adopt(&mut self) {
        for task in self.clock.0.born.take() {
            let id = self.free.pop().unwrap_or_else(|| {
                self.tasks.push(None);
                TaskId(self.tasks.len() as u32 - 1)
            });
            self.tasks[id.0 as usize] = Some(task);
            self.clock.wake(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(n: u64) -> Time {
        Time::from_fs(n * 1_000_000)
    }

    #[test]
    fn simulated_events_of_one_instant_occur_in_the_order_of_their_requests() {
        let mut executor = Executor::new();
        let log = Rc::new(RefCell::new(Vec::new()));
        for name in 0..4 {
            let (clock, log) = (executor.clock().clone(), log.clone());
            executor.clock().spawn(async move {
                clock.sleep_until(ns(if name % 2 == 0 { 10 } else { 5 })).await;
                log.borrow_mut().push((clock.now(), name));
            });
        }
        executor.run();
        assert_eq!(*log.borrow(), [(ns(5), 1), (ns(5), 3), (ns(10), 0), (ns(10), 2)]);
    }

    #[test]
    fn a_sleeping_task_wakes_exactly_at_its_instant() {
        let mut executor = Executor::new();
        let clock = executor.clock().clone();
        let woke = Rc::new(Cell::new(Time::ZERO));
        let seen = woke.clone();
        executor.clock().spawn(async move {
            clock.sleep(Duration::from_ns(7)).await;
            seen.set(clock.now());
        });
        assert!(!executor.run_until(|| false));
        assert_eq!(woke.get(), ns(7));
    }

    #[test]
    fn equal_tasks_have_equal_event_hashes_and_different_tasks_different_ones() {
        let hash_of = |delays: &[u64]| {
            let mut executor = Executor::new();
            for &delay in delays {
                let clock = executor.clock().clone();
                executor.clock().spawn(async move {
                    for step in 1..20 {
                        clock.sleep(Duration::from_ns(delay * step % 13)).await;
                    }
                });
            }
            executor.run();
            executor.clock().event_hash()
        };
        assert_eq!(hash_of(&[3, 5, 7]), hash_of(&[3, 5, 7]));
        assert_ne!(hash_of(&[3, 5, 7]), hash_of(&[3, 7, 5]));
    }

    #[test]
    fn numbers_of_finished_tasks_are_used_again() {
        let mut executor = Executor::new();
        for _ in 0..100 {
            executor.clock().spawn(async {});
            executor.run();
        }
        assert_eq!(executor.tasks.len(), 1);
    }
}
