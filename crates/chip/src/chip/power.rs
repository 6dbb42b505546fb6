//! Loss of power on the chip: stops the cores, accepts the stores that the caches had received, and collects the lines
//! that a battery writes to memory.
//!
//! The chip still accepts stores that had reached a persist buffer or left a store queue before the loss, and the
//! controller completes the steps that it had begun. Later requests never take effect. The cores may be ahead of the
//! clock, so each request carries its time.

use super::Chip;
use super::left_behind::LeftBehind;
use super::upward::Port;
use crate::shadow::persisted::changes_from_outside;
use crate::store_log::StoreLog;
use catalogue::Machine;
use protection::planted::ChipBug;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::{Cell, RefCell};
use units::{Line, LineAddr, Time};

/// State of the power supply, and, for a simulated loss of power, the stores that the L1Ds have accepted.
pub(super) struct PowerSupply {
    failed: Cell<Option<Time>>,
    written: Option<StoreQueues>,
}

/// Stores that the L1Ds have accepted.
struct StoreQueues {
    /// Lines of these stores per core, each due at the time at which the store left the store queue.
    queues: Box<[WorkQueue<LineAddr>]>,
    left_behind: RefCell<LeftBehind>,
}

impl PowerSupply {
    pub fn of(clock: &Clock, machine: &Machine) -> PowerSupply {
        let queues = || (0..machine.cores).map(|_| WorkQueue::new(clock)).collect();
        let written = || StoreQueues { queues: queues(), left_behind: RefCell::default() };
        let written = machine.node.reports_stores.then(written);
        PowerSupply { failed: Cell::new(None), written }
    }
}

impl Chip {
    /// Cuts the power now.
    pub fn lose_power(&self) {
        let drops_queued = self.has_planted(ChipBug::QueuedStoresDropped);
        self.power.failed.set(Some(if drops_queued { Time::ZERO } else { self.clock.now() }));
    }

    /// True until the power fails.
    pub fn has_power(&self) -> bool {
        self.power.failed.get().is_none()
    }

    /// Waits for the next item of a queue; never returns an item with a time after the loss of power.
    pub(super) async fn next_with_power<T>(&self, queue: &WorkQueue<T>) -> T {
        let (at, item) = queue.next_with_time().await;
        if self.power.failed.get().is_some_and(|failed| failed < at) {
            return std::future::pending().await;
        }
        item
    }

    /// Queues the stores that a core's L1D has accepted, after a call of its node.
    pub(super) fn settle_written(&self, core: usize) {
        let Some(StoreQueues { queues, left_behind }) = &self.power.written else { return };
        let stores = self.cores.nodes()[core].borrow_mut().take_written_stores();
        for (at, line) in stores {
            self.note(|log| log.reached_acceptance(core, at, true));
            left_behind.borrow_mut().had(line);
            queues[core].push(at, line);
        }
    }

    /// Waits for the next store that a core's caches accept; never returns if the machine does not record these stores.
    pub(crate) async fn next_written(&self, core: usize) -> LineAddr {
        let Some(written) = &self.power.written else { return std::future::pending().await };
        self.next_with_power(&written.queues[core]).await
    }

    /// Accepts the next store of a core, which must be to this line, in the core's caches.
    pub(crate) fn accept_in_caches(&self, core: usize, line: LineAddr) {
        self.let_changes_in(core);
        self.next_store(core, line);
        self.with_left_behind(|left_behind| left_behind.taken_up(line));
        self.let_changes_in(core);
    }

    /// Applies changes by the kernel that no pending store of a core's program precedes, and writes them to memory.
    pub(super) fn let_changes_in(&self, core: usize) {
        if self.power.written.is_none() {
            return;
        }
        while self.next_from_outside(core).is_some() {
            let (line, _) = changes_from_outside(&mut self.shadow.borrow_mut(), core);
            self.note(|log| log.change_accepted(core, line));
            if !self.has_planted(ChipBug::KernelChangesNotWritten) {
                self.send_out(line);
            }
        }
    }

    fn with_left_behind(&self, what: impl FnOnce(&mut LeftBehind)) {
        if let Some(written) = &self.power.written {
            what(&mut written.left_behind.borrow_mut());
        }
    }

    /// Notes that a line leaves the caches for memory.
    pub(super) fn leaves_caches(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.leaves(line));
    }

    /// Notes that the caches drop a line that the kernel changes.
    pub(super) fn dropped(&self, line: LineAddr, dirty: bool) {
        if self.has_planted(ChipBug::DroppedLinesForgotten) {
            return;
        }
        self.with_left_behind(|left_behind| left_behind.dropped(line, dirty));
    }

    /// Notes that a line leaves past the caches for memory.
    pub(super) fn leaves_past_caches(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.leaves_past_caches(line));
    }

    /// Notes that memory receives a line, with all stores to the line that the caches have accepted.
    pub(super) fn goes_to_memory(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.carried(line));
    }

    /// True if a line has left the caches without a store that they have accepted.
    pub(super) fn has_left_behind(&self, line: LineAddr) -> bool {
        self.power.written.as_ref().is_some_and(|written| written.left_behind.borrow().has(line))
    }

    /// Calls `what` on the account of stores ([`StoreLog`]), if there is one.
    pub(crate) fn note(&self, what: impl FnOnce(&mut StoreLog)) {
        if let Some(log) = &mut self.shadow.borrow_mut().log {
            what(log);
        }
    }

    /// Returns true if the chip has this weakness. Without the feature `planted-bugs`, the result is false.
    pub(crate) fn has_planted(&self, bug: ChipBug) -> bool {
        self.scheme.borrow().upgrade().is_some_and(|scheme| scheme.planted.has(bug))
    }

    /// Lines that a battery writes to memory, in order: lines that are dirty in caches, or that left the caches without
    /// a store. Their content includes all stores that the caches have accepted.
    pub fn take_dirty(&self) -> Vec<(LineAddr, Line)> {
        let mut lines = self.cores.dirty_lines();
        lines.extend(self.llc.dirty_lines());
        if !self.has_planted(ChipBug::CombiningLinesForgotten) {
            lines.extend(self.cores.nodes().iter().flat_map(|node| node.borrow().combining_lines()));
        }
        if !self.has_planted(ChipBug::LinesOnTheWayForgotten) {
            lines.extend(self.ports.iter().flat_map(Port::stored));
        }
        lines.extend(self.victims.borrow().iter().chain(self.carried.borrow().iter()));
        self.with_left_behind(|left_behind| lines.extend(left_behind.lines()));
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| (line, self.shadow.borrow_mut().put(line))).collect()
    }
}
