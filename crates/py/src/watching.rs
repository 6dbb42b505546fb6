//! Connects work in Rust to Python: reports progress, and receives Ctrl-C.

use crate::to_json;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use runner::Command;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use workload::live::Ender;

/// Time between two progress reports.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

fn notify(py: Python<'_>, callback: &Py<PyAny>, progress: &Value) -> PyResult<()> {
    py.check_signals()?;
    // On a busy computer, the work may not have reported progress yet.
    if progress.is_null() {
        return Ok(());
    }
    callback.call1(py, (to_json(progress)?,)).map(drop)
}

/// Watches work that can end in good order: the first Ctrl-C ends the program, the second stops the work.
pub struct Watcher {
    callback: Py<PyAny>,
    interrupted: bool,
    error: Option<PyErr>,
}

impl Watcher {
    /// A watcher that reports progress to `callback`.
    pub fn new(callback: Py<PyAny>) -> Watcher {
        Watcher { callback, interrupted: false, error: None }
    }

    /// Reports progress, and returns the user's command. An end of the program ends all processes that it started,
    /// which also wakes the thread that waits for it.
    pub fn look(&mut self, progress: &Value, program: Option<&Ender>) -> Command {
        let Err(error) = Python::attach(|py| notify(py, &self.callback, progress)) else { return Command::GoOn };
        program.into_iter().for_each(Ender::end);
        let is_interrupt = Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py));
        if is_interrupt && !self.interrupted {
            self.interrupted = true;
            return Command::EndProgram;
        }
        self.error.get_or_insert(error);
        Command::GiveUp
    }

    /// Returns true if the user pressed Ctrl-C.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The error that stopped the work, if any.
    pub fn finish(self) -> PyResult<()> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Progress of work that can only be stopped.
#[derive(Clone, Default)]
pub struct Ticker {
    progress: Arc<Mutex<Value>>,
    given_up: Arc<AtomicBool>,
}

/// Unwinds a thread whose work was stopped, without an error or a report.
struct GivenUp;

impl Ticker {
    /// Reports progress. Does not return if the user stopped the work.
    pub fn notify(&self, progress: Value) {
        if self.given_up.load(Ordering::Relaxed) {
            resume_unwind(Box::new(GivenUp));
        }
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// Reports progress as a number of parts and their total. Does not return if the user stopped the work.
    pub fn report_part(&self, done: usize, of: usize) {
        self.notify(serde_json::json!({ "done": done, "of": of }));
    }

    fn latest(&self) -> Value {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Does work on a separate thread, and calls Python meanwhile. The function returns an exception in Python, such as Ctrl-C, at once; the
/// work ends at its next tick.
///
/// # Panics
/// If the work panics.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    callback: &Py<PyAny>,
    work: impl FnOnce(&Ticker) -> T + Send + 'static,
) -> PyResult<T> {
    let ticker = Ticker::default();
    let (theirs, waiting) = (ticker.clone(), std::thread::current());
    let worker = std::thread::spawn(move || {
        let ended = catch_unwind(AssertUnwindSafe(|| work(&theirs)));
        waiting.unpark();
        ended
    });
    while !worker.is_finished() {
        py.detach(|| std::thread::park_timeout(BETWEEN_LOOKS));
        if let Err(error) = notify(py, callback, &ticker.latest()) {
            ticker.given_up.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
    match worker.join() {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
    }
}
