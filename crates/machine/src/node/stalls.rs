//! Which line held up the core, and for how long: the part of a CPI stack that is memory's.
//!
//! Instructions retire in order, so cycles are counted where they leave the window. While none does, either the oldest one
//! waits for a line, its own or an entry of a page table, or the window is empty and the front end waits for one: for code,
//! or for a store to leave its queue. The line whose arrival ends that has held up the core since the latest retirement, or
//! since the line before it that was needed. What else arrives meanwhile held up nothing: without it the core would have stood
//! as long. A store that is in L1D and waits for the persist buffer holds up the core in the same way, for that buffer's account.
//! All other cycles are the core's own.

use super::Node;
use super::pipeline::walk::Walker;
use units::{Cycles, Duration};

/// What of a core's cycles has been counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stalls {
    /// Cycles before this one have been.
    counted_to: u64,
    idle: Pauses,
    switching: Pauses,
}

/// Cycles in which the core executed no instruction, for one reason. What follows the latest retirement is kept apart: it counts when
/// another instruction has retired, since nothing is lost behind the end of a program.
#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    settled: u64,
    /// Cycles since the latest retirement, and the cycle of that.
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

    /// All cycles before a retirement, the latest of which is in cycle `retired`.
    fn total(&self, retired: u64) -> u64 {
        let (latest, from) = self.latest;
        self.settled + if retired > from { latest } else { 0 }
    }
}

/// How far retirement was before something happened.
pub(super) struct Standing {
    /// Instructions that had left the window.
    retired: u64,
    /// Whether the window was empty.
    is_empty: bool,
    /// The cycle of the latest retirement.
    since: u64,
    /// Whether the oldest store waited for the persist buffer.
    persisting: bool,
}

impl Node {
    /// How far retirement is.
    #[inline]
    pub(super) fn standing(&self) -> Standing {
        let window = &self.core.window;
        let (retired, since) = (window.left(), self.core.retirement.cycle());
        let persisting = self.core.stores.is_persisting();
        Standing { retired, is_empty: retired == window.entered(), since, persisting }
    }

    /// For how many cycles a line that arrived in `cycle` had held up retirement.
    #[inline]
    pub(super) fn held_up(&mut self, before: &Standing, cycle: u64) -> u64 {
        let has_walked = self.core.walker.as_mut().is_some_and(Walker::has_served_awaited);
        // No line lets anything in while the oldest store is in L1D already.
        let kept_out = self.is_kept_out(before) && !before.persisting;
        let goes_on = self.core.window.left() > before.retired || kept_out || has_walked;
        if goes_on { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// For how many cycles the persist buffer, in which the oldest store went on in `cycle`, had held up retirement.
    pub(super) fn held_up_by_persist(&mut self, before: &Standing, cycle: u64) -> u64 {
        if self.is_kept_out(before) { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// For how many cycles a fence, which a flush let go in `cycle`, had held up retirement.
    pub(super) fn held_up_by_flush(&mut self, before: &Standing, cycle: u64) -> u64 {
        if self.core.window.left() > before.retired { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// For how many cycles the record of a page, which came in `cycle`, had held up retirement, if that waited for it.
    pub(super) fn held_up_by_record(&mut self, before: &Standing, was_awaited: bool, cycle: u64) -> u64 {
        let goes_on = self.core.window.left() > before.retired || self.is_kept_out(before) || was_awaited;
        if goes_on { self.stalls.count(before.since, cycle) } else { 0 }
    }

    /// Whether an instruction waits for a store to leave its queue. What comes while code is awaited has let nothing in.
    #[inline]
    fn is_kept_out(&self, before: &Standing) -> bool {
        before.is_empty && self.held.is_some() && !self.core.is_fetching()
    }

    /// There was nothing to execute before `cycle`.
    pub(super) fn idled(&mut self, cycle: u64) {
        let Standing { is_empty, since, .. } = self.standing();
        if !is_empty {
            return;
        }
        let idle = self.stalls.count(since, cycle);
        self.stalls.idle.add(idle, since);
    }

    /// A switch of processes ended in `cycle`.
    pub(super) fn was_switched(&mut self, cycle: u64) {
        let since = self.standing().since;
        let switching = self.stalls.count(since, cycle);
        self.stalls.switching.add(switching, since);
    }

    /// How long there was nothing to execute, between one retirement and another.
    pub fn idle(&self) -> Duration {
        self.clock.span(Cycles(self.stalls.idle.total(self.core.retirement.cycle())))
    }

    /// How long the core was switched from one process to another, between one retirement and another.
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
