//! Lines on their way from the caches to memory: the queue of the writers, and the cores that wait for these lines.

use super::flushes::Flushes;
use super::past_caches::PastCaches;
use rustc_hash::FxHashMap;
use sim::{Clock, TaskId};
use std::cell::RefCell;
use std::collections::VecDeque;
use units::LineAddr;

/// Lines on their way to memory.
pub struct LinesOut {
    clock: Clock,
    /// Lines that were passed to the writers and that have not arrived in memory, with the number of pending writes of
    /// each.
    leaving: RefCell<FxHashMap<LineAddr, u32>>,
    /// Lines to be written, oldest first; emptied by the writers.
    victims: RefCell<VecDeque<LineAddr>>,
    /// Lines that writers carry to memory and that memory has not accepted yet.
    carried: RefCell<Vec<LineAddr>>,
    writers_waiting: RefCell<VecDeque<TaskId>>,
    /// Flushes (CLWB) of the programs.
    pub flushes: Flushes,
    /// Stores that bypass the caches.
    pub(super) past_caches: PastCaches,
}

impl LinesOut {
    /// Creates an empty queue.
    pub(super) fn new(clock: &Clock) -> LinesOut {
        LinesOut {
            clock: clock.clone(),
            leaving: RefCell::default(),
            victims: RefCell::default(),
            carried: RefCell::default(),
            writers_waiting: RefCell::default(),
            flushes: Flushes::default(),
            past_caches: PastCaches::default(),
        }
    }

    /// Queues a line for the writers and wakes an idle writer.
    pub(super) fn send(&self, line: LineAddr) {
        *self.leaving.borrow_mut().entry(line).or_default() += 1;
        self.victims.borrow_mut().push_back(line);
        let writer = self.writers_waiting.borrow_mut().pop_front();
        if let Some(task) = writer {
            self.clock.wake(task);
        }
    }

    /// Registers an idle writer, to be woken at the next line.
    pub(crate) fn wait_for_line(&self) {
        let task = self.clock.current_task();
        let mut waiting = self.writers_waiting.borrow_mut();
        if !waiting.contains(&task) {
            waiting.push_back(task);
        }
    }

    /// Passes the oldest waiting line to a writer.
    pub(super) fn next(&self) -> Option<LineAddr> {
        let line = self.victims.borrow_mut().pop_front()?;
        self.carried.borrow_mut().push(line);
        Some(line)
    }

    /// Notes that memory, or a cache that locks the line, accepts a line from its writer.
    pub(super) fn accepted(&self, line: LineAddr) {
        let mut carried = self.carried.borrow_mut();
        if let Some(index) = carried.iter().position(|carried| *carried == line) {
            carried.swap_remove(index);
        }
    }

    /// Notes that a line has arrived in memory. Returns true if no other write of the line is pending.
    pub(super) fn arrived(&self, line: LineAddr) -> bool {
        let mut leaving = self.leaving.borrow_mut();
        if let Some(times) = leaving.get_mut(&line) {
            *times -= 1;
            if *times > 0 {
                return false;
            }
            leaving.remove(&line);
        }
        true
    }

    /// True if the writers received a line and memory does not have it yet.
    pub(super) fn has(&self, line: LineAddr) -> bool {
        self.leaving.borrow().contains_key(&line)
    }

    /// Number of lines that the writers received and that are not yet in memory.
    pub fn backlog(&self) -> usize {
        self.leaving.borrow().len()
    }

    /// Lines that memory has not accepted: queued lines, then carried lines.
    pub(super) fn not_accepted(&self) -> Vec<LineAddr> {
        self.victims.borrow().iter().chain(self.carried.borrow().iter()).copied().collect()
    }
}
