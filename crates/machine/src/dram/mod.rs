//! One channel of DRAM and its controller: DDR4, and whatever obeys the same constraints with other values.
//!
//! ```text
//!   submit --> queues --> scheduler --> commands --> devices --> completions
//!              reads       drain         one per      banks, groups,
//!              writes      refresh       clock        ranks, data bus
//! ```
//!
//! The model is an explicit state machine that knows neither tasks nor programs: it is given requests and times, and
//! says when it wants to be called again. Every command of the standard is issued at its own clock under all timing
//! constraints, yet no clock is ever ticked: between two commands nothing can change, so the model jumps from one to
//! the next, and an idle channel costs nothing, refreshes included.
//!
//! | file | holds |
//! |---|---|
//! | `config`, `timing` | the values of a channel and the rules they keep |
//! | `address_map` | which cell a line is |
//! | `burst`, `beats` | how many words move at once, and when each is there |
//! | `device` | the earliest legal clock of every command |
//! | `scheduler` | which request goes next |
//! | `drain`, `refresh` | when writes and refreshes have their turn |
//! | `controller` | the event loop over these, and the commands it issues |
//! | `wait` | why a read waited |
//! | `stream` | seeded request streams and what a channel makes of them |

mod address_map;
mod beats;
mod burst;
mod config;
mod controller;
mod counters;
mod device;
pub(crate) mod drain;
#[cfg(test)]
mod oracle;
mod queue;
mod refresh;
mod resting;
mod scheduler;
pub mod stream;
mod timing;
pub(crate) mod wait;

pub use beats::{Beats, Wanted};
pub use burst::{Burst, BurstLength};
pub use config::{AddressMap, DramConfig, Organisation, PagePolicy, Scheduler, Turns};
pub use counters::{DramCounters, QueueCounters};
pub use timing::Timing;
pub use wait::WaitCause;

use address_map::Mapper;
use controller::{Controller, Served};
use serde::Serialize;
use units::{Clock, Cycles, Duration, LineAddr, Time, Word};

/// What a request wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A line from memory.
    Read,
    /// A line to memory, posted: no core waits for it.
    Write,
}

impl Kind {
    /// The one that it is not.
    fn other(self) -> Kind {
        match self {
            Kind::Read => Kind::Write,
            Kind::Write => Kind::Read,
        }
    }
}

/// How a request found its bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowOutcome {
    /// Its row was open.
    Hit,
    /// No row was open.
    Closed,
    /// Another row was open.
    Conflict,
}

/// The answer to a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// What the sender called the read.
    pub token: u32,
    /// When the first eight bytes arrive, which are those that were asked for: the critical word comes first.
    pub first_at: Time,
    /// When the last of its data arrives.
    pub at: Time,
    /// When it was submitted.
    pub arrived: Time,
    /// How it found its bank; a read answered from the write queue counts as a hit, and a memory without rows finds its
    /// banks closed.
    pub outcome: RowOutcome,
    /// What delayed it the most.
    pub waited_for: WaitCause,
    /// How much longer it took than a lone read that finds its bank so.
    pub waited: Duration,
    /// How many words it brings.
    pub words: u8,
    /// Whether its data came from the memory. The controller itself answers a read of a line whose write still waits.
    pub burst: bool,
}

impl Completion {
    /// When each word of the line arrives, if that one comes first.
    pub fn beats(&self, from: Word) -> Beats {
        Beats::of_burst((from, self.words), self.first_at, self.at)
    }

    /// When what is wanted of the line has arrived.
    pub fn ready(&self, wanted: Wanted) -> Time {
        self.beats(wanted.from).when(wanted.words)
    }
}

/// One channel of memory.
#[derive(Clone, Debug)]
pub struct Dram {
    clock: Clock,
    mapper: Mapper,
    timing: Timing,
    controller: Controller,
    answered: Vec<Completion>,
}

impl Dram {
    /// An empty channel at power-on, all rows closed.
    ///
    /// # Panics
    /// If the configuration does not pass [`DramConfig::check`].
    pub fn new(config: DramConfig) -> Dram {
        if let Err(broken) = config.check() {
            panic!("the DRAM configuration is impossible: {broken}");
        }
        let clock = config.clock_mhz.clock();
        Dram {
            clock,
            mapper: Mapper::new(config.address_map, &config.organisation),
            timing: config.timing,
            controller: Controller::new(&config),
            answered: Vec::new(),
        }
    }

    /// Whether [`Dram::submit`] would accept one more request of this kind. Room appears when a command issues, hence
    /// only in [`Dram::advance`].
    pub fn has_room(&self, kind: Kind) -> bool {
        self.controller.has_room(kind)
    }

    /// Whether a write of this line waits.
    pub fn holds_write(&self, line: LineAddr) -> bool {
        self.controller.holds_write(self.mapper.place(line))
    }

    /// Accepts a request at `now`, of a line of 64 bytes or of another burst; it is seen at the next clock edge. Lines beyond the
    /// capacity wrap.
    ///
    /// A read of a line whose write still waits is answered from the write queue one clock later, and a write of such
    /// a line replaces the waiting one: neither reaches the devices. Returns whether this one does.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn submit(&mut self, now: Time, burst: impl Into<Burst>, kind: Kind, token: u32) -> bool {
        let Burst { line, words } = burst.into();
        let edge = self.clock.cycle_at_or_after(now).0;
        self.controller.run_before(edge);
        let place = self.mapper.place(line);
        let held = self.controller.holds_write(place);
        let counters = &mut self.controller.counters;
        match kind {
            Kind::Read => counters.reads += 1,
            Kind::Write => counters.writes += 1,
        }
        match (kind, held) {
            (Kind::Read, true) => {
                counters.forwarded += 1;
                let at = self.clock.start_of(Cycles(edge + 1));
                counters.read_latency += at.since(now);
                let (outcome, waited_for) = (RowOutcome::Hit, WaitCause::Nothing);
                let burst = false;
                let waited = Duration::ZERO;
                let times =
                    Completion { token, first_at: at, at, arrived: now, outcome, waited_for, waited, words, burst };
                self.answered.push(times);
            }
            (Kind::Write, true) => counters.merged += 1,
            (_, false) => {
                assert!(self.has_room(kind), "a {kind:?} was submitted to a full queue");
                self.controller.enqueue(edge, (place, words), kind, token, now);
            }
        }
        !held
    }

    /// Issues all commands that may issue at or before `now`, appends the reads they answer (whose `at` may lie in the
    /// future), and returns when it should be called again; nothing when no request waits.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        self.controller.run_before(now.as_fs() / self.clock.period().as_fs() + 1);
        completions.append(&mut self.answered);
        for Served { issued, request, waited_for, waited } in self.controller.served.drain(..) {
            let words = request.words;
            let at = self.clock.start_of(Cycles(issued + self.timing.read_latency(words)));
            let after_first_word = self.clock.span(Cycles(self.timing.eighths_after_first_word(words))).as_fs() / 8;
            self.controller.counters.read_latency += at.since(request.arrived);
            completions.push(Completion {
                token: request.token,
                first_at: Time::from_fs(at.as_fs() - after_first_word),
                at,
                arrived: request.arrived,
                outcome: request.outcome.unwrap_or(RowOutcome::Hit),
                waited_for,
                waited: self.clock.span(Cycles(waited)),
                words,
                burst: true,
            });
        }
        (!self.controller.is_idle()).then(|| self.clock.start_of(Cycles(self.controller.next_command())))
    }

    /// Closes all rows of an idle channel.
    pub fn close_rows(&mut self, now: Time) {
        self.controller.close_rows(self.clock.cycle_at_or_after(now).0);
    }

    /// Every command so far.
    #[cfg(test)]
    fn log(&self) -> &[oracle::Issued] {
        self.controller.log()
    }

    /// What the channel has done so far.
    pub fn counters(&self) -> &DramCounters {
        &self.controller.counters
    }
}
