//! Attributes stall cycles of the core to lines: the memory component of a CPI stack.
//!
//! Instructions retire in order, so stall cycles are counted at retirement. While no instruction retires, one of two
//! cases holds. Either the oldest instruction waits for a line of its data or of a page table. Or the window is empty
//! and the front end waits, for code or for a store to leave the store queue. A line that ends the stall by its arrival
//! is charged with the cycles since the latest retirement, or since the arrival of the previous needed line. Other
//! lines that arrive during the stall are charged with no cycles: without them the stall would have been equally long.
//! A store that is in L1D and waits for the persist buffer holds up the core in the same way. These cycles are charged
//! to the persist buffer. All other cycles are charged to the core.

use super::pipeline::Core;
use super::pipeline::walk::PageWalker;
use units::Cycles;

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
    /// True if an instruction could not enter the window.
    is_held: bool,
    /// Cycle of the latest retirement.
    since: u64,
    /// True if the oldest store waited for the persist buffer.
    persisting: bool,
}

impl Standing {
    /// Returns the state of retirement of `core`. `is_held` is true if an instruction could not enter the window.
    #[inline]
    pub(super) fn of(core: &Core, is_held: bool) -> Standing {
        let (window, retired) = (&core.window, core.window.left());
        Standing {
            retired,
            is_empty: retired == window.entered(),
            is_held,
            since: core.window.retired_at(),
            persisting: core.stores.is_persisting(),
        }
    }

    /// Returns true if an instruction cannot enter the empty window because a store must first leave the store queue.
    /// While code is outstanding, arriving lines of data do not end the stall.
    #[inline]
    fn is_kept_out(&self, core: &Core) -> bool {
        self.is_empty && self.is_held && !core.front.is_fetching()
    }
}

impl Stalls {
    /// Returns the cycles for which a line that arrived in `cycle` had held up retirement.
    #[inline]
    pub(super) fn held_up(&mut self, core: &mut Core, before: &Standing, cycle: u64) -> u64 {
        let has_walked = core.translation.walker_mut().is_some_and(PageWalker::has_served_awaited);
        // If the oldest store is already in L1D, the stall does not end with the arrival of a line.
        let kept_out = before.is_kept_out(core) && !before.persisting;
        let goes_on = core.window.left() > before.retired || kept_out || has_walked;
        if goes_on { self.count(before.since, cycle) } else { 0 }
    }

    /// Returns the cycles for which the persist buffer had held up retirement, until the oldest store continued in
    /// `cycle`.
    pub(super) fn held_up_by_persist(&mut self, core: &Core, before: &Standing, cycle: u64) -> u64 {
        if before.is_kept_out(core) { self.count(before.since, cycle) } else { 0 }
    }

    /// Returns the cycles for which a fence had held up retirement, until a flush released it in `cycle`.
    pub(super) fn held_up_by_flush(&mut self, core: &Core, before: &Standing, cycle: u64) -> u64 {
        if core.window.left() > before.retired { self.count(before.since, cycle) } else { 0 }
    }

    /// Returns the cycles for which a page record that arrived in `cycle` had held up retirement, if retirement waited
    /// for it.
    pub(super) fn held_up_by_record(&mut self, core: &Core, before: &Standing, was_awaited: bool, cycle: u64) -> u64 {
        let goes_on = core.window.left() > before.retired || before.is_kept_out(core) || was_awaited;
        if goes_on { self.count(before.since, cycle) } else { 0 }
    }

    /// Counts the cycles before `cycle` in which the core had no instruction to execute.
    pub(super) fn idled(&mut self, now: &Standing, cycle: u64) {
        if !now.is_empty {
            return;
        }
        let idle = self.count(now.since, cycle);
        self.idle.add(idle, now.since);
    }

    /// Counts the cycles of a switch of processes that ended in `cycle`.
    pub(super) fn was_switched(&mut self, now: &Standing, cycle: u64) {
        let switching = self.count(now.since, cycle);
        self.switching.add(switching, now.since);
    }

    /// Returns the cycles without instructions to execute before the latest retirement, in cycle `retired`.
    pub(super) fn idle_before(&self, retired: u64) -> Cycles {
        Cycles(self.idle.total(retired))
    }

    /// Returns the cycles of process switches before the latest retirement, in cycle `retired`.
    pub(super) fn switching_before(&self, retired: u64) -> Cycles {
        Cycles(self.switching.total(retired))
    }

    /// Counts the cycles from the latest retirement to `cycle`, once.
    fn count(&mut self, since: u64, cycle: u64) -> u64 {
        let from = since.max(self.counted_to);
        self.counted_to = self.counted_to.max(cycle);
        cycle.saturating_sub(from)
    }
}
