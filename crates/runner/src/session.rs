//! Runs several designs on the same programs, one thread for each design.
//!
//! One program has one execution: all designs get the same batches, so they run the same instructions, and the slowest
//! design determines the speed. With several programs at once, each design has separate executions of the same
//! programs. A shared execution could deadlock, because the designs let the programs progress at different rates. A
//! `Pace` limits the difference between the designs in executed instructions. If the user ends a session early, each
//! program ends at the same instruction for all designs, so that their results are comparable. The thread of a
//! simulation sends only its progress and its record to other threads.

use crate::endable::{EndSwitch, Endable};
use crate::pace::Pace;
use crate::record::Record;
use crate::run::{RunControl, RunError, RunOptions, run_together};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use thiserror::Error;
use workload::Source;
use workload::broadcast::broadcast;

/// Interval between two looks at the progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Instructions by which a design may be ahead of the slowest design, if each design has separate executions: one or
/// two seconds of work. The other designs take that long to catch up when the user ends the programs.
const LEAD: u64 = 1 << 20;

/// Progress of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Instructions simulated so far, for each design in the order given.
    pub instructions: Vec<u64>,
    /// True for each design that has finished, in the same order.
    pub finished: Vec<bool>,
}

/// Command of the observer to a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Let the session continue.
    GoOn,
    /// End the program here and finish: every design gets a record of the same part.
    EndProgram,
    /// Stop at once; designs that have not finished have no record.
    GiveUp,
}

/// A reason why a design has no record.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The run of the design failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The thread of the design panicked, which is a bug.
    #[error("internal error: {0}; please report this with the configuration")]
    Panicked(String),
}

/// Result of one design.
pub type Outcome = Result<Record, SessionError>;

/// Results of a session.
#[derive(Debug)]
pub struct Results {
    /// Results of the designs, in the order given.
    pub outcomes: Vec<Outcome>,
    /// True if [`Command::EndProgram`] ended the program. The budget of the records is then the number of instructions
    /// run, so that the same run can be repeated.
    pub ended_early: bool,
}

/// State that the threads and the watcher share.
struct SessionState {
    instructions: Vec<AtomicU64>,
    give_up: AtomicBool,
    /// One switch for each program.
    switches: Vec<EndSwitch>,
    /// Limits the difference in progress between designs with separate executions; absent for a shared execution, which
    /// limits the difference itself.
    pace: Option<Pace>,
}

impl SessionState {
    fn new(designs: usize, programs: usize, pace: Option<Pace>) -> Arc<SessionState> {
        let instructions = (0..designs).map(|_| AtomicU64::new(0)).collect();
        let switches = (0..programs).map(|_| EndSwitch::default()).collect();
        Arc::new(SessionState { instructions, give_up: AtomicBool::new(false), switches, pace })
    }

    fn is_ending(&self) -> bool {
        self.switches.iter().any(EndSwitch::is_on)
    }

    /// Notes that a design has run `instructions`. The design waits for slower designs if there is a pace.
    fn arrived(&self, design: usize, instructions: u64) -> RunControl {
        self.instructions[design].store(instructions, Ordering::Relaxed);
        if let Some(pace) = &self.pace {
            pace.arrived(design, instructions, || self.is_ending());
        }
        if self.give_up.load(Ordering::Relaxed) { RunControl::Stop } else { RunControl::GoOn }
    }
}

/// Runs one program under several designs. `watch` is called on the caller's thread, about ten times a second.
///
/// An error of one design does not affect the other designs.
pub fn session(
    source: impl Source + 'static,
    designs: &[RunOptions],
    watch: impl FnMut(&Progress) -> Command,
) -> Results {
    let shared = SessionState::new(designs.len(), 1, None);
    let taps = broadcast(Endable::new(source, shared.switches[0].clone()), designs.len());
    run_all(taps.into_iter().map(|tap| vec![tap]), designs, &shared, watch)
}

/// Runs several programs at once under several designs. Each design has separate sources of the same executions. `watch` is as for
/// [`session`]; if it ends the programs, all designs continue each program to the position of the design that is furthest ahead.
pub fn session_together<S: Source + 'static>(
    sources: Vec<Vec<S>>,
    designs: &[RunOptions],
    watch: impl FnMut(&Progress) -> Command,
) -> Results {
    let programs = sources.first().map_or(0, Vec::len);
    let shared = SessionState::new(designs.len(), programs, Some(Pace::new(designs.len(), LEAD)));
    let switches = shared.switches.clone();
    let endable = |sources: Vec<S>| {
        let switched = sources.into_iter().zip(&switches);
        switched.map(|(source, switch)| Endable::new(source, switch.clone())).collect()
    };
    run_all(sources.into_iter().map(endable), designs, &shared, watch)
}

fn run_all<S: Source + 'static>(
    sources: impl Iterator<Item = Vec<S>>,
    designs: &[RunOptions],
    shared: &Arc<SessionState>,
    mut watch: impl FnMut(&Progress) -> Command,
) -> Results {
    let (sender, results) = channel();
    for (index, (options, sources)) in designs.iter().zip(sources).enumerate() {
        let (options, shared, sender) = (options.clone(), shared.clone(), sender.clone());
        std::thread::spawn(move || run_one(index, &options, sources, &shared, &sender));
    }
    drop(sender);
    let mut outcomes = wait(designs.len(), &results, shared, |progress| {
        let command = watch(progress);
        if command != Command::GoOn {
            shared.switches.iter().for_each(EndSwitch::end);
        }
        shared.give_up.fetch_or(command == Command::GiveUp, Ordering::Relaxed);
    });
    if shared.is_ending() {
        outcomes = outcomes.into_iter().map(of_ended_session).collect();
        outcomes.iter_mut().filter_map(record_of).for_each(limit_to_what_ran);
    }
    Results { outcomes, ended_early: shared.is_ending() }
}

fn run_one<S: Source + 'static>(
    index: usize,
    options: &RunOptions,
    sources: Vec<S>,
    shared: &SessionState,
    sender: &Sender<(usize, Outcome)>,
) {
    let watch = |instructions| shared.arrived(index, instructions);
    let ended = catch_unwind(AssertUnwindSafe(|| run_together(options, sources, watch)));
    if let Some(pace) = &shared.pace {
        pace.finished(index);
    }
    let outcome = match ended {
        // Giving up also ends the program, so this record covers an arbitrary part of the program.
        Ok(Ok(_) | Err(RunError::Unfinished(_))) if shared.give_up.load(Ordering::Relaxed) => {
            Err(RunError::Stopped.into())
        }
        Ok(result) => result.map_err(SessionError::from),
        Err(panic) => Err(SessionError::Panicked(words_of(panic.as_ref()))),
    };
    // The receiver waits until all threads have sent.
    let _ = sender.send((index, outcome));
}

/// Collects the outcomes of the threads. Calls `look` at regular times and whenever a design has finished.
fn wait(
    designs: usize,
    results: &Receiver<(usize, Outcome)>,
    shared: &SessionState,
    mut look: impl FnMut(&Progress),
) -> Vec<Outcome> {
    let mut outcomes: Vec<Option<Outcome>> = (0..designs).map(|_| None).collect();
    let mut next_look = Instant::now() + BETWEEN_LOOKS;
    loop {
        match results.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
            Ok((index, outcome)) => {
                if let Ok(record) = &outcome {
                    shared.instructions[index].store(record.feed.instructions, Ordering::Relaxed);
                }
                outcomes[index] = Some(outcome);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Every thread sends its outcome before it drops its sender.
            Err(RecvTimeoutError::Disconnected) => return outcomes.into_iter().flatten().collect(),
        }
        next_look = Instant::now() + BETWEEN_LOOKS;
        look(&Progress {
            instructions: shared.instructions.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            finished: outcomes.iter().map(Option::is_some).collect(),
        });
    }
}

/// The outcome of a design whose program the user ended.
fn of_ended_session(outcome: Outcome) -> Outcome {
    outcome.map_err(|error| match error {
        SessionError::Run(error) => error.of_ended_run().into(),
        SessionError::Panicked(_) => error,
    })
}

/// The record of a design, also if a file of the run is missing.
fn record_of(outcome: &mut Outcome) -> Option<&mut Record> {
    match outcome {
        Ok(record) => Some(record),
        Err(SessionError::Run(RunError::Unfinished(unfinished))) => Some(&mut unfinished.record),
        Err(_) => None,
    }
}

/// Sets the budget to the instructions run. With several programs, no single budget describes the executed part of each
/// program.
fn limit_to_what_ran(record: &mut Record) {
    if !record.configuration.other_programs.is_empty() {
        return;
    }
    record.configuration.budget = record.feed.instructions;
    record.configuration_hash = record.configuration.hash();
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a thread died without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;
    use std::collections::BTreeMap;

    fn options(design: &str, budget: u64) -> RunOptions {
        let (machine, design) = (catalogue::machine("modern").unwrap(), catalogue::design(design).unwrap());
        RunOptions::new(machine, design, budget)
    }

    fn kernel(settings: &[(&str, &str)]) -> Box<dyn Source> {
        let settings: BTreeMap<_, _> = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        workload::kernels::open("gups", &settings, 1).unwrap()
    }

    #[test]
    fn designs_simulated_in_parallel_have_the_event_hashes_of_separate_runs() {
        let designs = [options("none", 50_000), options("sc64-bmt", 50_000)];
        let together = session(kernel(&[]), &designs, |_| Command::GoOn);
        assert!(!together.ended_early);
        for (options, record) in designs.iter().zip(together.outcomes) {
            let alone = run(options, kernel(&[]), |_| RunControl::GoOn).unwrap();
            assert_eq!(record.unwrap().event_hash, alone.event_hash, "{}", options.design.name);
        }
    }

    #[test]
    fn an_error_of_one_design_does_not_affect_the_other_designs() {
        let mut broken = options("sc64-bmt", 50_000);
        broken.design.parts.caches.ways = 7;
        let outcomes = session(kernel(&[]), &[broken, options("none", 50_000)], |_| Command::GoOn).outcomes;
        let error = outcomes[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("sc64-bmt") && error.contains("ways = 7"), "{error}");
        assert_eq!(outcomes[1].as_ref().unwrap().instructions, 50_000);
    }

    #[test]
    fn a_program_ended_early_gives_every_design_a_record_of_equal_instructions() {
        let endless = kernel(&[("updates", "1000000000")]);
        let designs = [options("none", u64::MAX), options("ctr-mac", u64::MAX)];
        let results = session(endless, &designs, |_| Command::EndProgram);
        let records: Vec<_> = results.outcomes.into_iter().map(Result::unwrap).collect();
        assert!(results.ended_early);
        assert_eq!(records[0].instructions, records[1].instructions);
        assert_eq!(records[0].configuration.budget, records[0].instructions);
    }

    #[test]
    fn an_end_by_the_user_in_the_warm_up_is_named_and_is_no_fault_of_the_program() {
        let warming = RunOptions { warm_up: 1 << 40, ..options("none", u64::MAX) };
        let endless = || kernel(&[("updates", "1000000000")]);
        let error = |designs: &[RunOptions], end_after: u64| {
            let results = session(endless(), designs, |progress| {
                if progress.instructions[0] >= end_after { Command::EndProgram } else { Command::GoOn }
            });
            assert!(results.ended_early);
            results.outcomes[0].as_ref().unwrap_err().to_string()
        };
        let warm_up = error(std::slice::from_ref(&warming), 1);
        assert!(warm_up.starts_with("interrupted in the warm-up, after "), "{warm_up}");
        assert!(warm_up.ends_with("of its 1099511627776 instructions: no instruction was measured"), "{warm_up}");
        let short = kernel(&[("updates", "1000"), ("footprint", "4 KB")]);
        let by_itself = session(short, &[warming], |_| Command::GoOn).outcomes.remove(0).unwrap_err().to_string();
        assert!(by_itself.contains("expected more than the warm-up's"), "{by_itself}");
    }

    #[test]
    fn programs_that_are_ended_early_end_at_the_same_instruction_for_all_designs() {
        let on_four_cores = |name: &str| {
            let machine = catalogue::machine("emcc-4core").unwrap();
            RunOptions { machine, ..options(name, u64::MAX) }
        };
        let designs = [on_four_cores("none"), on_four_cores("sc64-bmt")];
        let endless = || kernel(&[("updates", "1000000000"), ("footprint", "1 MB")]);
        let sources = designs.iter().map(|_| (0..4).map(|_| endless()).collect()).collect();
        let results = session_together(sources, &designs, |progress| {
            let begun = progress.instructions.iter().all(|done| *done > 100_000);
            if begun { Command::EndProgram } else { Command::GoOn }
        });
        assert!(results.ended_early);
        let records: Vec<_> = results.outcomes.into_iter().map(Result::unwrap).collect();
        let [none, protected] = &records[..] else { panic!("two designs were run") };
        let by_core = |record: &Record| record.cores.iter().map(|core| core.instructions).collect::<Vec<_>>();
        assert_eq!(by_core(none), by_core(protected));
        assert!(protected.time_fs > none.time_fs, "{} and {}", protected.time_fs, none.time_fs);
    }

    #[test]
    fn an_aborted_session_leaves_unfinished_designs_without_a_record() {
        let endless = kernel(&[("updates", "1000000000")]);
        let outcomes = session(endless, &[options("none", u64::MAX)], |_| Command::GiveUp).outcomes;
        assert!(matches!(outcomes[0], Err(SessionError::Run(RunError::Stopped))));
    }
}
