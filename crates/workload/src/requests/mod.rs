//! Traces of requests that lie behind the caches: the text traces of Ramulator and DRAMsim3.
//!
//! Such a trace has no instructions of a program: its reads and writes are of lines, and go to the memory controller with
//! no cache before it. [`Pace`] says when. Each line of the file is one step of the stream that the machine reads: its
//! [`Control::Due`](wire::word::Control), then the line that it reads and the line that it writes, whole.

mod form;
mod source;

pub use form::{Form, TraceLine};

use crate::error::WorkloadError;
use crate::packed::Unpacked;
use crate::source::{Finish, Medium, Origin, Pace, Persistent, Source, Values};
use source::RequestSource;
use std::path::Path;

impl Form {
    /// When the requests of a trace of this form come.
    pub fn pace(self) -> Pace {
        match self {
            Form::RamulatorMemory | Form::RamulatorLoadStore => Pace::AtOnce,
            Form::RamulatorCpu => Pace::AfterInstructions,
            Form::Dramsim3 => Pace::AtClocks,
        }
    }
}

/// A file of lines of this form as a source. Content is drawn from `seed`.
///
/// # Errors
/// [`WorkloadError::Io`] if the file cannot be opened, or what unpacks it cannot be run. A line of another form turns up
/// when it is read.
pub fn open(path: &Path, form: Form, seed: u64) -> Result<Box<dyn Source>, WorkloadError> {
    let origin = Origin {
        program: vec![path.display().to_string()],
        skip: 0,
        limit: None,
        values: Values::Seeded(seed),
        load_values: false,
        medium: Medium::Stored,
        conditions: Vec::new(),
        persistent: Persistent::All,
        requests: Some(form.pace()),
        restarts: 0,
        suspects: Vec::new(),
        finish: Finish::Running,
    };
    Ok(Box::new(RequestSource::new(path, Unpacked::open(path)?, form, (origin, seed))))
}
