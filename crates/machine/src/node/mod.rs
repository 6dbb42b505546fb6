//! One core with its private caches, as a model that is driven by events and never ticks.
//!
//! A [`Node`] takes instructions from a [`Feed`] and goes on, in its own time, until it cannot without an answer from
//! memory. What leaves its L2 is appended to a list of [`Request`]s; the owner carries them out and reports lines with
//! [`Node::filled`]. Inside, time is a number of core cycles; [`units::Time`] appears at this face only.
//!
//! | file | part |
//! |---|---|
//! | `interface.rs` | what crosses the node's face |
//! | `pipeline/` | from the front end to retirement: the window, units, loads and stores, branches, translations |
//! | `caches/` | private caches, their misses and what enters them, prefetchers, what other cores do to lines |
//! | `persist.rs` | what a persist buffer on a battery asks and is answered |
//! | `records.rs` | what TLBs ask of the records of pages, and how that is answered |
//! | `stalls.rs` | how long each line held up the core |
//! | `lines.rs`, `waiting.rs` | lines of 32 and 64 bytes; lists of those that wait |
//! | `warm.rs` | the same tables without the time, between the windows of a sampled run |
//! | `config.rs`, `check.rs`, `counters.rs` | what it is made of, whether that can be, what it counted |

mod caches;
mod check;
mod config;
mod counters;
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

pub use caches::PrefetcherConfig;
pub use check::NodeConfigError;
pub use config::{
    CacheConfig, DirectionPredictor, FunctionalUnit, FunctionalUnits, NodeConfig, PersistConfig, PredictorConfig,
    TableLayout, TlbConfig, Waits, WalkerConfig,
};
pub use counters::{
    CacheCounters, EpochCounters, HitCounters, LostCycles, MissCounters, NodeCounters, PersistCounters,
    PrefetchCounters,
};
pub use interface::{
    Feed, Orders, PageKey, PageTables, Pause, Permission, PersistRequest, RecordRequest, Request, RequestKind, Step,
    Touch, WALK_LEVELS_MAX,
};

use isa::Instruction;
use lines::{Cutter, LineSize};
use pipeline::Core;
use stalls::Stalls;
use units::{Clock, Cycles, Duration, LineAddr, Time, VirtAddr, Words};

/// A step that could not enter the window, kept until it can.
#[derive(Clone, Debug)]
struct Held {
    instruction: Instruction,
    code: Touch,
    touches: Vec<Touch>,
    orders: Option<Orders>,
    next: Option<VirtAddr>,
}

impl Held {
    fn new(step: &Step<'_>) -> Held {
        let Step { instruction, code, touches, orders, next, .. } = *step;
        Held { instruction: instruction.clone(), code, touches: touches.into(), orders: orders.cloned(), next }
    }

    fn step(&self) -> Step<'_> {
        let Held { instruction, code, touches, orders, next } = self;
        Step { instruction, code: *code, touches, orders: orders.as_ref(), tables: &[], next: *next, switches_to: None }
    }
}

/// One core with its private caches.
#[derive(Clone, Debug)]
pub struct Node {
    clock: Clock,
    core: Core,
    cutter: Cutter,
    held: Option<Held>,
    stalls: Stalls,
}

impl Node {
    /// A node at time zero with empty caches.
    ///
    /// # Panics
    /// If the configuration does not pass its own [`NodeConfig::check`].
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

    /// Goes on until blocked, finished, or an instruction has entered the window later than `until`.
    ///
    /// Appends what leaves L2 to `out`. Times are not sorted, but none is before the latest fill; two requests for one line
    /// are meant in the order in which they are appended.
    ///
    /// # Errors
    /// Those of the feed, as they are.
    pub fn run<F: Feed>(&mut self, feed: &mut F, until: Time, out: &mut Vec<Request>) -> Result<Pause, F::Error> {
        let until = until.as_fs() / self.clock.period().as_fs();
        if let Some(held) = self.held.take()
            && !self.core.enter(&held.step(), out)
        {
            self.held = Some(held);
            return Ok(Pause::Blocked);
        }
        loop {
            if self.core.now() > until {
                return Ok(Pause::Reached);
            }
            match feed.next()? {
                None => {
                    if self.outstanding() == 0 {
                        self.core.close_all(self.core.now(), out);
                    }
                    return Ok(if feed.has_ended() { Pause::Finished } else { Pause::Idle });
                }
                Some(step) => {
                    if self.cutter.cuts() {
                        self.core.stores.expect_pieces(step.touches);
                    }
                    let step = self.cutter.cut(step);
                    if let Some(walker) = &mut self.core.walker {
                        step.tables.iter().for_each(|tables| walker.learn(tables));
                    }
                    if let Some(process) = step.switches_to {
                        self.held = Some(Held::new(&step));
                        self.core.close_all(self.core.now(), out);
                        return Ok(Pause::Switch(process));
                    }
                    if !self.core.enter(&step, out) {
                        self.held = Some(Held::new(&step));
                        return Ok(Pause::Blocked);
                    }
                }
            }
        }
    }

    /// [`Node::answered`] in a machine where no other core has lines.
    ///
    /// # Panics
    /// As [`Node::answered`].
    pub fn filled(&mut self, line: LineAddr, at: Time, out: &mut Vec<Request>) -> Duration {
        self.answered(line, at, Permission::Exclusive, out)
    }

    /// A line asked for has arrived at L2's edge at `at`: fills L2 and L1 and schedules what waited, which may append
    /// requests, write-backs of victims included. If it is shared, stores that waited ask again. Returns for how long nothing
    /// had retired because of this line.
    ///
    /// # Panics
    /// If the line was not asked for, or was answered already.
    pub fn answered(&mut self, line: LineAddr, at: Time, permission: Permission, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        self.core.filled(line, cycle, permission, out);
        self.clock.span(Cycles(self.held_up(&before, cycle)))
    }

    /// Some words of a line asked for have arrived at L2's edge at `at`, before the rest: schedules what waited for no
    /// others. [`Node::answered`] follows; until then the line is under way. Returns what that returns.
    ///
    /// # Panics
    /// If the line was not asked for, or was answered already.
    pub fn came_in_part(&mut self, line: LineAddr, words: Words, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        self.core.came_in_part(line, words, cycle, out);
        self.clock.span(Cycles(self.held_up(&before, cycle)))
    }

    /// A line that was flushed is in memory at `at`. Requests that follow from that go to `out`. Returns for how long nothing had
    /// retired because a fence waited for it.
    ///
    /// # Panics
    /// If no flush of the line has left the node that was not answered.
    pub fn flushed(&mut self, line: LineAddr, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.flushed(line, cycle, out);
        self.clock.span(Cycles(self.held_up_by_flush(&before, cycle)))
    }

    /// The memory controller has taken a line that was stored past the caches at `at`. Requests that follow from that go to `out`.
    ///
    /// # Panics
    /// If no such line has left the node that was not answered.
    pub fn taken_past_caches(&mut self, at: Time, out: &mut Vec<Request>) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.taken_past_caches(cycle, out);
    }

    /// Lines and records of pages asked for that have not arrived, lines stored past the caches that memory has not taken, and
    /// flushes that were not answered.
    pub fn outstanding(&self) -> usize {
        self.core.caches.outstanding()
            + self.core.combining.outstanding()
            + self.core.epochs.as_ref().map_or(0, |epochs| epochs.outstanding())
            + self.core.tlbs.records.as_ref().map_or(0, |records| records.outstanding())
    }

    /// What the program has flushed and fenced, where that does anything.
    pub fn epoch_counters(&self) -> Option<EpochCounters> {
        self.core.epochs.as_ref().map(|epochs| epochs.counters())
    }

    /// The time of the latest instruction's entry into the window.
    pub fn now(&self) -> Time {
        self.clock.start_of(Cycles(self.core.now()))
    }

    /// When everything that entered the window has retired; [`Time::NEVER`] while that depends on memory.
    pub fn retired_at(&self) -> Time {
        self.core.window.empty_from().map_or(Time::NEVER, |cycle| self.clock.start_of(Cycles(cycle)))
    }

    /// When a cycle of this core starts.
    pub fn start_of(&self, cycle: u64) -> Time {
        self.clock.start_of(Cycles(cycle))
    }

    /// How many instructions have entered the window.
    pub fn instructions(&self) -> u64 {
        self.core.counters.instructions
    }

    /// Everything counted so far.
    pub fn counters(&self) -> NodeCounters {
        let core = &self.core;
        let [itlb, dtlb, stlb] = core.tlbs.counters;
        NodeCounters {
            cycles: core.window.last_departure(),
            l1i: core.caches.l1i_counters,
            l1d: core.caches.l1d_counters,
            l2: core.caches.l2_counters,
            l2_data_misses: core.caches.l2_data_misses,
            itlb,
            dtlb,
            stlb,
            upgrades: core.caches.upgrades,
            ..core.counters
        }
    }

    /// Every dirty line still held, by address.
    pub fn dirty_lines(&self) -> Vec<LineAddr> {
        self.core.caches.dirty_lines()
    }

    /// Lines that stores past the caches are putting together, and that no cache has.
    pub fn combining_lines(&self) -> Vec<LineAddr> {
        self.core.combining.lines()
    }
}
