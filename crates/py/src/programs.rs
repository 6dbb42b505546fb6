//! Programs as Python names them: a built-in kernel, a stored trace, or a command to run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use workload::live::{Ender, Input, Live, LiveOptions, Observer, Output, Work};
use workload::trace::{Counter, Totals, TraceReader};
use workload::{Origin, Persistent, Source, WorkloadError, kernels, stored};

/// What to execute.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Program {
    /// A built-in kernel.
    Kernel {
        /// Its name.
        name: String,
        /// Its parameters, as text.
        settings: BTreeMap<String, String>,
    },
    /// A stored trace.
    Trace {
        /// The file.
        path: PathBuf,
        /// What of its memory has to outlive a loss of power.
        persistent: Persistent,
    },
    /// A program on this computer.
    Live {
        /// The program and its arguments.
        command: Vec<Word>,
        /// Instructions to let pass first.
        skip: u64,
        /// Whether only what runs between the program's two markers counts.
        marked_region: bool,
        /// Whether loads carry their values.
        load_values: bool,
        /// What of its memory has to outlive a loss of power.
        persistent: Persistent,
        /// Whether the program's output goes where ours goes.
        inherit_output: bool,
        /// Whether the program reads what we would read.
        inherit_input: bool,
        /// The recorder, `libcasemate_recorder.so`.
        recorder: PathBuf,
    },
}

/// A word of a command. Linux lets it have any bytes but zero, and text in JSON is Unicode.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// One that is UTF-8.
    Text(String),
    /// Any, byte by byte.
    Bytes(Vec<u8>),
}

impl From<Word> for OsString {
    fn from(word: Word) -> OsString {
        match word {
            Word::Text(text) => text.into(),
            Word::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

/// A program about to run.
pub struct Opened {
    pub source: Box<dyn Source>,
    /// The process, if it is one.
    pub process: Option<Process>,
}

/// A program of this computer from outside, while it runs.
pub struct Process {
    /// What ends it if it is to end now.
    pub ender: Ender,
    /// What looks at QEMU meanwhile.
    pub observer: Observer,
}

/// What QEMU is busy with for long.
#[derive(Serialize)]
pub struct Busy {
    work: &'static str,
    bytes: u64,
}

impl Busy {
    /// What it does for a program at the moment.
    pub fn of(process: Option<&Process>) -> Option<Busy> {
        let (work, bytes) = process?.observer.busy()?;
        let work = match work {
            Work::Reserve => "reserve",
            Work::Protect => "protect",
            Work::Unmap => "unmap",
        };
        Some(Busy { work, bytes })
    }
}

impl Program {
    /// How many instructions the simulation may take of it. A live program is stopped by its recorder, at the end of a
    /// block, and all that it recorded is simulated.
    pub fn budget(&self, limit: Option<u64>) -> u64 {
        match self {
            Program::Live { .. } => u64::MAX,
            Program::Kernel { .. } | Program::Trace { .. } => limit.unwrap_or(u64::MAX),
        }
    }

    /// How many instructions there will be to simulate at most, as far as that is known before.
    pub fn length(&self, limit: Option<u64>) -> Option<u64> {
        let stored = match self {
            Program::Trace { path, .. } => TraceReader::open(path).ok().and_then(|it| it.length()),
            _ => None,
        };
        stored.into_iter().chain(limit).min()
    }

    /// Whether it can be started several times, and does the same each time.
    pub fn is_repeatable(&self) -> bool {
        !matches!(self, Program::Live { .. })
    }

    /// Starts it.
    pub fn open(self, limit: Option<u64>, seed: u64) -> Result<Opened, WorkloadError> {
        match self {
            Program::Kernel { name, settings } => {
                Ok(Opened { source: kernels::open(&name, &settings, seed)?, process: None })
            }
            Program::Trace { path, persistent } => {
                Ok(Opened { source: stored::open(&path, seed, persistent)?, process: None })
            }
            Program::Live {
                command,
                skip,
                marked_region,
                load_values,
                persistent,
                inherit_output,
                inherit_input,
                recorder,
            } => {
                let output = if inherit_output { Output::Inherit } else { Output::Discard };
                let input = if inherit_input { Input::Inherit } else { Input::Nothing };
                let usual = LiveOptions { persistent, input, output, ..LiveOptions::new(command, recorder) };
                let live = Live::start(LiveOptions { skip, limit, marked_region, load_values, ..usual })?;
                let process = Some(Process { ender: live.ender(), observer: live.observer()? });
                Ok(Opened { source: Box::new(live), process })
            }
        }
    }
}

/// What a trace holds.
#[derive(Serialize)]
pub struct TraceInfo {
    path: PathBuf,
    file_bytes: u64,
    format: stored::Format,
    origin: Origin,
    totals: Totals,
}

/// Reads a whole trace, and so checks it. `progress` gets the number of chunks so far.
pub fn read_trace(path: &Path, mut progress: impl FnMut(u64)) -> Result<TraceInfo, WorkloadError> {
    let format = stored::recognise(path)?;
    let mut source = stored::open(path, 1, Persistent::All)?;
    let mut counter = Counter::default();
    while let Some(chunk) = source.next_chunk()? {
        counter.add(&chunk);
        progress(counter.totals().chunks);
    }
    // The file was read to its end, so its size can be had; if not, that is no reason to keep the rest back.
    let file_bytes = path.metadata().map_or(0, |data| data.len());
    let (path, origin) = (path.to_owned(), source.origin().clone());
    Ok(TraceInfo { path, file_bytes, format, origin, totals: counter.totals() })
}
