//! Runs programs on machines under designs, every machine with every design.

use crate::changes::KeyChanges;
use crate::programs::{Busy, OpenProgram, Process, ProgramSpec};
use crate::watching::Watcher;
use crate::{from_json, refused, to_json};
use catalogue::{Design, Machine};
use pyo3::prelude::*;
use runner::bus::{BusOptions, check_bus};
use runner::excerpt::{ExcerptOptions, check_excerpt};
use runner::sampling::{Detail, SamplingOptions};
use runner::{RunError, SessionError};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use units::{Duration, Time};
use workload::Source;

/// Parameters of runs of one program, or of several at once, on several machines under several designs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunSpec {
    designs: Vec<String>,
    machines: Vec<String>,
    changes: KeyChanges,
    programs: Vec<ProgramSpec>,
    /// Maximum number of instructions of each program; `None` for all.
    limit: Option<u64>,
    /// Instructions of each program before the statistics begin (warm-up).
    warm_up: u64,
    seed: u64,
    start: StartSpec,
    ledger: bool,
    /// True if the check of a run must compare load values of every program.
    check_values: bool,
    /// Sampling options; `None` for every instruction in detail.
    sampling: Option<SamplingOptions>,
    kept: ExtraOutputs,
}

/// State of the chip and of memory when the simulations begin.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartSpec {
    age: runner::StartingAge,
    /// Values in the table of frequent values, for each machine; empty if memory begins in program order.
    values: Vec<Vec<runner::FrequentWord>>,
    /// Instructions of each program that are executed without time, before the warm-up.
    untimed: u64,
}

impl StartSpec {
    fn on(&self, machine: usize) -> runner::StartState {
        let values = self.values.get(machine).cloned().unwrap_or_default();
        runner::StartState { age: self.age, values, untimed: self.untimed }
    }
}

/// Additional outputs of each simulation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtraOutputs {
    /// Length of the intervals with separate results, in instructions; `None` for totals only.
    interval: Option<u64>,
    /// Sizes of the tables of frequent values, in values.
    tables: Vec<usize>,
    /// File for the lines that cross the pins of memory, if requested.
    bus: Option<BusSpec>,
    /// Window to write to a file with the work of each unit, if requested.
    excerpt: Option<ExcerptSpec>,
}

impl ExtraOutputs {
    /// Checks that all files can be written. The path that the user gave must be valid as well, even if each simulation writes to a file
    /// with another name.
    fn check_files(&self, all: &[runner::RunOptions], detail: Detail) -> PyResult<()> {
        let bus = self.bus.as_ref().map(BusSpec::options);
        let mut written = bus.iter().chain(all.iter().filter_map(|options| options.bus.as_ref()));
        written.try_for_each(|bus| check_bus(bus, detail)).map_err(refused)?;
        let excerpt = self.excerpt.as_ref().map(ExcerptSpec::options);
        if let (Some(bus), Some(excerpt)) = (&bus, &excerpt)
            && bus.path == excerpt.path
        {
            let file = bus.path.display();
            return Err(refused(format!(
                "'{file}' is asked for twice, by --bus and for --trace-window: expected two files"
            )));
        }
        let mut written = excerpt.iter().chain(all.iter().filter_map(|options| options.excerpt.as_ref()));
        written.try_for_each(|excerpt| check_excerpt(excerpt, detail)).map_err(refused)
    }
}

/// File for the lines that cross the pins, or the pattern of one file for each simulation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BusSpec {
    file: PathBuf,
    /// True to write the bytes of each line as well.
    bytes: bool,
}

impl BusSpec {
    fn options(&self) -> BusOptions {
        BusOptions { path: self.file.clone(), bytes: self.bytes }
    }
}

/// A window of simulated time, and the file for the work of each unit in it, or the pattern of one file for each
/// simulation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExcerptSpec {
    file: PathBuf,
    from_fs: u64,
    length_fs: u64,
}

impl ExcerptSpec {
    fn options(&self) -> ExcerptOptions {
        let (from, length) = (Time::from_fs(self.from_fs), Duration::from_fs(self.length_fs));
        ExcerptOptions { path: self.file.clone(), from, length }
    }
}

/// Loads designs or machines. Two with the same name are an error, because their results would be confused.
fn of_different_names<T>(
    files: &[String],
    load: impl Fn(&str) -> PyResult<T>,
    name: impl Fn(&T) -> &String,
) -> PyResult<Vec<T>> {
    let mut loaded: Vec<T> = Vec::new();
    for file in files {
        let one = load(file)?;
        if let Some(same) = loaded.iter().position(|other| name(other) == name(&one)) {
            let (other, name) = (&files[same], name(&one));
            return Err(refused(format!("{other} and {file} are both called '{name}': give one of them another name")));
        }
        loaded.push(one);
    }
    Ok(loaded)
}

impl RunSpec {
    /// The options of all simulations: every machine with every design.
    pub(crate) fn options(&self) -> PyResult<Vec<runner::RunOptions>> {
        let budget = self.programs.iter().map(|program| program.budget(self.limit)).max().unwrap_or(0);
        let detail = self.sampling.map_or(Detail::All, Detail::Sampled);
        let &RunSpec {
            warm_up,
            seed,
            ref start,
            ledger,
            kept: ExtraOutputs { interval, ref tables, ref bus, ref excerpt },
            ..
        } = self;
        runner::check_tables(tables).map_err(refused)?;
        let designs = of_different_names(&self.designs, |file| self.changes.design(file), |design| &design.name)?;
        let machines = of_different_names(&self.machines, |file| self.changes.machine(file), |machine| &machine.name)?;
        let mut all = Vec::new();
        for (index, machine) in machines.iter().enumerate() {
            for design in &designs {
                let names = self.apart(machine, design);
                let bus = bus.as_ref().map(|bus| bus.options().of_one(&names));
                let excerpt = excerpt.as_ref().map(|excerpt| excerpt.options().of_one(&names));
                let (machine, design) = (machine.clone(), design.clone());
                let options = runner::RunOptions::new(machine, design, budget);
                let (interval, tables) = (interval, tables.clone());
                let kept = runner::RunOptions { interval, tables, bus, excerpt, ..options };
                all.push(runner::RunOptions { seed, start: start.on(index), warm_up, ledger, detail, ..kept });
            }
        }
        all.iter().try_for_each(runner::RunOptions::check_design).map_err(refused)?;
        all.iter().try_for_each(|options| runner::check_untimed(options, self.programs.len())).map_err(refused)?;
        all.iter().try_for_each(|options| runner::check_interval(options, self.programs.len())).map_err(refused)?;
        self.kept.check_files(&all, detail)?;
        Ok(all)
    }

    /// Checks everything that does not depend on the content of the programs, and returns the options of all simulations.
    fn check(&self) -> PyResult<Vec<runner::RunOptions>> {
        runner::check_warm_up(self.warm_up, self.limit.unwrap_or(u64::MAX)).map_err(refused)?;
        let simulations = self.options()?;
        self.sampling.map_or(Ok(()), |sampling| sampling.check()).map_err(refused)?;
        Ok(simulations)
    }

    /// Names that identify one of the simulations.
    fn apart<'a>(&self, machine: &'a Machine, design: &'a Design) -> Vec<&'a str> {
        let machine = (self.machines.len() > 1).then_some(machine.name.as_str());
        let design = (self.designs.len() > 1).then_some(design.name.as_str());
        machine.into_iter().chain(design).collect()
    }

    /// Maximum number of instructions of each simulation, if it is known for all programs.
    fn length(&self) -> Option<u64> {
        self.programs.iter().map(|program| program.length(self.limit)).sum()
    }

    /// The programs of each simulation.
    pub(crate) fn programs(&self) -> &[ProgramSpec] {
        &self.programs
    }

    /// Opens new instances of all programs.
    pub(crate) fn open_all(&self, seed: u64) -> PyResult<Vec<OpenProgram>> {
        self.programs.iter().map(|program| program.clone().open(self.limit, seed).map_err(refused)).collect()
    }

    /// Opens new instances of all programs for each simulation.
    fn open_for_each(&self, simulations: usize) -> PyResult<Vec<Vec<Box<dyn Source>>>> {
        if !self.programs.iter().all(ProgramSpec::is_repeatable) {
            return Err(refused(
                "only built-in workloads and traces can run in several simulations: record the program first",
            ));
        }
        let open = |_| Ok(self.open_all(self.seed)?.into_iter().map(|opened| opened.source).collect());
        (0..simulations).map(open).collect()
    }
}

#[derive(Serialize)]
struct Failure {
    design: String,
    machine: String,
    error: String,
}

#[derive(Serialize)]
struct RunAnswer {
    records: Vec<runner::Record>,
    failures: Vec<Failure>,
    interrupted: bool,
    /// True if every simulation has a record, and all checks of all records passed.
    passed: bool,
    /// Paths of the files of the pins, one for each record whose file is complete.
    bus: Vec<PathBuf>,
    /// Paths of the files of the windows, likewise.
    excerpts: Vec<PathBuf>,
}

impl RunAnswer {
    fn of(simulations: &[runner::RunOptions], results: runner::Results, check_values: bool) -> RunAnswer {
        let (mut records, mut failures) = (Vec::new(), Vec::new());
        let (mut bus, mut excerpts) = (Vec::new(), Vec::new());
        for (options, outcome) in simulations.iter().zip(results.outcomes) {
            if let Err(error) = &outcome {
                let (design, machine) = (options.design.name.clone(), options.machine.name.clone());
                failures.push(Failure { design, machine, error: error.to_string() });
            }
            let (mut record, has_bus, has_excerpt) = match outcome {
                Ok(record) => (record, true, true),
                Err(SessionError::Run(RunError::Unfinished(found))) => {
                    (found.record, found.bus.is_ok(), found.excerpt.is_ok())
                }
                Err(_) => continue,
            };
            if check_values {
                record.require_values();
            }
            records.push(record);
            bus.extend(options.bus.iter().filter(|_| has_bus).map(|bus| bus.path.clone()));
            excerpts.extend(options.excerpt.iter().filter(|_| has_excerpt).map(|excerpt| excerpt.path.clone()));
        }
        let passed = failures.is_empty() && records.iter().all(|record: &runner::Record| record.checks.passed);
        RunAnswer { records, failures, interrupted: results.ended_early, passed, bus, excerpts }
    }
}

/// Checks that all simulations can run these programs.
fn check_sources(programs: &[Box<dyn Source>], simulations: &[runner::RunOptions]) -> PyResult<()> {
    simulations.iter().try_for_each(|options| runner::check_fits(programs, &options.machine)).map_err(refused)?;
    simulations.iter().try_for_each(|options| runner::check_persistent(programs, options)).map_err(refused)?;
    simulations.iter().try_for_each(|options| runner::check_requests(programs, options)).map_err(refused)
}

/// A simulation that a request would carry out.
#[derive(Serialize)]
struct PlannedSimulation<'a> {
    machine: &'a Machine,
    design: &'a Design,
    /// Memory that the programs touch, in bytes; `None` if it is unknown for any of them.
    footprint_bytes: Option<u64>,
}

/// Checks a request as [`run`] does, but runs nothing, and returns its simulations. All programs must be repeatable.
#[pyfunction]
pub fn plan(spec: &str) -> PyResult<String> {
    let spec: RunSpec = from_json(spec)?;
    let simulations = spec.check()?;
    let programs: Vec<_> = spec.open_for_each(1)?.into_iter().flatten().collect();
    check_sources(&programs, &simulations)?;
    let footprint_bytes = programs.iter().map(|program| program.footprint().map(|bytes| bytes.0)).sum();
    let planned = simulations.iter().map(|options| {
        let runner::RunOptions { machine, design, .. } = options;
        PlannedSimulation { machine, design, footprint_bytes }
    });
    to_json(&planned.collect::<Vec<_>>())
}

/// Runs programs on machines under designs. The function calls `callback(progress_json)` about ten times a second, but
/// only after all checks of the request. The first Ctrl-C ends the program and lets the simulations finish with the
/// execution so far; the second stops them.
#[pyfunction]
pub fn run(py: Python<'_>, spec: &str, callback: Py<PyAny>) -> PyResult<String> {
    let spec: RunSpec = from_json(spec)?;
    let simulations = spec.check()?;
    let mut watcher = Watcher::new(callback);
    let of = spec.length();
    let mut look = |progress: &runner::Progress, process: Option<&Process>| {
        let runner::Progress { instructions, finished } = progress;
        let has_begun = instructions.iter().zip(finished).all(|(&done, &is_over)| is_over || done > 0);
        let busy = Busy::of(process).or_else(|| if has_begun { None } else { Busy::building(&spec.programs) });
        let state = serde_json::json!({ "instructions": instructions, "of": of, "finished": finished, "busy": busy });
        watcher.look(&state, process.map(|process| &process.ender))
    };
    let results = if let [program] = &spec.programs[..] {
        let opened = program.clone().open(spec.limit, spec.seed).map_err(refused)?;
        check_sources(std::slice::from_ref(&opened.source), &simulations)?;
        py.detach(|| runner::session(opened.source, &simulations, |progress| look(progress, opened.process.as_ref())))
    } else {
        let sources = spec.open_for_each(simulations.len())?;
        sources.first().map_or(Ok(()), |programs| check_sources(programs, &simulations))?;
        py.detach(|| runner::session_together(sources, &simulations, |progress| look(progress, None)))
    };
    watcher.finish()?;
    to_json(&RunAnswer::of(&simulations, results, spec.check_values))
}

/// The ratio of two totals, each given per unit of a sample, with its 95 % confidence interval; `None` for too few
/// units.
#[pyfunction]
pub fn ratio(above: Vec<f64>, below: Vec<f64>) -> PyResult<String> {
    to_json(&runner::sampling::ratio(&above, &below))
}
