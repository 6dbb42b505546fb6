//! One core with its private caches, as a model that is driven by events and never ticks.
//!
//! A [`Node`] takes instructions from a [`Feed`] and goes on, in its own time, until it cannot without an answer from
//! memory. What leaves its L2 is appended to a list of [`Request`]s; the owner carries them out and reports lines with
//! [`Node::filled`]. Inside, time is a number of core cycles; [`units::Time`] appears at this face only.
//!
//! | file | part |
//! |---|---|
//! | `front.rs` | the front end: when an instruction may enter the window |
//! | `core.rs` | the window and the registers |
//! | `schedule.rs` | from sources to completion and retirement, now or when memory answers |
//! | `queue.rs`, `waiting.rs` | widths, bounded queues, lists of those that wait |
//! | `loads.rs`, `read_queue.rs` | the way of a load, and where loads of one line become one access |
//! | `units.rs` | functional units and ports, booked by the cycle |
//! | `stores.rs` | the store queue and forwarding from it |
//! | `branch.rs`, `tage.rs` | branch prediction |
//! | `caches.rs`, `fill.rs`, `contents.rs`, `mshr.rs`, `timed.rs` | private caches, their misses, what enters them |
//! | `lines.rs`, `outstanding.rs` | lines of 32 and 64 bytes, and what is known of those under way |
//! | `access.rs`, `lookups.rs` | who asks, and the way into L1D |
//! | `prefetch.rs`, `ahead.rs` | what is expected to be accessed next, and its fetching |
//! | `sharing.rs` | what other cores do to the lines in the private caches |
//! | `metadata.rs` | lines of metadata, which take places of data in L2 |
//! | `tlb.rs`, `walk.rs` | translations, and page tables walked for them |
//! | `warm.rs`, `caches/warm.rs` | the same tables without the time, between the windows of a sampled run |
//! | `config.rs`, `check.rs`, `counters.rs` | what it is made of, whether that can be, what it counted |

mod access;
mod ahead;
mod branch;
mod caches;
mod check;
mod config;
mod contents;
mod core;
mod counters;
mod fill;
mod front;
mod lines;
mod loads;
mod lookups;
mod metadata;
mod mshr;
mod outstanding;
mod prefetch;
mod queue;
mod read_queue;
mod schedule;
mod sharing;
mod stores;
mod tage;
mod timed;
mod tlb;
mod units;
mod waiting;
mod walk;
mod warm;

#[cfg(test)]
mod tests;

pub use check::NodeConfigError;
pub use config::{
    CacheConfig, DirectionPredictor, FunctionalUnit, FunctionalUnits, NodeConfig, PredictorConfig, TableLayout,
    TlbConfig, WALK_LEVELS_MAX, WalkerConfig,
};
pub use counters::{CacheCounters, HitCounters, LostCycles, MissCounters, NodeCounters, PrefetchCounters};
pub use prefetch::PrefetcherConfig;
pub use sharing::Permission;
pub use walk::PageTables;

use self::core::Core;
use self::lines::{Cutter, LineSize};
use ::units::{Clock, Cycles, LineAddr, Time, VirtAddr};
use isa::Instruction;

/// A cycle that is not known yet.
const UNKNOWN: u64 = u64::MAX;

/// A page as the TLBs know it: the process in bits 40 to 62, the virtual page number below, bit 63 set for a page of 2 MB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageKey(pub u64);

/// One touch of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The page, for the TLBs.
    pub page: PageKey,
    /// The line in memory.
    pub line: LineAddr,
    /// The first byte touched, from the start of the line.
    pub offset: u8,
    /// How many bytes, all of them within the line.
    pub bytes: u8,
    /// Whether they are written; else they are read.
    pub store: bool,
}

/// One executed instruction, with its addresses translated and split into lines.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// What it is.
    pub instruction: &'a Instruction,
    /// Where its own first byte is.
    pub code: Touch,
    /// What it reads and writes.
    pub touches: &'a [Touch],
    /// Where the tables of pages lie that it is the first to touch; only a core with a walker needs to be told.
    pub tables: &'a [PageTables],
    /// Where execution went next, if known.
    pub next: Option<VirtAddr>,
}

/// Where instructions come from.
pub trait Feed {
    /// Why the next one cannot be had.
    type Error;

    /// The next instruction in program order, or nothing if there is none for now.
    ///
    /// # Errors
    /// Whatever the source has to report; the node hands it on and may be asked to go on afterwards.
    fn next(&mut self) -> Result<Option<Step<'_>>, Self::Error>;

    /// Whether it was the program's end that [`Feed::next`] came to; else there is only nothing for the moment.
    fn has_ended(&self) -> bool {
        true
    }
}

/// Why a node stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// It cannot go on before a line has arrived.
    Blocked,
    /// It reached the time that it was given.
    Reached,
    /// There is nothing to execute for the moment: see [`Node::resume`].
    Idle,
    /// The feed has nothing more, or nothing more for now. Lines may still be under way: see [`Node::outstanding`].
    Finished,
}

/// Why a line crosses the edge of L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// To be read by the program.
    Read,
    /// To be written by the program.
    ReadForOwnership,
    /// To be written by the program, and already held to be read.
    Upgrade,
    /// To be executed.
    Instruction,
    /// Expected to be wanted.
    Prefetch,
    /// Dirty, and evicted.
    WriteBack,
    /// Clean, and evicted; only sent if wanted ([`Node::sending_clean_victims`], [`Node::owe`]).
    CleanVictim,
}

impl RequestKind {
    /// Whether the node waits for an answer.
    pub fn is_answered(self) -> bool {
        !matches!(self, RequestKind::WriteBack | RequestKind::CleanVictim)
    }
}

/// A line that crosses the edge of L2. All kinds but evictions are answered by [`Node::answered`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When.
    pub at: Time,
    /// Which.
    pub line: LineAddr,
    /// Why.
    pub kind: RequestKind,
}

/// A step that could not enter the window, kept until it can.
#[derive(Clone, Debug)]
struct Held {
    instruction: Instruction,
    code: Touch,
    touches: Vec<Touch>,
    next: Option<VirtAddr>,
}

impl Held {
    fn new(step: &Step<'_>) -> Held {
        Held { instruction: step.instruction.clone(), code: step.code, touches: step.touches.into(), next: step.next }
    }

    fn step(&self) -> Step<'_> {
        Step { instruction: &self.instruction, code: self.code, touches: &self.touches, tables: &[], next: self.next }
    }
}

/// One core with its private caches.
#[derive(Clone, Debug)]
pub struct Node {
    clock: Clock,
    core: Core,
    cutter: Cutter,
    held: Option<Held>,
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
            clock: Clock::from_mhz(config.clock_mhz),
            core: Core::new(config),
            cutter: Cutter::new(LineSize::new(config.l1d.line)),
            held: None,
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
                None => return Ok(if feed.has_ended() { Pause::Finished } else { Pause::Idle }),
                Some(step) => {
                    let step = self.cutter.cut(step);
                    if let Some(walker) = &mut self.core.walker {
                        step.tables.iter().for_each(|tables| walker.learn(tables));
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
    pub fn filled(&mut self, line: LineAddr, at: Time, out: &mut Vec<Request>) {
        self.answered(line, at, Permission::Exclusive, out);
    }

    /// A line asked for has arrived at L2's edge at `at`: fills L2 and L1 and schedules what waited, which may append
    /// requests, write-backs of victims included. If it is shared, stores that waited ask again.
    ///
    /// # Panics
    /// If the line was not asked for, or was answered already.
    pub fn answered(&mut self, line: LineAddr, at: Time, permission: Permission, out: &mut Vec<Request>) {
        self.core.filled(line, self.clock.cycle_at_or_after(at).0, permission, out);
    }

    /// Lines asked for that have not arrived.
    pub fn outstanding(&self) -> usize {
        self.core.caches.outstanding()
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
}
