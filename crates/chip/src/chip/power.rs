//! What a loss of power finds on the chip: cores that stop, stores that caches had, and what a battery takes to memory.
//!
//! What had come to a persist buffer or left a store queue by then is still accepted, and what the controller has begun ends; what
//! comes later never does. The cores may be ahead of the clock, so what they ask for carries its time.

use super::Chip;
use super::left_behind::LeftBehind;
use super::upward::Port;
use crate::shadow::persisted::changes_from_outside;
use crate::store_log::StoreLog;
use catalogue::Machine;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::{Cell, RefCell};
use units::{Line, LineAddr, Time};

/// Whether there is power, and the stores that L1D has had, where a loss of power has to find them.
pub(super) struct Power {
    failed: Cell<Option<Time>>,
    written: Option<Written>,
}

/// The stores that L1Ds have had.
struct Written {
    /// By core: the lines of these stores, each from when it left the store queue.
    queues: Box<[WorkQueue<LineAddr>]>,
    left_behind: RefCell<LeftBehind>,
}

impl Power {
    pub fn of(clock: &Clock, machine: &Machine) -> Power {
        let queues = || (0..machine.cores).map(|_| WorkQueue::new(clock)).collect();
        let written = || Written { queues: queues(), left_behind: RefCell::default() };
        Power { failed: Cell::new(None), written: machine.node.reports_stores.then(written) }
    }
}

impl Chip {
    /// Power fails now.
    pub fn lose_power(&self) {
        self.power.failed.set(Some(self.clock.now()));
    }

    /// Whether cores go on.
    pub fn has_power(&self) -> bool {
        self.power.failed.get().is_none()
    }

    /// What comes next to a queue; never anything that comes after power has failed.
    pub(super) async fn next_with_power<T>(&self, queue: &WorkQueue<T>) -> T {
        let (at, item) = queue.next_with_time().await;
        if self.power.failed.get().is_some_and(|failed| failed < at) {
            return std::future::pending().await;
        }
        item
    }

    /// Takes up the stores that a core's L1D has had, now that its node was called.
    pub(super) fn settle_written(&self, core: usize) {
        let Some(Written { queues, left_behind }) = &self.power.written else { return };
        let stores = self.cores.nodes()[core].borrow_mut().take_written_stores();
        for (at, line) in stores {
            self.note(|log| log.came(core, at, true));
            left_behind.borrow_mut().had(line);
            queues[core].push(at, line);
        }
    }

    /// The next store that a core's caches have; never any if nobody asked for them.
    pub(crate) async fn next_written(&self, core: usize) -> LineAddr {
        let Some(written) = &self.power.written else { return std::future::pending().await };
        self.next_with_power(&written.queues[core]).await
    }

    /// The caches of a core have its next store, which is to this line.
    pub(crate) fn accept_in_caches(&self, core: usize, line: LineAddr) {
        self.let_changes_in(core);
        self.next_store(core, line);
        self.with_left_behind(|left_behind| left_behind.taken_up(line));
        self.let_changes_in(core);
    }

    /// What the kernel changed takes effect, as far as no store of a core's program comes before, and goes to memory.
    pub(super) fn let_changes_in(&self, core: usize) {
        if self.power.written.is_none() {
            return;
        }
        while self.next_from_outside(core).is_some() {
            let (line, _) = changes_from_outside(&mut self.shadow.borrow_mut(), core);
            self.send_out(line);
        }
    }

    fn with_left_behind(&self, what: impl FnOnce(&mut LeftBehind)) {
        if let Some(written) = &self.power.written {
            what(&mut written.left_behind.borrow_mut());
        }
    }

    /// A line leaves the caches for memory.
    pub(super) fn leaves_caches(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.leaves(line));
    }

    /// Memory gets a line, with all stores to it that caches have had.
    pub(super) fn goes_to_memory(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.carried(line));
    }

    /// Whether a line has left the caches without a store that they have had.
    pub(super) fn has_left_behind(&self, line: LineAddr) -> bool {
        self.power.written.as_ref().is_some_and(|written| written.left_behind.borrow().has(line))
    }

    /// Writes something down in the account of stores, if there is one.
    pub(crate) fn note(&self, what: impl FnOnce(&mut StoreLog)) {
        if let Some(log) = &mut self.shadow.borrow_mut().log {
            what(log);
        }
    }

    /// What a battery takes to memory, in order: lines that caches have dirty, or that have left them without a store, as the stores
    /// made them that caches have had.
    pub fn take_dirty(&self) -> Vec<(LineAddr, Line)> {
        let mut lines = self.cores.dirty_lines();
        lines.extend(self.llc.borrow().dirty_lines());
        lines.extend(self.cores.nodes().iter().flat_map(|node| node.borrow().combining_lines()));
        lines.extend(self.ports.iter().flat_map(Port::stored));
        lines.extend(self.victims.borrow().iter().chain(self.carried.borrow().iter()));
        self.with_left_behind(|left_behind| lines.extend(left_behind.lines()));
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| (line, self.shadow.borrow_mut().put(line))).collect()
    }
}
