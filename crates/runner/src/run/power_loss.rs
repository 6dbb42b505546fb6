//! A loss of power while programs run: the whole machine stops, the battery drains the durable lines, and a fresh chip
//! recovers the memory. The verdict then compares the memory with the programs' accepted stores.
//!
//! ```text
//! run ─ power fails ─ what is begun ends ─ the battery drains ─┬─ it lasts ──────────┬─ a fresh chip recovers ─ every line is read
//!                     (where there is a battery)               └─ or dies on the way ┘   and compared with the account of stores
//!                                                                   ─ more stores, a second loss, once more the same
//! ```
//! The account ([`chip::store_log`]) shares no code with the simulated parts: it contains the stores as the programs
//! executed them.
//!
//! | file | part |
//! |---|---|
//! | `battery.rs` | the battery's work, its energy, and the memory if it dies |
//! | `recovery.rs` | a fresh chip on the remaining memory, and the lines that it reads |
//! | `tamper.rs` | an attacker who flips bits while power is off |
//! | `verdict.rs` | comparison with the account |
//! | `prefix.rs` | check that each core's durable stores are the first of its program |

mod battery;
mod prefix;
mod recovery;
mod tamper;
mod verdict;

pub use tamper::TamperOutcome;
pub use verdict::{Mismatch, Wrong};

use super::bench::{AssembledMachine, PowerScenario};
use super::{EVENTS_BETWEEN_LOOKS, RunControl, RunError, RunOptions, check_fits, check_persistent, check_requests};
use crate::excerpt::ExcerptFile;
use crate::sampling::Detail;
use battery::{Battery, Left, SurvivingMemory};
use catalogue::Loss;
use chip::store_log::StoreLog;
use cost::Energy;
use protection::design::Point;
use protection::planted::PlantedBug;
use recovery::Recovered;
use serde::{Serialize, Serializer};
use std::time::Instant;
use tamper::Tampered;
use units::Time;
use verdict::Judge;
use workload::Source;

/// Moment at which power fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// When the cores have received this many instructions together.
    Instructions(u64),
    /// At the first event at or after this time.
    Time(Time),
    /// After this number of events.
    Events(u64),
}

/// A loss of power.
#[derive(Clone, Copy, Debug)]
pub struct LossOptions {
    /// Moment of the loss. Programs that end earlier lose power when their last store is accepted.
    pub at: At,
    /// Energy of the battery; `None` if it always lasts.
    pub battery: Option<Energy>,
    /// Number of stored lines in which an attacker flips one bit each while power is off; `None` without an attacker.
    pub tamper: Option<u64>,
    /// A bug that is planted in the machine, and in the chips that recover its memory.
    pub planted: PlantedBug,
}

impl LossOptions {
    /// A loss at this moment, with a battery that always lasts.
    pub fn new(at: At) -> LossOptions {
        LossOptions { at, battery: None, tamper: None, planted: PlantedBug::NONE }
    }
}

/// Moment at which power failed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Moment {
    /// Time on the simulated clock, in femtoseconds.
    pub time_fs: u64,
    /// Number of instructions that the cores had received.
    pub instructions: u64,
    /// Number of events before the loss.
    pub events: u64,
    /// True if the programs had ended.
    pub ended: bool,
}

/// Stores of the programs at the loss of power.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StoreCounts {
    /// Number of stores that the cores had executed, including stores that were executed ahead of the clock.
    pub executed: u64,
    /// Number of these stores that were accepted: they are durable or will become durable.
    pub accepted: u64,
}

/// Work of a battery after a loss of power.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OnBattery {
    /// Lines that were durable but not yet in memory.
    pub lines: usize,
    /// Energy that the work needs.
    #[serde(rename = "needed_nj", serialize_with = "in_nanojoules")]
    pub needed: Energy,
    /// Number of operations that the battery powered before it was empty, if it did not last.
    pub died_after: Option<usize>,
}

/// Outcome of a loss of power.
#[derive(Clone, Debug, Serialize)]
pub struct LossOutcome {
    /// The seed of the run.
    pub seed: u64,
    /// Moment of the loss.
    pub at: Moment,
    /// Stores of the programs at the loss.
    pub stores: StoreCounts,
    /// Work of the battery, if the design has one.
    pub battery: Option<OnBattery>,
    /// Number of lines that were read and compared.
    pub lines_compared: usize,
    /// Number of mismatches, including those not listed.
    pub wrong: usize,
    /// The first mismatches that were found.
    pub mismatches: Vec<Mismatch>,
    /// True if a pad encrypted two texts; false without a ledger.
    pub pad_used_twice: bool,
    /// Outcome of tampering while power is off, if an attacker was requested.
    pub tamper: Option<TamperOutcome>,
    /// Time of this computer's processor for battery, recovery and comparison, in milliseconds.
    pub host_ms: f64,
}

impl LossOutcome {
    /// Returns true if the run found no mismatch and no pad that was used twice, and tampering ended as claimed.
    pub fn passed(&self) -> bool {
        self.wrong == 0 && !self.pad_used_twice && self.tamper.as_ref().is_none_or(|tamper| tamper.as_claimed)
    }
}

fn in_nanojoules<S: Serializer>(energy: &Energy, serializer: S) -> Result<S::Ok, S::Error> {
    energy.nanojoules().serialize(serializer)
}

/// Checks that power can fail in this run.
///
/// # Errors
/// [`RunError::PowerLoss`] with the broken rule.
pub fn check_power_loss<S: Source>(options: &RunOptions, sources: &[S]) -> Result<(), RunError> {
    let RunOptions { design, start, detail, warm_up, interval, bus, excerpt, .. } = options;
    let name = &design.name;
    let rule = if !design.parts.persistence.exists() {
        format!(
            "design {name} keeps no data over a loss of power: expected one that does, as secpb-cobcm, secure-eadr or \
             plp-sp"
        )
    } else if !matches!(detail, Detail::All) || start.untimed + warm_up > 0 || interval.is_some() {
        "a run in which power fails is neither sampled nor counted by parts: leave out --detail, --untimed, --warm-up and \
         --interval".into()
    } else if bus.is_some() || excerpt.is_some() {
        "a run in which power fails writes no files: leave out --bus and --trace-window".into()
    } else {
        check_fits(sources, &options.machine)?;
        check_persistent(sources, options)?;
        return check_requests(sources, options);
    };
    Err(RunError::PowerLoss(rule))
}

/// Counts the events of the run until its programs end.
///
/// # Errors
/// The errors of [`lose_power`].
pub fn count_events<S: Source + 'static>(
    options: &RunOptions,
    sources: Vec<S>,
    watch: impl FnMut(u64) -> RunControl,
) -> Result<u64, RunError> {
    let mut bench = begin(options, sources, PlantedBug::NONE)?;
    run_to(&mut bench, At::Time(Time::NEVER), watch)?;
    Ok(bench.executor.clock().event_count())
}

/// Runs programs on a machine under a design until power fails, and judges the recovered memory. `watch` is called
/// repeatedly with the number of instructions so far.
///
/// # Errors
/// See [`RunError`]. Stores that recovery loses are results, not errors.
pub fn lose_power<S: Source + 'static>(
    options: &RunOptions,
    sources: Vec<S>,
    loss: LossOptions,
    watch: impl FnMut(u64) -> RunControl,
) -> Result<LossOutcome, RunError> {
    let persistent = super::programs::persistent(&sources);
    let mut bench = begin(options, sources, loss.planted)?;
    run_to(&mut bench, loss.at, watch)?;
    if bench.ends.is_over() {
        let log = bench.meters.shadow.clone();
        bench.executor.run_until(|| log.borrow().log().is_none_or(StoreLog::has_accepted_all));
    }
    let origins = bench.origins();
    let is_over = bench.ends.is_over();
    super::programs::check_mapped(origins.iter().zip(bench.fed()), &options.design)
        .map_err(|error| if is_over { error } else { error.at_power_loss() })?;
    let clock = bench.executor.clock().clone();
    let at = Moment {
        time_fs: clock.now().as_fs(),
        instructions: bench.programs.iter().map(|program| program.borrow().counts().instructions).sum(),
        events: clock.event_count(),
        ended: is_over,
    };
    let began = Instant::now();
    let meters = bench.meters.clone();
    meters.chip.power.fail(&meters.chip.scheme);
    if options.design.parts.persistence.point != Point::Controller {
        // Operations that have begun run to their end; the executor then has no event left.
        bench.executor.run_until(|| false);
    }
    let battery = Battery { meters: &meters, parts: &options.design.parts, holds: loss.battery };
    let Left { memory, battery } = battery.work()?;
    let shadow = meters.shadow.borrow();
    let Some(log) = shadow.log() else { return Err(RunError::PowerLoss("no account of stores was kept".into())) };
    let recover = |memory: &SurvivingMemory| Recovered::of(options, memory, loss.planted);
    let recovered = recover(&memory)?;
    let mut judge = Judge::new(&options.design.parts, log, persistent);
    judge.alarm(meters.chip.scheme.fault_reported());
    judge.acceptance(at);
    judge.first_session(&recovered);
    let tamper = match loss.tamper {
        Some(lines) => {
            let tampered = Tampered::of(&memory, meters.scheme.layout(), lines, options)?;
            let claim = options.design.crash.about(Loss::TamperingWhileOff);
            Some(tampered.judge(&recover(&tampered.memory)?, &recovered, claim))
        }
        None => None,
    };
    judge.second_session(options.seed, &recovered, recover)?;
    let (executed, accepted) = log.counts().fold((0, 0), |sum, core| (sum.0 + core.0, sum.1 + core.1));
    let verdict::Judged { lines_compared, wrong, mismatches, pad_used_twice } = judge.end();
    Ok(LossOutcome {
        seed: options.seed,
        at,
        stores: StoreCounts { executed, accepted },
        battery,
        lines_compared,
        wrong,
        mismatches,
        pad_used_twice,
        tamper,
        host_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

fn begin<S: Source + 'static>(
    options: &RunOptions,
    sources: Vec<S>,
    planted: PlantedBug,
) -> Result<AssembledMachine<S>, RunError> {
    check_power_loss(options, &sources)?;
    let excerpt = ExcerptFile::begin(None, options.detail)?;
    AssembledMachine::assemble(options, sources, &excerpt, PowerScenario::Fails, planted)
}

/// Runs the machine until the moment of the loss, or until the programs have ended.
fn run_to<S: Source + 'static>(
    bench: &mut AssembledMachine<S>,
    at: At,
    mut watch: impl FnMut(u64) -> RunControl,
) -> Result<(), RunError> {
    let clock = bench.executor.clock().clone();
    let (programs, ends, chip) = (bench.programs.clone(), bench.ends.clone(), bench.meters.chip.clone());
    let instructions = || programs.iter().map(|program| program.borrow().counts().instructions).sum();
    let (mut looked_at, mut stop) = (0, false);
    let ended = bench.executor.run_until(|| {
        if clock.event_count() >= looked_at {
            looked_at = clock.event_count() + EVENTS_BETWEEN_LOOKS;
            stop = watch(instructions()) == RunControl::Stop;
        }
        let is_then = match at {
            At::Instructions(count) => instructions() >= count,
            At::Time(time) => clock.now() >= time,
            At::Events(count) => clock.event_count() >= count,
        };
        // An alarm ends the run and is a result.
        stop || is_then || chip.scheme.fault_reported().is_some() || ends.is_over()
    });
    if stop {
        return Err(RunError::Stopped);
    }
    if !ended {
        return Err(RunError::NoProgress(clock.now()));
    }
    bench.ends.take_error().map_or(Ok(()), |error| Err(error.into()))
}
