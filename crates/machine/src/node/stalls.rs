//! Attributes stall cycles of the core to lines: the memory component of a CPI stack.
//!
//! Instructions retire in order, so stall cycles are counted at retirement. While no instruction retires, one of two
//! cases holds. Either the oldest instruction waits for a line of its data or of a page table. Or the window is empty
//! and the front end waits, for code or for a store to leave the store queue. A line that ends the stall by its arrival
//! is charged with the cycles since the latest retirement, or since the arrival of the previous needed line. Other
//! lines that arrive during the stall are charged with no cycles: without them the stall would have been equally long.
//! A store that is in L1D and waits for the persist buffer holds up the core in the same way. These cycles are charged
//! to the persist buffer. All other cycles are charged to the core.

use super::Node;
use super::pipeline::walk::PageWalker;
use units::{Cycles, Duration};

/// Cycles of a core that have been attributed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stalls {
    /// All cycles before this one have been attributed.
    counted_to: u64,
    idle: Pauses,
    switching: Pauses,
}

/// Cycles in which the core executed no instruction, for one cause (idle or process switch). Cycles after the latest
/// retirement are stored separately. They count only when another instruction retires, since cycles after the end of a
/// program are not lost.
#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    settled: u64,
    /// Cycles since the latest retirement, and the cycle of this retirement.
    latest: (u64, u64),
}

impl Pauses {
    /// Adds cycles that follow the retirement in cycle `since`.
    fn add(&mut self, cycles: u64, since: u64) {
        let (latest, from) = &mut self.latest;
        if since > *from {
            self.settled += std::mem::take(latest);
            *from = since;
        }
        *latest += cycles;
    }

    /// Returns the cycles before the latest retirement, which is in cycle `retired`.
    fn total(&self, retired: u64) -> u64 {
        let (latest, from) = self.latest;
        self.settled + if retired > from { latest } else { 0 }
    }
}

/// State of retirement before an event.
pub(super) struct Standing {
    /// Instructions that had left the window.
    retired: u64,
    /// True if the window was empty.
    is_empty: bool,
    /// Cycle of the latest retirement.
    since: u64,
    /// True if the oldest store waited for the persist buffer.
    persisting: bool,
}

impl Node {
    /// Returns the state of retirement.
    #[inline]
    pub(super) fn standing(&self) -> Standing {
        let window = &self.core.window;
        let (retired, since) = (window.left(), self.core.retirement.cycle());
        let persisting = self.core.stores.is_persisting();
        Standing { retired, is_empty: retired == window.entered(), since, persisting }
    }

    /// Returns the cycles for which a line that arrived in `cycle` had held up retirement.
    #[inline]
    pub(super) fn held_up(&mut self, before: &Standing, cycle: u64) -> u64 {
        let has_walked = self.core.walker.as_mut().is_some_and(PageWalker::has_served_awaited);
        // If the oldest store is already in L1D, the stall does not end with the arrival of a line.
        let kept_out = self.is_kept_out(before) && !before.persisting;
        let goes_on = self.core.window.left() > before.retired || kept_out || has_walked;
        if goes_on { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// Returns the cycles for which the persist buffer had held up retirement, until the oldest store continued in
    /// `cycle`.
    pub(super) fn held_up_by_persist(&mut self, before: &Standing, cycle: u64) -> u64 {
        if self.is_kept_out(before) { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// Returns the cycles for which a fence had held up retirement, until a flush released it in `cycle`.
    pub(super) fn held_up_by_flush(&mut self, before: &Standing, cycle: u64) -> u64 {
        if self.core.window.left() > before.retired { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// Returns the cycles for which a page record that arrived in `cycle` had held up retirement, if retirement waited
    /// for it.
    pub(super) fn held_up_by_record(&mut self, before: &Standing, was_awaited: bool, cycle: u64) -> u64 {
        let goes_on = self.core.window.left() > before.retired || self.is_kept_out(before) || was_awaited;
        if goes_on { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// Returns true if an instruction cannot enter the empty window because a store must first leave the store queue.
    /// While code is outstanding, arriving lines of data do not end the stall.
    #[inline]
    fn is_kept_out(&self, before: &Standing) -> bool {
        before.is_empty && self.held.is_some() && !self.core.is_fetching()
    }

    /// Counts the cycles before `cycle` in which the core had no instruction to execute.
    pub(super) fn idled(&mut self, cycle: u64) {
        let Standing { is_empty, since, .. } = self.standing();
        if !is_empty {
            return;
        }
        let idle = self.stalls.count(since, cycle);
        self.stalls.idle.add(idle, since);
    }

    /// Counts the cycles of a switch of processes that ended in `cycle`.
    pub(super) fn was_switched(&mut self, cycle: u64) {
        let since = self.standing().since;
        let switching = self.stalls.count(since, cycle);
        self.stalls.switching.add(switching, since);
    }

    /// Returns the time without instructions to execute, between retirements.
    pub fn idle(&self) -> Duration {
        self.clock.span(Cycles(self.stalls.idle.total(self.core.retirement.cycle())))
    }

    /// Returns the time of process switches, between retirements.
    pub fn switching(&self) -> Duration {
        self.clock.span(Cycles(self.stalls.switching.total(self.core.retirement.cycle())))
    }
}

impl Stalls {
    /// Counts the cycles from the latest retirement to `cycle`, once.
    fn count(&mut self, since: u64, cycle: u64) -> u64 {
        let from = since.max(self.counted_to);
        self.counted_to = self.counted_to.max(cycle);
        cycle.saturating_sub(from)
    }
}
