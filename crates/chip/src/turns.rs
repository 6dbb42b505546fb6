//! Turns at lines: order the requests of several cores for the persist-buffer entry of one line by the time of the
//! request.
//!
//! The tags of the persist buffers change immediately at three kinds of events: a store, a flush by a remote read, and
//! the move of an entry to another buffer. The effects in memory follow later, behind queues of several cores. Each
//! event takes a turn when its tags change, and waits for this turn before it accesses the entry. The content of the
//! entry is then in the buffer to which the tags assign it.
//!
//! A turn waits only for turns that were taken before it, and each core ends its turns in order. Some turn can
//! therefore always proceed.

use rustc_hash::FxHashMap;
use sim::{Clock, TaskId};
use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;
use units::LineAddr;

/// Turns at one line; at least one of them has not ended.
#[derive(Default)]
struct Line {
    taken: u64,
    over: u64,
    waiting: Vec<TaskId>,
}

/// Turns at all lines.
pub(crate) struct LineTurns {
    clock: Clock,
    lines: RefCell<FxHashMap<LineAddr, Line>>,
}

impl LineTurns {
    /// Creates a set without turns.
    pub fn new(clock: &Clock) -> LineTurns {
        LineTurns { clock: clock.clone(), lines: RefCell::default() }
    }

    /// Takes the next turn at a line.
    pub fn take(&self, line: LineAddr) -> u64 {
        let mut lines = self.lines.borrow_mut();
        let line = lines.entry(line).or_default();
        line.taken += 1;
        line.taken - 1
    }

    /// True if a turn at the line has not ended.
    pub fn are_taken_at(&self, line: LineAddr) -> bool {
        self.lines.borrow().contains_key(&line)
    }

    /// Waits until all earlier turns at the line have ended.
    pub async fn wait(&self, line: LineAddr, turn: u64) {
        poll_fn(|_| {
            let mut lines = self.lines.borrow_mut();
            let Some(line) = lines.get_mut(&line).filter(|line| line.over < turn) else { return Poll::Ready(()) };
            let task = self.clock.current_task();
            if !line.waiting.contains(&task) {
                line.waiting.push(task);
            }
            Poll::Pending
        })
        .await;
    }

    /// Ends the current turn at a line.
    pub fn over(&self, line: LineAddr) {
        let mut lines = self.lines.borrow_mut();
        let Some(turns) = lines.get_mut(&line) else { return };
        turns.over += 1;
        turns.waiting.drain(..).for_each(|task| self.clock.wake(task));
        if turns.over == turns.taken {
            lines.remove(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Executor;
    use std::rc::Rc;
    use units::Duration;

    const LINE: LineAddr = LineAddr(3);

    #[test]
    fn tasks_access_a_line_in_the_order_of_their_tickets_and_not_of_their_waits() {
        let mut executor = Executor::new();
        let clock = executor.clock().clone();
        let (turns, log) = (Rc::new(LineTurns::new(&clock)), Rc::new(RefCell::new(Vec::new())));
        let taken: Vec<_> =
            [(LINE, 9), (LINE, 1), (LINE, 5), (LineAddr(4), 2)].map(|(line, ns)| (line, turns.take(line), ns)).into();
        for (line, turn, ns) in taken {
            let (clock, turns, log) = (clock.clone(), turns.clone(), log.clone());
            clock.clone().spawn(async move {
                clock.sleep(Duration::from_ns(ns)).await;
                turns.wait(line, turn).await;
                log.borrow_mut().push((line.0, ns));
                clock.sleep(Duration::from_ns(1)).await;
                turns.over(line);
            });
        }
        executor.run();
        assert_eq!(*log.borrow(), [(4, 2), (3, 9), (3, 1), (3, 5)], "another line does not wait");
        assert!(turns.lines.borrow().is_empty(), "what is over is forgotten");
    }
}
