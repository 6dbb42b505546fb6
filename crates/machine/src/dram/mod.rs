//! One channel of DRAM and its controller: DDR4, and other memories with the same kinds of timing constraints but other
//! values.
//!
//! ```text
//!   submit --> queues --> scheduler --> commands --> devices --> completions
//!              reads       drain         one per      banks, groups,
//!              writes      refresh       clock        ranks, data bus
//! ```
//!
//! The model is an explicit state machine without tasks of the simulation. The caller passes requests and times, and
//! the model answers them and returns the time at which it must be called again. Every command of the standard is
//! issued at a separate clock under all timing constraints, yet the model never ticks. Its state cannot change between
//! two commands, so it jumps from one to the next. An idle channel costs no host time, refreshes included.
//!
//! | file | holds |
//! |---|---|
//! | `config`, `timing` | the values of a channel and the rules for these values |
//! | `address_map` | rank, bank, row and column of a line |
//! | `burst`, `beats` | number of words per transfer, and arrival time of each word |
//! | `device` | the earliest legal clock of every command |
//! | `scheduler` | the request to serve next |
//! | `drain`, `refresh` | turns of writes, and due times of refreshes |
//! | `controller` | the event loop over these, and the commands it issues |
//! | `wait` | causes of the delays of reads |
//! | `stream` | seeded request streams and measurements of a channel with them |

mod address_map;
mod beats;
mod burst;
mod config;
mod controller;
mod counts;
mod device;
pub(crate) mod drain;
#[cfg(test)]
mod groups;
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
pub use burst::{Burst, BurstLength, ReadGroup};
pub use config::{AddressMap, BusTurnaround, DramConfig, Organisation, PagePolicy, Scheduler};
pub use counts::{DramCounts, QueueCounts, QueuesCounts};
pub use timing::Timing;
pub use wait::WaitCause;

use address_map::Mapper;
use controller::{Controller, Served};
use refresh::Refresh;
use serde::Serialize;
use std::ops::Range;
use units::{Clock, Cycles, Duration, LineAddr, Time, Word};

/// Direction of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reads a line from memory.
    Read,
    /// Writes a line to memory. The write is posted: no core waits for it.
    Write,
}

impl Kind {
    /// Returns the opposite kind.
    fn other(self) -> Kind {
        match self {
            Kind::Read => Kind::Write,
            Kind::Write => Kind::Read,
        }
    }
}

/// State of the bank when a request found it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowOutcome {
    /// The row of the request was open.
    Hit,
    /// No row was open.
    Closed,
    /// Another row was open.
    Conflict,
}

/// The answer to a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Token of the read, chosen by the sender.
    pub token: u32,
    /// Arrival of the first eight bytes. These contain the requested word: the critical word is transferred first.
    pub first_at: Time,
    /// Arrival of the last word of the answer.
    pub at: Time,
    /// Time at which the read was submitted.
    pub arrived: Time,
    /// State of the bank when the read found it. A read answered from the write queue counts as a hit. A memory without
    /// rows always finds its banks closed.
    pub outcome: RowOutcome,
    /// Main cause of the delay of the read.
    pub waited_for: WaitCause,
    /// Additional latency compared with a read of an otherwise idle channel with the same bank state.
    pub waited: Duration,
    /// Number of words in the answer.
    pub words: u8,
    /// True if the data were read from the memory devices, false if the controller answered with the data of a waiting
    /// write.
    pub burst: bool,
}

impl Completion {
    /// Returns the arrival of each word of the line, if the word `from` is transferred first.
    pub fn beats(&self, from: Word) -> Beats {
        Beats::of_burst((from, self.words), self.first_at, self.at)
    }

    /// Returns the time at which the wanted words of the line have arrived.
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
    /// Creates an empty channel at power-on, with all rows closed.
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

    /// Returns true if [`Dram::submit`] would accept one more request of this kind. Only issued commands free room, so
    /// the answer can change from false to true only in [`Dram::advance`].
    pub fn has_room(&self, kind: Kind) -> bool {
        self.controller.has_room(kind)
    }

    /// Returns true if no request waits for a command.
    pub fn is_idle(&self) -> bool {
        self.controller.is_idle()
    }

    /// Returns true if a write of this line is waiting.
    pub fn holds_write(&self, line: LineAddr) -> bool {
        self.controller.holds_write(self.mapper.cell(line))
    }

    /// Accepts a request at `now`, for a line of 64 bytes or another burst. The controller sees it at the next clock
    /// edge. Line numbers beyond the capacity wrap around.
    ///
    /// A read of a group is transferred after the group's reads that were submitted before.
    ///
    /// A read of a line with a waiting write is answered from the write queue one clock later, in a group too. A write of a line with a
    /// waiting write replaces it. In both cases the request does not reach the devices. Returns true if the request
    /// reaches the devices.
    ///
    /// # Panics
    /// If the queue has no room for the request.
    pub fn submit(&mut self, now: Time, burst: impl Into<Burst>, kind: Kind, token: u32) -> bool {
        let burst = burst.into();
        let edge = self.clock.cycle_at_or_after(now).0;
        self.controller.run_before(edge);
        let cell = self.mapper.cell(burst.line);
        let held = self.controller.holds_write(cell);
        let counts = &mut self.controller.counts;
        match kind {
            Kind::Read => counts.reads += 1,
            Kind::Write => counts.writes += 1,
        }
        match (kind, held) {
            (Kind::Read, true) => {
                counts.forwarded += 1;
                let at = self.clock.start_of(Cycles(edge + 1));
                counts.read_latency += at.since(now);
                let (outcome, waited_for) = (RowOutcome::Hit, WaitCause::Nothing);
                let waited = Duration::ZERO;
                let words = burst.words;
                self.answered.push(Completion {
                    token,
                    first_at: at,
                    at,
                    arrived: now,
                    outcome,
                    waited_for,
                    waited,
                    words,
                    burst: false,
                });
            }
            (Kind::Write, true) => counts.merged += 1,
            (_, false) => {
                assert!(self.has_room(kind), "a {kind:?} was submitted to a full queue");
                self.controller.enqueue(edge, (cell, burst), kind, token, now);
            }
        }
        !held
    }

    /// Issues all commands up to `now`, and appends the completions of the answered reads, with arrival times that may
    /// be after `now`. Returns the time of the next call, or `None` when no request waits.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        self.controller.run_before(now.as_fs() / self.clock.period().as_fs() + 1);
        completions.append(&mut self.answered);
        for Served { issued, request, waited_for, waited } in self.controller.served.drain(..) {
            let words = request.words;
            let at = self.clock.start_of(Cycles(issued + self.timing.read_latency(words)));
            let after_first_word = self.clock.span(Cycles(self.timing.eighths_after_first_word(words))).as_fs() / 8;
            self.controller.counts.read_latency += at.since(request.arrived);
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

    /// Keeps the times of all further refreshes.
    pub fn keep_refreshes(&mut self) {
        self.controller.refreshes.iter_mut().for_each(Refresh::keep);
    }

    /// Returns the rank and the time of each kept refresh.
    pub fn refreshes(&self) -> impl Iterator<Item = (usize, Range<Time>)> + '_ {
        let ranks = self.controller.refreshes.iter().enumerate();
        let at = |clock| self.clock.start_of(Cycles(clock));
        ranks.flat_map(move |(rank, refresh)| refresh.kept().map(move |(from, to)| (rank, at(from)..at(to))))
    }

    /// Returns every command so far.
    #[cfg(test)]
    fn log(&self) -> &[oracle::Issued] {
        self.controller.log()
    }

    /// Returns the statistics of the channel.
    pub fn counts(&self) -> &DramCounts {
        &self.controller.counts
    }
}
