//! `casemate._core`: the Python interface of the simulator. This crate contains only glue code.
//!
//! All values pass between the languages as JSON text, so that files, notebooks and other languages receive a record in
//! the same form. A function that may run for long releases the interpreter, and checks about ten times a second
//! whether the user pressed Ctrl-C. Every error is a `CasemateError` with the message of the Rust error.

mod battery;
mod bus;
mod changes;
mod gcm;
mod inventory;
mod package;
mod power_loss;
mod programs;
mod running;
mod speed;
mod watching;
mod words;

use campaign::crash::programs::script::Choice;
use campaign::{CrashOptions, Options, ProgramOptions};
use catalogue::{Attack, Loss};
use changes::KeyChanges;
use programs::{Busy, ProgramSpec};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use runner::explain::{Lines, Scenario};
use runner::validate::ValidationExtent;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;
use watching::{Watcher, interruptible};

create_exception!(
    casemate._core,
    CasemateError,
    PyException,
    "The request is invalid or impossible; the message gives the reason."
);

fn refused(error: impl Display) -> PyErr {
    CasemateError::new_err(error.to_string())
}

fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(refused)
}

/// Parses JSON in two steps, so that an error message contains no line and column of the JSON text, which the user
/// never sees.
fn from_json<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(refused)?;
    serde_json::from_value(value).map_err(refused)
}

/// Parameters of recording a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordSpec {
    program: ProgramSpec,
    limit: Option<u64>,
    output: PathBuf,
}

/// Stores an execution in a file. The first Ctrl-C ends the program and keeps the recording; the second discards it.
#[pyfunction]
fn record(py: Python<'_>, spec: &str, callback: Py<PyAny>) -> PyResult<String> {
    let spec: RecordSpec = from_json(spec)?;
    let mut watcher = Watcher::new(callback);
    let opened = spec.program.open(spec.limit, 1).map_err(refused)?;
    let totals = py.detach(|| {
        runner::record_trace(opened.source, &spec.output, |instructions| {
            let state = serde_json::json!({ "instructions": instructions, "busy": Busy::of(opened.process.as_ref()) });
            watcher.look(&state, opened.process.as_ref().map(|process| &process.ender))
        })
    });
    let interrupted = watcher.was_interrupted();
    watcher.finish()?;
    let unbacked = opened.process.and_then(|process| process.observer.refused());
    let state =
        serde_json::json!({ "totals": totals.map_err(refused)?, "interrupted": interrupted, "unbacked": unbacked });
    to_json(&state)
}

/// The content of a trace. The function reads and checks all of it.
#[pyfunction]
fn trace_info(py: Python<'_>, path: &str, callback: Py<PyAny>) -> PyResult<String> {
    let path = PathBuf::from(path);
    let read = interruptible(py, &callback, move |progress| {
        programs::read_trace(&path, |batches| progress.notify(serde_json::json!({ "chunks": batches })))
    })?;
    to_json(&read.map_err(refused)?)
}

/// The timelines of one access under several designs, and the percentiles of the latencies of several lines.
#[pyfunction]
fn explain(machine: &str, designs: Vec<String>, changes: &str, scenario: &str, lines: &str) -> PyResult<String> {
    let changes: KeyChanges = from_json(changes)?;
    let designs = designs.iter().map(|name| changes.design(name)).collect::<PyResult<Vec<_>>>()?;
    let (machine, scenario, lines): (_, Scenario, Lines) =
        (changes.machine(machine)?, from_json(scenario)?, from_json(lines)?);
    to_json(&runner::explain::explain_together(&machine, &designs, scenario, lines).map_err(refused)?)
}

/// Parameters of a campaign against one design.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttackSpec {
    trials: u64,
    seed: u64,
    /// The only attack to carry out; `None` selects all.
    row: Option<Attack>,
    /// Changes of the design.
    changes: KeyChanges,
}

/// Carries attacks out against a design. Ctrl-C stops the campaign.
#[pyfunction]
fn attack(py: Python<'_>, design: &str, spec: &str, callback: Py<PyAny>) -> PyResult<String> {
    let spec: AttackSpec = from_json(spec)?;
    let design = spec.changes.design(design)?;
    let options = Options { trials: spec.trials, seed: spec.seed, ..Options::default() };
    let report = interruptible(py, &callback, move |progress| {
        let rows = spec.row.as_ref().map_or(Attack::ALL, std::slice::from_ref);
        campaign::attack_rows(&design, rows, &options, &mut |done, of| progress.report_part(done, of))
    })?;
    to_json(&report)
}

/// Parameters of a long campaign with a log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoggedSpec {
    designs: Vec<String>,
    /// The only attack to carry out; `None` selects all.
    row: Option<Attack>,
    seed: u64,
    /// Number of trials of each attack; `None` for as many as the time limit allows.
    trials: Option<u64>,
    /// Time limit in seconds; `None` if only the trials limit the campaign.
    budget_seconds: Option<f64>,
    log: PathBuf,
}

/// Carries out many trials of attacks on all processors, and continues from the log. Ctrl-C stops the campaign; the log keeps the complete
/// trials.
#[pyfunction]
fn attack_many(py: Python<'_>, spec: &str, callback: Py<PyAny>) -> PyResult<String> {
    let spec: LoggedSpec = from_json(spec)?;
    let designs: Result<Vec<_>, _> = spec.designs.iter().map(|name| catalogue::design(name)).collect();
    let plan = campaign::Plan {
        designs: designs.map_err(refused)?,
        attacks: spec.row.map_or_else(|| Attack::ALL.to_vec(), |row| vec![row]),
        seed: spec.seed,
        trials: spec.trials.unwrap_or(u64::MAX),
        budget: spec.budget_seconds.map(Duration::try_from_secs_f64).transpose().map_err(refused)?,
    };
    let report = interruptible(py, &callback, move |progress| {
        campaign::run_logged(&plan, &spec.log, &mut |state| {
            progress.notify(serde_json::json!({ "done": state.done, "least": state.least }));
        })
    })?;
    to_json(&report.map_err(refused)?)
}

/// Flips every stored bit of a small memory. Ctrl-C stops the test.
#[pyfunction]
fn attack_bits(py: Python<'_>, design: &str, callback: Py<PyAny>) -> PyResult<String> {
    let design = catalogue::design(design).map_err(refused)?;
    let flip_all = move |progress: &watching::Ticker| {
        campaign::exhaustive(&design, &mut |done, of| progress.report_part(done, of))
    };
    to_json(&interruptible(py, &callback, flip_all)?)
}

/// Parameters of losses of power under a design.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CrashSpec {
    /// The only kind of loss to test; `None` selects all.
    row: Option<Loss>,
    /// Index of the only workload to test; `None` selects all.
    workload: Option<usize>,
    seed: u64,
    /// True for every strike on every workload, and more subsets.
    thorough: bool,
    /// Changes of the design.
    changes: KeyChanges,
}

/// Tests losses of power under a design. Ctrl-C stops the test.
#[pyfunction]
fn crash(py: Python<'_>, design: &str, spec: &str, callback: Py<PyAny>) -> PyResult<String> {
    let spec: CrashSpec = from_json(spec)?;
    let design = spec.changes.design(design)?;
    let workloads = campaign::crash::workload::all_for(design.parts.persistence.has_buffer()).len();
    if let Some(only) = spec.workload.filter(|only| *only >= workloads) {
        return Err(refused(format!("there is no workload {only}: expected 0 to {}", workloads - 1)));
    }
    let rows = spec.row.map_or_else(|| Loss::ALL.to_vec(), |row| vec![row]);
    let CrashSpec { workload, seed, thorough, .. } = spec;
    let options = CrashOptions { rows, workload, seed, thorough, ..CrashOptions::default() };
    let report = interruptible(py, &callback, move |progress| {
        campaign::crash::crash(&design, &options, &mut |done, of| progress.report_part(done, of))
    })?;
    to_json(&report)
}

/// Parameters of losses of power of a program that recovers its data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SurviveSpec {
    program: String,
    settings: BTreeMap<String, String>,
    losses: u64,
    seed: u64,
    /// Changes of the design.
    changes: KeyChanges,
}

/// Runs a program through losses of power under a design. Ctrl-C stops the test.
#[pyfunction]
fn crash_program(py: Python<'_>, design: &str, spec: &str, callback: Py<PyAny>) -> PyResult<String> {
    let SurviveSpec { program, settings, losses, seed, changes } = from_json(spec)?;
    let design = changes.design(design)?;
    let program = Choice { name: program, settings };
    let options = ProgramOptions { program, losses, seed, planted: Default::default() };
    let report = interruptible(py, &callback, move |progress| {
        campaign::survive(&design, &options, &mut |done, of| progress.report_part(done as usize, of as usize))
    })?;
    to_json(&report.map_err(refused)?)
}

/// Compares the machine with the results of public simulators, all of them or only the brief part. Ctrl-C stops the
/// validation.
#[pyfunction]
fn validate(py: Python<'_>, brief: bool, callback: Py<PyAny>) -> PyResult<String> {
    let extent = if brief { ValidationExtent::Brief } else { ValidationExtent::Full };
    let report = interruptible(py, &callback, move |progress| {
        runner::validate::validate(extent, |state| {
            progress.notify(serde_json::json!({ "done": state.done, "of": state.of, "about": state.subject }));
        })
    })?;
    to_json(&report.map_err(refused)?)
}

/// Measures a window of a ChampSim trace on an unprotected machine. Ctrl-C stops it.
#[pyfunction]
fn window(
    py: Python<'_>,
    machine: &str,
    trace: PathBuf,
    extent: (u64, u64),
    seed: u64,
    callback: Py<PyAny>,
) -> PyResult<String> {
    let machine = catalogue::machine(machine).map_err(refused)?;
    let extent = runner::WindowExtent { warmup: extent.0, instructions: extent.1 };
    let measured = interruptible(py, &callback, move |progress| {
        progress.notify(serde_json::json!({ "instructions": 0 }));
        let open = |limit| workload::stored::open_champsim(&trace, seed, limit);
        runner::measure_window(&machine, seed, extent, open, |done| {
            progress.notify(serde_json::json!({ "instructions": done }));
            runner::RunControl::GoOn
        })
    })?;
    to_json(&measured.map_err(refused)?)
}

/// The format of a trace, recognised by the first bytes of its file.
#[pyfunction]
fn trace_format(path: PathBuf) -> PyResult<String> {
    to_json(&workload::stored::recognise(&path).map_err(refused)?)
}

/// The text of a file that a user edits, from its bytes: in UTF-8, without a byte order mark.
#[pyfunction]
fn edited_text(content: &[u8]) -> PyResult<String> {
    catalogue::edited_text(content).map_err(refused)
}

/// Checks that a file can be created at a path, and removes it again.
#[pyfunction]
fn check_file(path: PathBuf) -> PyResult<()> {
    runner::check_file(&path).map_err(refused)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CasemateError", module.py().get_type::<CasemateError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD", package::BUILD)?;
    module.add("BUILT_AS", units::BUILT_AS)?;
    module.add("PROCESSOR_FLAGS", package::processor_flags())?;
    module.add("KINDS", package::kinds())?;
    module.add("METADATA_CACHES", package::metadata_caches())?;
    module.add_class::<bus::BusFile>()?;
    module.add_class::<gcm::GcmLines>()?;
    module.add_function(wrap_pyfunction!(gcm::ghash_product, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::designs, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::design, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::machines, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::settings, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::attacks, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::losses, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::verdicts, module)?)?;
    module.add_function(wrap_pyfunction!(words::words, module)?)?;
    module.add_function(wrap_pyfunction!(words::verbs, module)?)?;
    module.add_function(wrap_pyfunction!(inventory::layout, module)?)?;
    module.add_function(wrap_pyfunction!(running::run, module)?)?;
    module.add_function(wrap_pyfunction!(running::plan, module)?)?;
    module.add_function(wrap_pyfunction!(power_loss::lose_power, module)?)?;
    module.add_function(wrap_pyfunction!(running::ratio, module)?)?;
    module.add_function(wrap_pyfunction!(battery::battery, module)?)?;
    module.add_function(wrap_pyfunction!(speed::crypto_engines, module)?)?;
    module.add_function(wrap_pyfunction!(speed::crypto_size, module)?)?;
    module.add_function(wrap_pyfunction!(speed::crypto_speed, module)?)?;
    module.add_function(wrap_pyfunction!(check_file, module)?)?;
    module.add_function(wrap_pyfunction!(edited_text, module)?)?;
    module.add_function(wrap_pyfunction!(record, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_format, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(attack, module)?)?;
    module.add_function(wrap_pyfunction!(crash, module)?)?;
    module.add_function(wrap_pyfunction!(crash_program, module)?)?;
    module.add_function(wrap_pyfunction!(attack_many, module)?)?;
    module.add_function(wrap_pyfunction!(attack_bits, module)?)?;
    module.add_function(wrap_pyfunction!(window, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)
}
