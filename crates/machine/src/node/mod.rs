//! One core with its private caches, as an event-driven model without a loop over cycles.
//!
//! A [`Node`] takes instructions from a [`Feed`] and executes them until it needs a line from beyond L2. The node
//! appends requests that leave its L2 to a list of [`Request`]s; the owner performs them and reports lines with
//! [`Node::filled`]. Inside the node, time is a number of core cycles; [`units::Time`] appears in this interface only.
//!
//! Callers name the part of the node that they need: the [`Caches`], the [`Tlbs`] or the persist buffer
//! ([`PersistPath`]). Each part is a structure with private fields. [`Node`] contains the steps that join several parts,
//! in an order that results depend on.
//!
//! | file | part |
//! |---|---|
//! | `interface.rs` | data that enter and leave the node |
//! | `pipeline/` | from the front end to retirement: the window, units, loads and stores, branches, translations |
//! | `caches/` | private caches, misses, fills, prefetchers, and effects of other cores on lines |
//! | `persist.rs` | a battery-backed persist buffer: access to it, and replies to its requests |
//! | `records.rs` | page records: access to the TLBs, which request them, and their arrival |
//! | `stalls.rs` | stall cycles of the core due to each line |
//! | `lines.rs`, `waiting.rs` | lines of 32 and 64 bytes; lists of waiting accesses and instructions |
//! | `warm.rs` | updates of caches, TLBs and predictors without simulated time, between the windows of a sampled run |
//! | `config.rs`, `check.rs`, `counts.rs` | configuration, validation of the configuration, and statistics |

mod accepted;
mod caches;
mod check;
mod config;
mod counts;
mod interface;
mod lines;
mod persist;
mod pipeline;
mod records;
mod stalls;
mod switches;
mod waiting;
mod warm;

#[cfg(test)]
mod tests;

pub use accepted::AcceptedStores;
pub use caches::{Caches, CleanVictims, L1i, L2, MetadataLines, Outgoing, PrefetcherConfig, Prefetchers};
pub use check::NodeConfigError;
pub use config::{
    CacheConfig, DirectionPredictor, FunctionalUnit, FunctionalUnits, NodeConfig, PersistConfig, PredictorConfig,
    StoreHold, TableLayout, TlbConfig, WalkerConfig,
};
pub use counts::{
    CacheCounts, FenceCounts, HitCounts, LostCycles, MissCounts, NodeCounts, PersistCounts, PrefetchCounts,
};
pub use interface::{
    Feed, NodeStep, Orders, PageKey, PageTables, Pause, Permission, PersistRequest, RecordRequest, Request,
    RequestKind, Touch, WALK_LEVELS_MAX,
};
pub use pipeline::persist::PersistPath;
pub use pipeline::tlb::Tlbs;
pub use pipeline::translated::Side;

use isa::Instruction;
use lines::{Cutter, LineSize};
use pipeline::Core;
use pipeline::front::FrontCounts;
use stalls::{Stalls, Standing};
use units::{Clock, Cycles, Duration, LineAddr, Time, VirtAddr, Words};

/// An instruction that could not enter the window yet.
#[derive(Clone, Debug)]
struct StalledStep {
    instruction: Instruction,
    code: Touch,
    touches: Vec<Touch>,
    orders: Option<Orders>,
    next: Option<VirtAddr>,
}

impl StalledStep {
    fn new(step: &NodeStep<'_>) -> StalledStep {
        let NodeStep { instruction, code, touches, orders, next, .. } = *step;
        StalledStep { instruction: instruction.clone(), code, touches: touches.into(), orders: orders.cloned(), next }
    }

    fn step(&self) -> NodeStep<'_> {
        let StalledStep { instruction, code, touches, orders, next } = self;
        NodeStep {
            instruction,
            code: *code,
            touches,
            orders: orders.as_ref(),
            tables: &[],
            next: *next,
            switches_to: None,
        }
    }
}

/// One core with its private caches.
#[derive(Clone, Debug)]
pub struct Node {
    clock: Clock,
    core: Core,
    cutter: Cutter,
    held: Option<StalledStep>,
    stalls: Stalls,
}

impl Node {
    /// Creates a node at time zero with empty caches.
    ///
    /// # Panics
    /// If the configuration does not pass [`NodeConfig::check`].
    pub fn new(config: &NodeConfig) -> Node {
        if let Err(broken) = config.check() {
            panic!("a node was built from an unchecked configuration: {broken}");
        }
        Node {
            clock: config.clock_mhz.clock(),
            core: Core::new(config),
            cutter: Cutter::new(LineSize::new(config.l1d.line, config.memory_line)),
            held: None,
            stalls: Stalls::default(),
        }
    }

    /// Returns the private caches.
    #[inline]
    pub fn caches(&self) -> &Caches {
        &self.core.caches
    }

    /// Returns the private caches, for changes by other cores, by warming and by a protection engine.
    #[inline]
    pub fn caches_mut(&mut self) -> &mut Caches {
        &mut self.core.caches
    }

    /// Executes until the core must pause ([`Pause`]): at the latest when an instruction has entered the window later
    /// than `until`.
    ///
    /// Appends requests that leave L2 to `out`. The times of these requests are not sorted, but all are at or after the
    /// latest fill. Two requests for the same line take effect in the order in which they are appended.
    ///
    /// # Errors
    /// Errors of the feed, unchanged.
    pub fn run<F: Feed>(&mut self, feed: &mut F, until: Time, out: &mut Vec<Request>) -> Result<Pause, F::Error> {
        debug_assert!(self.core.caches.outgoing.is_empty(), "an earlier step left requests behind");
        let until = until.as_fs() / self.clock.period().as_fs();
        let pause = self.run_until(feed, until);
        self.core.caches.outgoing.move_to(out);
        pause
    }

    #[inline]
    fn run_until<F: Feed>(&mut self, feed: &mut F, until: u64) -> Result<Pause, F::Error> {
        if let Some(held) = self.held.take()
            && !self.core.enter(&held.step())
        {
            self.held = Some(held);
            return Ok(Pause::Blocked);
        }
        loop {
            if self.core.front.now() > until {
                return Ok(Pause::Reached);
            }
            match feed.next()? {
                None => {
                    if self.outstanding() == 0 {
                        self.core.combining.close_all(self.core.front.now(), &mut self.core.caches);
                    }
                    return Ok(if feed.has_ended() { Pause::Finished } else { Pause::Idle });
                }
                Some(step) => {
                    if self.cutter.cuts() {
                        self.core.stores.expect_pieces(step.touches);
                    }
                    let step = self.cutter.cut(step);
                    self.core.translation.learn(step.tables);
                    if let Some(process) = step.switches_to {
                        self.held = Some(StalledStep::new(&step));
                        self.core.combining.close_all(self.core.front.now(), &mut self.core.caches);
                        return Ok(Pause::Switch(process));
                    }
                    if !self.core.enter(&step) {
                        self.held = Some(StalledStep::new(&step));
                        return Ok(Pause::Blocked);
                    }
                }
            }
        }
    }

    /// Calls [`Node::answered`] with exclusive permission, for a machine in which no other core holds lines.
    ///
    /// # Panics
    /// Under the same conditions as [`Node::answered`].
    pub fn filled(&mut self, line: LineAddr, at: Time, out: &mut Vec<Request>) -> Duration {
        self.answered(line, at, Permission::Exclusive, out)
    }

    /// Reports that a requested line arrived at the edge of L2 at `at`. Fills L2 and L1 and schedules the waiting
    /// accesses. New requests, write-backs of victims included, are appended to `out`. If the permission is shared,
    /// waiting stores request the line again. Returns the time for which the core could not retire instructions because
    /// of this line.
    ///
    /// # Panics
    /// If the line was not requested, or was answered already.
    pub fn answered(&mut self, line: LineAddr, at: Time, permission: Permission, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        self.core.filled(line, cycle, permission);
        self.core.caches.outgoing.move_to(out);
        self.clock.span(Cycles(self.stalls.held_up(&mut self.core, &before, cycle)))
    }

    /// Reports that some words of a requested line arrived at the edge of L2 at `at`, before the remaining words.
    /// Schedules the waiters that need only these words. [`Node::answered`] follows; until then the line is
    /// outstanding. Returns the time for which these words had blocked retirement.
    ///
    /// # Panics
    /// If the line was not requested, or was answered already.
    pub fn arrived_in_part(&mut self, line: LineAddr, words: Words, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        self.core.arrived_in_part(line, words, cycle);
        self.core.caches.outgoing.move_to(out);
        self.clock.span(Cycles(self.stalls.held_up(&mut self.core, &before, cycle)))
    }

    /// Reports that a flushed line is in memory at `at`. New requests of the node are appended to `out`. Returns the
    /// time for which a fence that waited for it had blocked retirement.
    ///
    /// # Panics
    /// If the node has no unanswered flush of the line.
    pub fn flushed(&mut self, line: LineAddr, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.flushed(line, cycle);
        self.core.caches.outgoing.move_to(out);
        self.clock.span(Cycles(self.stalls.held_up_by_flush(&self.core, &before, cycle)))
    }

    /// Reports that the memory controller accepted a line stored past the caches at `at`. New requests of the node are
    /// appended to `out`.
    ///
    /// # Panics
    /// If the node has no line stored past the caches that memory has not accepted yet.
    pub fn taken_past_caches(&mut self, at: Time, out: &mut Vec<Request>) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.taken_past_caches(cycle);
        self.core.caches.outgoing.move_to(out);
    }

    /// Returns the state of retirement.
    #[inline]
    fn standing(&self) -> Standing {
        Standing::of(&self.core, self.held.is_some())
    }

    /// Continues after [`Pause::Idle`]. Instructions enter the window at or after `at`.
    pub fn resume(&mut self, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.front.resume(cycle);
        self.stalls.idled(&self.standing(), cycle);
    }

    /// Returns the time without instructions to execute, between retirements.
    pub fn idle(&self) -> Duration {
        self.clock.span(self.stalls.idle_before(self.core.window.retired_at()))
    }

    /// Returns the time of process switches, between retirements.
    pub fn switching(&self) -> Duration {
        self.clock.span(self.stalls.switching_before(self.core.window.retired_at()))
    }

    /// Returns the number of outstanding requests: lines and page records that have not arrived, lines stored past the caches
    /// that memory has not accepted, and unanswered flushes.
    pub fn outstanding(&self) -> usize {
        self.core.caches.outstanding.count()
            + self.core.combining.outstanding()
            + self.core.epochs.outstanding()
            + self.core.translation.tlbs.records.as_ref().map_or(0, |records| records.outstanding())
    }

    /// Returns the statistics of flushes and fences, if these take effect.
    pub fn fence_counts(&self) -> Option<FenceCounts> {
        self.core.epochs.counts()
    }

    /// Returns the time at which the latest instruction entered the window.
    pub fn now(&self) -> Time {
        self.clock.start_of(Cycles(self.core.front.now()))
    }

    /// Returns the time at which all instructions in the window have retired; [`Time::NEVER`] while this time depends
    /// on memory.
    pub fn retired_at(&self) -> Time {
        self.core.window.empty_from().map_or(Time::NEVER, |cycle| self.clock.start_of(Cycles(cycle)))
    }

    /// Returns the time at which cycle `cycle` of this core starts.
    pub fn start_of(&self, cycle: u64) -> Time {
        self.clock.start_of(Cycles(cycle))
    }

    /// Returns the number of instructions that have entered the window.
    pub fn instructions(&self) -> u64 {
        self.core.window.entered()
    }

    /// Returns all statistics so far.
    pub fn counts(&self) -> NodeCounts {
        let core = &self.core;
        let [itlb, dtlb, stlb] = core.translation.tlbs.counts;
        let FrontCounts { branches, mispredicts, misfetches, lost_cycles } = core.front.counts();
        NodeCounts {
            instructions: core.window.entered(),
            cycles: core.window.last_departure(),
            l1i: core.caches.l1i.counts,
            l1d: core.caches.l1d.counts,
            l2: core.caches.l2.counts,
            l2_data_misses: core.caches.outstanding.data_misses(),
            itlb,
            dtlb,
            stlb,
            upgrades: core.caches.upgrades,
            branches,
            mispredicts,
            misfetches,
            loads: core.loads.entered(),
            stores: core.stores.queue.entered(),
            forwarded: core.loads.forwarded(),
            lost_cycles,
        }
    }

    /// Returns the lines that stores past the caches have not completed, also while a cache reads their missing bytes. No
    /// cache holds these stores.
    pub fn combining_lines(&self) -> Vec<LineAddr> {
        self.core.combining.lines()
    }
}
