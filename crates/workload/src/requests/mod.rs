//! Traces of memory requests, recorded behind the caches: the text traces of Ramulator and DRAMsim3.
//!
//! A trace of this kind has no instructions of a program. It reads and writes lines, and its requests go to the memory
//! controller without a cache; [`RequestPace`] determines their time. Each line of the file is one step of the machine's
//! stream. The step has a [`Control::Due`](wire::word::Control), an access to the line that it reads, and stores to all
//! words of the line that it writes.

mod form;
mod source;

pub use form::{Form, TraceLine};

use crate::error::WorkloadError;
use crate::packed::Unpacked;
use crate::source::{Finish, Medium, Origin, Persistent, RequestPace, Source, Values};
use source::RequestSource;
use std::path::Path;

impl Form {
    /// Timing of the requests in a trace of this form.
    pub fn pace(self) -> RequestPace {
        match self {
            Form::RamulatorMemory | Form::RamulatorLoadStore => RequestPace::AtOnce,
            Form::RamulatorCpu => RequestPace::AfterInstructions,
            Form::Dramsim3 => RequestPace::AtClocks,
        }
    }
}

/// Opens a file with lines of this form as a source. The content of memory is drawn from `seed`.
///
/// # Errors
/// [`WorkloadError::Io`] if the operating system cannot open the file; [`WorkloadError::NoUnpacker`] if it cannot start
/// the unpacker. The source reports a line of another form when it reads the line.
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
