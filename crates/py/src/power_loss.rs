//! Losses of power: runs programs on machines under designs until power fails, many times.

use crate::programs::{Busy, OpenProgram, Process};
use crate::running::RunSpec;
use crate::watching::Watcher;
use crate::{from_json, refused, to_json};
use cost::Energy;
use pyo3::prelude::*;
use runner::power_loss::{At, LossOptions, LossOutcome, count_events, lose_power as lose};
use runner::{Command, RunControl, RunError, RunOptions};
use serde::{Deserialize, Serialize};
use units::Time;
use units::random::Random;
use workload::Source;

/// Separates the moment of the loss from all other draws of the same seed.
const MOMENT: u64 = 0x0dea_d000;

/// Moment at which power fails.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum When {
    Instructions(u64),
    TimeFs(u64),
    /// At an event of the run, drawn at random.
    Random,
}

/// Losses of power, each with the next seed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LossSpec {
    at: When,
    losses: u64,
    /// Energy of the battery, in femtojoules; `None` if it always lasts.
    battery_fj: Option<u64>,
    /// Number of stored lines in which an attacker flips a bit while power is off; `None` without an attacker.
    tamper: Option<u64>,
}

/// One loss, with its design and its machine.
#[derive(Serialize)]
struct DesignLoss {
    design: String,
    machine: String,
    #[serde(flatten)]
    loss: LossOutcome,
    passed: bool,
}

#[derive(Serialize)]
struct LossAnswer {
    losses: Vec<DesignLoss>,
    interrupted: bool,
    /// True if no loss had a mismatch.
    passed: bool,
}

/// Progress through all losses of a request.
struct LossProgress<'a> {
    spec: &'a RunSpec,
    loss: &'a LossSpec,
    watcher: Watcher,
    done: usize,
    of: usize,
    found: Vec<DesignLoss>,
}

impl LossProgress<'_> {
    /// Runs new instances of the programs with these options, and reports progress to the watcher.
    fn run<T>(
        &mut self,
        seed: u64,
        what: impl FnOnce(Vec<Box<dyn Source>>, &mut dyn FnMut(u64) -> RunControl) -> Result<T, RunError>,
    ) -> PyResult<Option<T>> {
        let opened = self.spec.open_all(seed)?;
        let mut sources = Vec::new();
        let mut process: Option<Process> = None;
        for OpenProgram { source, process: started } in opened {
            sources.push(source);
            process = process.or(started);
        }
        let (done, of) = (self.done, self.of);
        let watcher = &mut self.watcher;
        let programs = self.spec.programs();
        let outcome = what(sources, &mut |instructions| {
            // The run calls this closure before it waits for the first instruction.
            let building = || if instructions == 0 { Busy::building(programs) } else { None };
            let busy = Busy::of(process.as_ref()).or_else(building);
            let state = serde_json::json!({ "instructions": instructions, "done": done, "of": of, "busy": busy });
            match watcher.look(&state, process.as_ref().map(|process| &process.ender)) {
                Command::GoOn => RunControl::GoOn,
                Command::EndProgram | Command::GiveUp => RunControl::Stop,
            }
        });
        match outcome {
            Ok(found) => Ok(Some(found)),
            Err(RunError::Stopped) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    }

    /// Carries out all losses of one design on one machine. Returns false if the user interrupted them.
    fn lose(&mut self, options: &RunOptions) -> PyResult<bool> {
        let events = match self.loss.at {
            When::Random => match self.run(options.seed, |sources, watch| count_events(options, sources, watch))? {
                Some(events) => events,
                None => return Ok(false),
            },
            _ => 0,
        };
        for number in 0..self.loss.losses {
            let seed = options.seed.wrapping_add(number);
            let options = RunOptions { seed, ..options.clone() };
            let at = match self.loss.at {
                When::Instructions(count) => At::Instructions(count),
                When::TimeFs(time) => At::Time(Time::from_fs(time)),
                When::Random => At::Events(Random::new(seed ^ MOMENT).below(events + 1)),
            };
            let losing = LossOptions { battery: self.battery(), tamper: self.loss.tamper, ..LossOptions::new(at) };
            let Some(loss) = self.run(seed, |sources, watch| lose(&options, sources, losing, watch))? else {
                return Ok(false);
            };
            let (design, machine) = (options.design.name, options.machine.name);
            self.found.push(DesignLoss { design, machine, passed: loss.passed(), loss });
            self.done += 1;
        }
        Ok(true)
    }

    fn battery(&self) -> Option<Energy> {
        self.loss.battery_fj.map(|held| Energy::of_femtojoules(held.into()))
    }
}

/// Runs programs on machines under designs until power fails, and judges the recovered memory. The function calls
/// `callback(progress_json)` about ten times a second. After Ctrl-C it returns the losses so far.
#[pyfunction]
pub fn lose_power(py: Python<'_>, spec: &str, loss: &str, callback: Py<PyAny>) -> PyResult<String> {
    let (spec, loss): (RunSpec, LossSpec) = (from_json(spec)?, from_json(loss)?);
    let simulations = spec.options()?;
    let of = simulations.len() * loss.losses as usize;
    let mut work =
        LossProgress { spec: &spec, loss: &loss, watcher: Watcher::new(callback), done: 0, of, found: Vec::new() };
    let mut interrupted = false;
    py.detach(|| -> PyResult<()> {
        for options in &simulations {
            interrupted = !work.lose(options)?;
            if interrupted {
                break;
            }
        }
        Ok(())
    })?;
    let LossProgress { watcher, found: losses, .. } = work;
    watcher.finish()?;
    let passed = losses.iter().all(|found| found.passed);
    to_json(&LossAnswer { losses, interrupted, passed })
}
