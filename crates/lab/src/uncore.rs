//! From the core's misses to protected memory and back: the tasks that carry lines.
//!
//! A *reader* is one miss of the last-level cache under way, a *writer* one line on its way to memory. Both are tasks
//! that live as long as the machine and take one line after another, so that nothing is allocated for an access. Each
//! runs the scheme's text itself: the line is delivered when the text releases it, and the reader goes on with whatever
//! the text still has to do.

use crate::chip::Chip;
use machine::node::{Request, RequestKind};
use protection::scheme::Scheme;
use protection::ways::{Timed, TimedMemory};
use sim::Clock;
use sim::resource::Queue;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use systems::Machine;
use units::{Duration, LineAddr, Time};

/// A line that the core wants.
struct Miss {
    line: LineAddr,
    at: Time,
}

/// The last-level cache's controller and what is behind it.
pub struct Uncore {
    clock: Clock,
    chip: Rc<Chip>,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory<Rc<Chip>>>,
    misses: Queue<Miss>,
    llc_latency: Duration,
    path: Duration,
    writeback_buffers: usize,
    /// Readers that wait for a write-back buffer.
    held_up: RefCell<VecDeque<sim::TaskId>>,
    /// Lines asked for and not yet done with.
    reads: Cell<usize>,
    /// Who waits until everything has come to rest.
    waits_for_rest: Cell<Option<sim::TaskId>>,
}

impl Uncore {
    /// Starts the readers and writers.
    pub fn start(
        clock: &Clock,
        machine: &Machine,
        chip: Rc<Chip>,
        scheme: Rc<Scheme>,
        memory: Rc<TimedMemory<Rc<Chip>>>,
    ) -> Rc<Uncore> {
        let uncore = Rc::new(Uncore {
            clock: clock.clone(),
            chip,
            scheme,
            memory,
            misses: Queue::new(clock, usize::MAX),
            llc_latency: Duration::from_ns_f64(machine.llc.latency_ns),
            path: Duration::from_ns_f64(machine.memory.path_ns / 2.0),
            writeback_buffers: machine.llc.writeback_buffers,
            held_up: RefCell::default(),
            reads: Cell::new(0),
            waits_for_rest: Cell::new(None),
        });
        for _ in 0..machine.llc.mshrs {
            clock.spawn(uncore.clone().read_forever());
        }
        for _ in 0..machine.llc.writeback_buffers {
            clock.spawn(uncore.clone().write_forever());
        }
        uncore
    }

    /// Takes up everything that has left the private caches.
    pub fn take_up(&self, requests: &mut Vec<Request>) {
        for request in requests.drain(..) {
            match request.kind {
                RequestKind::WriteBack => self.chip.take_back(request.line),
                RequestKind::Read
                | RequestKind::ReadForOwnership
                | RequestKind::Instruction
                | RequestKind::Prefetch => {
                    // The queue has no limit: the private caches' own misses are limited.
                    self.reads.set(self.reads.get() + 1);
                    let _ = self.misses.push(Miss { line: request.line, at: request.at });
                }
            }
        }
    }

    /// Whether no line is under way between the private caches and memory.
    pub fn is_at_rest(&self) -> bool {
        self.reads.get() == 0 && self.chip.backlog() == 0
    }

    /// Wakes the current task when everything has come to rest.
    pub fn wake_at_rest(&self) {
        self.waits_for_rest.set(Some(self.clock.current_task()));
    }

    fn tell_of_rest(&self) {
        if self.waits_for_rest.get().is_some() && self.is_at_rest() {
            self.waits_for_rest.take().into_iter().for_each(|task| self.clock.wake(task));
        }
    }

    async fn read_forever(self: Rc<Uncore>) {
        let verbs = Timed::new(&self.memory);
        loop {
            let miss = self.misses.pop().await;
            self.clock.sleep_until(miss.at + self.llc_latency).await;
            if self.chip.look_up(miss.line) {
                self.chip.deliver(miss.line, self.clock.now());
            } else {
                self.chip.asking(miss.line);
                self.writeback_buffer().await;
                self.clock.sleep(self.path).await;
                self.scheme.read(&verbs, miss.line).await;
            }
            self.reads.set(self.reads.get() - 1);
            self.tell_of_rest();
        }
    }

    async fn write_forever(self: Rc<Uncore>) {
        let verbs = Timed::new(&self.memory);
        loop {
            let line = self.next_victim().await;
            self.clock.sleep(self.path).await;
            let content = self.chip.put(line);
            self.scheme.write(&verbs, line, &content).await;
            self.chip.written(line);
            if let Some(task) = self.held_up.borrow_mut().pop_front() {
                self.clock.wake(task);
            }
            self.tell_of_rest();
        }
    }

    async fn next_victim(&self) -> LineAddr {
        poll_fn(|_| match self.chip.victims.borrow_mut().pop_front() {
            Some(line) => Poll::Ready(line),
            None => {
                self.chip.wait_for_victims();
                Poll::Pending
            }
        })
        .await
    }

    /// A fill may evict a dirty line, so it waits while all write-back buffers are in use.
    async fn writeback_buffer(&self) {
        poll_fn(|_| {
            if self.chip.backlog() < self.writeback_buffers {
                return Poll::Ready(());
            }
            let task = self.clock.current_task();
            let mut held_up = self.held_up.borrow_mut();
            if !held_up.contains(&task) {
                held_up.push_back(task);
            }
            Poll::Pending
        })
        .await;
    }
}
