//! Loss of power on the chip: stops the cores, accepts the stores that the caches had received, and collects the lines
//! that a battery writes to memory.
//!
//! The chip still accepts stores that had reached a persist buffer or left a store queue before the loss, and the
//! controller completes the steps that it had begun. Later requests never take effect. The cores may be ahead of the
//! clock, so each request carries its time.

use super::Chip;
use super::left_behind::LeftBehind;
use super::served_scheme::ServedScheme;
use super::shadow_handle::ShadowHandle;
use catalogue::Machine;
use machine::coherence::CoherenceDomain;
use protection::planted::ChipBug;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::{Cell, RefCell};
use units::{Line, LineAddr, Time};

/// State of the power supply, and, for a simulated loss of power, the stores that the L1Ds have accepted.
pub struct PowerSupply {
    clock: Clock,
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
    /// Creates the power supply of a machine.
    pub(super) fn of(clock: &Clock, machine: &Machine) -> PowerSupply {
        let queues = || (0..machine.cores).map(|_| WorkQueue::new(clock)).collect();
        let written = || StoreQueues { queues: queues(), left_behind: RefCell::default() };
        let written = machine.node.reports_stores.then(written);
        PowerSupply { clock: clock.clone(), failed: Cell::new(None), written }
    }

    /// Cuts the power now.
    pub fn fail(&self, scheme: &ServedScheme) {
        let drops_queued = scheme.has_planted(ChipBug::QueuedStoresDropped);
        self.failed.set(Some(if drops_queued { Time::ZERO } else { self.clock.now() }));
    }

    /// True once the power has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// Waits for the next item of a queue: `Err` with the item if its time is after the loss of power, so that it must
    /// have no effect.
    pub(super) async fn next<T>(&self, queue: &WorkQueue<T>) -> Result<T, T> {
        let (at, item) = queue.next_with_time().await;
        if self.failed.get().is_some_and(|failed| failed < at) { Err(item) } else { Ok(item) }
    }

    /// Queues the stores that a core's L1D has accepted, after a call of its node. Call this before any part handles the
    /// requests of that call: a line that leaves the caches has the stores that preceded its departure.
    pub fn settle_written(&self, core: usize, cores: &CoherenceDomain, shadow: &ShadowHandle) {
        let Some(StoreQueues { queues, left_behind }) = &self.written else { return };
        let stores = cores.nodes()[core].borrow_mut().accepted_stores().take();
        for (at, line) in stores {
            shadow.note(|log| log.reached_acceptance(core, at, true));
            left_behind.borrow_mut().had(line);
            queues[core].push(at, line);
        }
    }

    /// True if the machine records the stores that its caches accept.
    fn records_written(&self) -> bool {
        self.written.is_some()
    }

    /// Waits for the next store that a core's caches accept; never returns if the machine does not record these stores,
    /// or has no power.
    pub(crate) async fn next_written(&self, core: usize) -> LineAddr {
        let Some(written) = &self.written else { return std::future::pending().await };
        match self.next(&written.queues[core]).await {
            Ok(line) => line,
            Err(_) => std::future::pending().await,
        }
    }

    fn with_left_behind(&self, what: impl FnOnce(&mut LeftBehind)) {
        if let Some(written) = &self.written {
            what(&mut written.left_behind.borrow_mut());
        }
    }

    /// Notes that the clock has reached the oldest store to a line.
    pub(crate) fn taken_up(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.taken_up(line));
    }

    /// Notes that a line leaves the caches, or the combining buffers of these cores, for memory.
    pub(super) fn leaves_caches(&self, line: LineAddr, cores: &CoherenceDomain) {
        self.with_left_behind(|left_behind| left_behind.leaves(line, stores_in_queues(cores, line)));
    }

    /// Notes that the caches of these cores drop a line that the kernel changes, with its stores if it was `dirty`.
    pub(super) fn dropped(&self, line: LineAddr, dirty: bool, cores: &CoherenceDomain) {
        self.with_left_behind(|left_behind| left_behind.dropped(line, dirty, stores_in_queues(cores, line)));
    }

    /// Notes that memory receives a line, with all stores to the line that the caches have accepted.
    pub(super) fn goes_to_memory(&self, line: LineAddr) {
        self.with_left_behind(|left_behind| left_behind.carried(line));
    }

    /// True if a line has left the caches without a store that they have accepted.
    pub(super) fn has_left_behind(&self, line: LineAddr) -> bool {
        self.written.as_ref().is_some_and(|written| written.left_behind.borrow().has(line))
    }
}

/// Number of stores to a line that a cache has received and that an earlier store keeps in the store queue.
fn stores_in_queues(cores: &CoherenceDomain, line: LineAddr) -> u32 {
    cores.nodes().iter().map(|node| node.borrow_mut().accepted_stores().in_queue(line)).sum()
}

impl Chip {
    /// Applies changes by the kernel that no pending store of a core's program precedes, and writes them to memory.
    pub(crate) fn let_changes_in(&self, core: usize) {
        if !self.power.records_written() {
            return;
        }
        while self.shadow.next_from_outside(core).is_some() {
            let line = self.shadow.changes_in_caches(core);
            if !self.scheme.has_planted(ChipBug::KernelChangesNotWritten) {
                self.send_out(line);
            }
        }
    }

    /// Lines that a battery writes to memory, in order: lines that are dirty in caches, or that left the caches without
    /// a store. Their content includes all stores that the caches have accepted.
    pub fn take_dirty(&self) -> Vec<(LineAddr, Line)> {
        let mut lines = self.cores.dirty_lines();
        lines.extend(self.llc.dirty_lines());
        if !self.scheme.has_planted(ChipBug::CombiningLinesForgotten) {
            lines.extend(self.cores.nodes().iter().flat_map(|node| node.borrow().combining_lines()));
        }
        if !self.scheme.has_planted(ChipBug::LinesOnTheWayForgotten) {
            lines.extend(self.ports.stored());
        }
        lines.extend(self.out.not_accepted());
        self.power.with_left_behind(|left_behind| lines.extend(left_behind.lines()));
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| (line, self.shadow.put(line))).collect()
    }
}
