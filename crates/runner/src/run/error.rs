//! Why a run has no result, or lacks a file beside it. Tampering and wrong lines are results.

use crate::bus::BusError;
use crate::excerpt::ExcerptError;
use crate::record::Record;
use chip::feed::FeedError;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;
use units::{Bytes, Time};
use workload::Origin;

/// Why a run has no result, or not all of it.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program, or its place in memory.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The program is larger than the machine's memory, which is known before it runs.
    #[error("the program needs more memory than the machine's {size}: it touches {} MB", needed.0.div_ceil(1 << 20))]
    TooLarge {
        /// What the program touches.
        needed: Bytes,
        /// What the machine has for programs.
        size: Bytes,
    },
    /// The composition of the design.
    #[error("design {design}: {rule}")]
    Design {
        /// Its name.
        design: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// What is of lines of 64 bytes, asked for of a machine with shorter ones.
    #[error(
        "{what} is of lines of 64 bytes, and memory has lines of {bytes}: leave it out, or set memory.line = \"64 B\""
    )]
    ShortLines {
        /// What.
        what: &'static str,
        /// Bytes of a line of the machine's memory.
        bytes: usize,
    },
    /// More programs than cores.
    #[error("{programs} programs need {programs} cores, and machine '{machine}' has {cores}")]
    TooManyPrograms {
        /// How many programs.
        programs: usize,
        /// The machine's name.
        machine: String,
        /// How many cores it has.
        cores: usize,
    },
    /// Nothing was executed.
    #[error("'{program}' executed no instruction that could be simulated{why}")]
    Nothing {
        /// The program.
        program: String,
        /// What was left out, if that may be all of it.
        why: String,
    },
    /// No store of a program went to the part of its memory that has to outlive a loss of power.
    #[error(
        "'{program}' stored nothing to {part} in its first {instructions} instructions, and nothing else of it is to be persistent: expected --persistent all, a program that does, or a higher --limit"
    )]
    NothingPersistent {
        /// The part.
        part: &'static str,
        /// The program.
        program: String,
        /// So far as it was run.
        instructions: u64,
    },
    /// A trace of requests that lie behind the caches, and what it cannot be run with.
    #[error("'{trace}' is a trace of requests behind the caches, and {rule}")]
    Requests {
        /// The trace.
        trace: String,
        /// The rule.
        rule: String,
    },
    /// How to sample it.
    #[error("{0}")]
    Sampling(String),
    /// How much of it goes before what counts.
    #[error("{0}")]
    WarmUp(String),
    /// How it is taken apart.
    #[error("{0}")]
    Interval(String),
    /// No figure has bounds.
    #[error(
        "'{program}' executed {instructions} instructions, in which {units} units could be measured: too few to sample; run it with every instruction in detail"
    )]
    TooShort {
        /// The program.
        program: String,
        /// All that it executed.
        instructions: u64,
        /// Units that were measured.
        units: usize,
    },
    /// What keeps power from being cut in it.
    #[error("{0}")]
    PowerLoss(String),
    /// What crosses the pins cannot be written.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// A window of it cannot be written.
    #[error(transparent)]
    Excerpt(#[from] ExcerptError),
    /// The run is whole and its record, too, but not a file that was asked for beside it.
    #[error("{0}")]
    Unfinished(Box<Unfinished>),
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// A bug: all tasks wait for each other.
    #[error("internal error: the simulation stands still at {0}; please report this with the configuration")]
    StandsStill(Time),
}

/// A run whose files are not all written.
#[derive(Debug)]
pub struct Unfinished {
    /// What the run found.
    pub record: Record,
    /// Why there is no file of what crossed the pins, if one was asked for.
    pub bus: Result<(), BusError>,
    /// Why there is no file of the window, likewise.
    pub excerpt: Result<(), ExcerptError>,
}

impl Display for Unfinished {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        let errors = [
            self.bus.as_ref().err().map(|error| error as &dyn Display),
            self.excerpt.as_ref().err().map(|error| error as _),
        ];
        let said: Vec<String> = errors.into_iter().flatten().map(|error| error.to_string()).collect();
        formatter.write_str(&said.join("; "))
    }
}

impl RunError {
    /// Nothing of this was executed.
    pub(super) fn nothing_of(origin: &Origin) -> RunError {
        let why = match (origin.is_marked_region(), origin.skip) {
            (true, 0) => {
                ": only its marked region was asked for, and it never executed the marker, the instruction xchg %rbx,%rbx"
                    .to_owned()
            }
            (true, skip) => format!(": its marked region has no more than the {skip} instructions that were skipped"),
            (false, 0) => String::new(),
            (false, skip) => format!(": it has no more than the {skip} that were skipped"),
        };
        RunError::Nothing { program: origin.program.join(" "), why }
    }
}
