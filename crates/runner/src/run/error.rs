//! Reasons why a run has no result, or lacks an output file. Tampering and wrong lines are results, not errors.

use crate::bus::BusError;
use crate::excerpt::ExcerptError;
use crate::record::Record;
use chip::feed::FeedError;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;
use units::{Bytes, Time};
use workload::Origin;

/// A reason why a run has no result, or only a part of it.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program failed, or its memory could not be mapped.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The program is larger than the machine's memory, which is known before it runs.
    #[error("the program needs more memory than the machine's {size}: it touches {} MB", needed.0.div_ceil(1 << 20))]
    TooLarge {
        /// Bytes of memory that the program touches.
        needed: Bytes,
        /// Bytes of memory that the machine has for programs.
        size: Bytes,
    },
    /// The design breaks a rule of composition.
    #[error("design {design}: {rule}")]
    Design {
        /// Name of the design.
        design: String,
        /// The broken rule, in words.
        rule: String,
    },
    /// The options request an output for 64-byte lines, and the machine has shorter lines.
    #[error(
        "{what} needs lines of 64 bytes, and memory has lines of {bytes}: leave it out, or set memory.line = \"64 B\""
    )]
    ShortLines {
        /// Name of the requested output.
        what: &'static str,
        /// Bytes of a line of the machine's memory.
        bytes: usize,
    },
    /// There are more programs than cores.
    #[error("{programs} programs need {programs} cores, and machine '{machine}' has {cores}")]
    TooManyPrograms {
        /// Number of programs to run.
        programs: usize,
        /// Name of the machine.
        machine: String,
        /// Number of cores of the machine.
        cores: usize,
    },
    /// The program executed no instruction.
    #[error("'{program}' executed no instruction that could be simulated{why}")]
    Nothing {
        /// Name of the program.
        program: String,
        /// The part of the program that was skipped, if this part may be the whole program.
        why: String,
    },
    /// No store of a program wrote to the part of its memory that is persistent.
    #[error(
        "'{program}' did not store to {part} in its first {instructions} instructions, and its other memory is not persistent: expected --persistent all, a program that does, or a higher --limit"
    )]
    NothingPersistent {
        /// The part of memory, in words.
        part: &'static str,
        /// Name of the program.
        program: String,
        /// Instructions that the program executed.
        instructions: u64,
    },
    /// Power failed before a program stored to the part of its memory that is persistent.
    #[error(
        "power failed after {instructions} instructions of '{program}', before it stored to {part}, and its other memory is not persistent: expected a later --power-loss, or --persistent all"
    )]
    NothingPersistentYet {
        /// The part of memory, in words.
        part: &'static str,
        /// Name of the program.
        program: String,
        /// Instructions that the program executed.
        instructions: u64,
    },
    /// The options do not suit a trace of requests below the caches.
    #[error("'{trace}' is a trace of requests behind the caches, and {rule}")]
    Requests {
        /// Name of the trace.
        trace: String,
        /// The broken rule, in words.
        rule: String,
    },
    /// The sampling options are wrong.
    #[error("{0}")]
    Sampling(String),
    /// The warm-up is too long or not allowed.
    #[error("{0}")]
    WarmUp(String),
    /// The run cannot begin with instructions without time.
    #[error("{0}")]
    Untimed(String),
    /// A program had no instructions left to count when its warm-up was over.
    #[error("{problem}")]
    NothingCounted {
        /// Instructions that the program executed.
        executed: u64,
        /// Instructions without time before the warm-up.
        untimed: u64,
        /// Instructions of the warm-up.
        warm_up: u64,
        /// The problem and the expected program or warm-up, in words.
        problem: String,
    },
    /// The user ended the run before it had a result.
    #[error("interrupted {0}")]
    Interrupted(String),
    /// The intervals are too many or not allowed.
    #[error("{0}")]
    Interval(String),
    /// The sample has too few units for a confidence interval.
    #[error(
        "'{program}' executed {instructions} instructions, in which {units} units could be measured: too few to sample; run it with every instruction in detail"
    )]
    TooShort {
        /// Name of the program.
        program: String,
        /// Instructions that the program executed.
        instructions: u64,
        /// Number of units that were measured.
        units: usize,
    },
    /// A loss of power cannot be simulated in this run, or its result cannot be judged.
    #[error("{0}")]
    PowerLoss(String),
    /// The file of the lines that cross the pins cannot be written.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The file of a window cannot be written.
    #[error(transparent)]
    Excerpt(#[from] ExcerptError),
    /// The run and its record are complete, but an output file is missing.
    #[error("{0}")]
    Unfinished(Box<Unfinished>),
    /// The observer stopped the run.
    #[error("stopped")]
    Stopped,
    /// A bug: all tasks wait for each other.
    #[error("internal error: the simulation makes no progress at {0}; please report this with the configuration")]
    NoProgress(Time),
}

/// A run with a missing output file.
#[derive(Debug)]
pub struct Unfinished {
    /// The record of the run.
    pub record: Record,
    /// The error of the file of the pins, if the options request the file.
    pub bus: Result<(), BusError>,
    /// The error of the file of the window, if the options request the file.
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
    /// The error of a run that a loss of power has ended, instead of the end of its programs.
    pub(super) fn at_power_loss(self) -> RunError {
        match self {
            RunError::NothingPersistent { part, program, instructions } => {
                RunError::NothingPersistentYet { part, program, instructions }
            }
            other => other,
        }
    }

    /// The error of a run that the user ended: this end is the reason why a result is missing, not the program.
    pub(crate) fn of_ended_run(self) -> RunError {
        RunError::Interrupted(match self {
            RunError::Nothing { .. } => "before its first instruction".to_owned(),
            RunError::NothingCounted { executed, untimed, .. } if executed < untimed => {
                format!("after {executed} of {untimed} instructions without time: no instruction was measured")
            }
            RunError::NothingCounted { executed, untimed, warm_up, .. } => format!(
                "in the warm-up, after {} of its {warm_up} instructions: no instruction was measured",
                (executed - untimed).min(warm_up)
            ),
            RunError::NothingPersistent { part, instructions, .. } => {
                format!("after {instructions} instructions, before a store to {part}")
            }
            RunError::TooShort { instructions, units, .. } => {
                format!("after {instructions} instructions, in which {units} units were measured: too few for a sample")
            }
            other => return other,
        })
    }

    /// The error for a program that executed no instruction.
    pub(super) fn nothing_of(origin: &Origin) -> RunError {
        let why = match (origin.is_marked_region(), origin.skip) {
            (true, 0) => {
                ": only its marked region was requested, and it never executed the marker, the instruction xchg \
                 %rbx,%rbx"
                    .to_owned()
            }
            (true, skip) => format!(": its marked region has no more than the {skip} instructions that were skipped"),
            (false, 0) => String::new(),
            (false, skip) => format!(": it has no more than the {skip} that were skipped"),
        };
        RunError::Nothing { program: origin.program.join(" "), why }
    }
}
