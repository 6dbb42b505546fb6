//! Lines that the core has received without a verdict: the times from release to verdict, called windows, and the
//! writes that wait for verdicts.

use derive_more::{AddAssign, Sub};
use rustc_hash::FxHashMap;
use serde::Serialize;
use sim::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;
use units::{Duration, LineAddr, Time};

/// Statistics on lines that were released before their verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct WindowCounts {
    /// Lines released before their verdicts, and since settled.
    pub windows: u64,
    /// Sum of the times from release to verdict, in femtoseconds.
    pub open_fs: u64,
    /// Writes that had to wait for verdicts.
    pub writes_held: u64,
    /// Sum of the waits of writes for verdicts, in femtoseconds.
    pub held_fs: u64,
}

/// Result of a wait for verdicts.
pub(super) struct Settled {
    /// True if the wait took time.
    pub waited: bool,
    /// True if all verdicts in the meantime were good.
    pub all_good: bool,
}

/// The open windows of one memory.
#[derive(Default)]
pub(super) struct Windows {
    open: RefCell<FxHashMap<LineAddr, (u64, Time)>>,
    opened: Cell<u64>,
    refused: Cell<u64>,
    waiting: RefCell<Vec<TaskId>>,
    counts: Cell<WindowCounts>,
    longest: Cell<Duration>,
}

impl Windows {
    /// Opens the window of a line that is released now.
    pub fn open(&self, line: LineAddr, now: Time) {
        self.opened.set(self.opened.get() + 1);
        self.open.borrow_mut().insert(line, (self.opened.get(), now));
    }

    /// Closes the window of a line, with its verdict.
    pub fn close(&self, line: LineAddr, good: bool, clock: &Clock) {
        self.refused.set(self.refused.get() + u64::from(!good));
        let Some((_, since)) = self.open.borrow_mut().remove(&line) else { return };
        let length = clock.now().since(since);
        self.longest.set(self.longest.get().max(length));
        let mut counts = self.counts.get();
        counts.windows += 1;
        counts.open_fs += length.as_fs();
        self.counts.set(counts);
        self.waiting.borrow_mut().drain(..).for_each(|task| clock.wake(task));
    }

    /// Waits until all windows that are open now are closed.
    pub async fn all_settled(&self, clock: &Clock) -> Settled {
        let (last, requested, refused) = (self.opened.get(), clock.now(), self.refused.get());
        poll_fn(|_| {
            if self.open.borrow().values().all(|(number, _)| *number > last) {
                return Poll::Ready(());
            }
            let task = clock.current_task();
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.contains(&task) {
                waiting.push(task);
            }
            Poll::Pending
        })
        .await;
        let waited = clock.now().since(requested);
        let mut counts = self.counts.get();
        counts.writes_held += u64::from(waited > Duration::ZERO);
        counts.held_fs += waited.as_fs();
        self.counts.set(counts);
        Settled { waited: waited > Duration::ZERO, all_good: self.refused.get() == refused }
    }

    pub fn counts(&self) -> WindowCounts {
        self.counts.get()
    }

    pub fn longest(&self) -> Duration {
        self.longest.get()
    }
}
