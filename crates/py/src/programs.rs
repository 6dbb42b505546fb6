//! Programs in requests from Python: a built-in kernel, a stored trace, or a command.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Bytes;
use workload::live::{Ender, HostWork, Input, Live, LiveOptions, Output, QemuObserver};
use workload::stream::Batch;
use workload::trace::{Totals, TraceCounter, TraceReader};
use workload::{Origin, Persistent, Source, WorkloadError, kernels, stored};

/// A program to execute.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ProgramSpec {
    /// A kernel that is built in.
    Kernel {
        /// Name of the kernel.
        name: String,
        /// Parameters of the kernel, as text.
        settings: BTreeMap<String, String>,
    },
    /// A trace that a file stores.
    Trace {
        /// Path of the trace.
        path: PathBuf,
        /// The part of its memory that must survive a loss of power.
        persistent: Persistent,
        /// Path that the record states in place of `path`: a copy of a trace gives the same record as the trace.
        #[serde(default)]
        stated: Option<PathBuf>,
    },
    /// A program on this computer.
    Live {
        /// The command: the program and its arguments.
        command: Vec<CommandWord>,
        /// Instructions to skip before the recording.
        skip: u64,
        /// True if only the part between the program's two markers counts.
        marked_region: bool,
        /// True to record the values of loads.
        load_values: bool,
        /// The part of its memory that must survive a loss of power.
        persistent: Persistent,
        /// True to send the program's output to the output of this process.
        inherit_output: bool,
        /// True to let the program read the input of this process.
        inherit_input: bool,
        /// Path of the recorder, `libcasemate_recorder.so`.
        recorder: PathBuf,
    },
}

/// A word of a command. Linux allows any bytes except zero, but text in JSON is Unicode.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum CommandWord {
    /// A word in UTF-8.
    Text(String),
    /// Any word, byte by byte.
    Bytes(Vec<u8>),
}

impl From<CommandWord> for OsString {
    fn from(word: CommandWord) -> OsString {
        match word {
            CommandWord::Text(text) => text.into(),
            CommandWord::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

/// A program that is ready to run.
pub struct OpenProgram {
    pub source: Box<dyn Source>,
    /// The process, for a live program.
    pub process: Option<Process>,
}

/// Handles of a live program's process.
pub struct Process {
    /// Ends the process at once.
    pub ender: Ender,
    /// Watches the work of QEMU.
    pub observer: QemuObserver,
}

/// Long work during which a program executes no instruction: an operation of QEMU, or the construction of kernels.
#[derive(Serialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum Busy {
    Reserve { bytes: u64 },
    Protect { bytes: u64 },
    Unmap { bytes: u64 },
    Build { kernels: Vec<String> },
}

impl Busy {
    /// The operation of QEMU for a program at this moment, if it takes long.
    pub fn of(process: Option<&Process>) -> Option<Busy> {
        let (work, bytes) = process?.observer.busy()?;
        Some(match work {
            HostWork::Reserve => Busy::Reserve { bytes },
            HostWork::Protect => Busy::Protect { bytes },
            HostWork::Unmap => Busy::Unmap { bytes },
        })
    }

    /// The construction of the kernels among these programs, which precedes their first instruction.
    pub fn building(programs: &[ProgramSpec]) -> Option<Busy> {
        let name_of = |program: &ProgramSpec| match program {
            ProgramSpec::Kernel { name, .. } => Some(name.clone()),
            ProgramSpec::Trace { .. } | ProgramSpec::Live { .. } => None,
        };
        let mut kernels: Vec<String> = programs.iter().filter_map(name_of).collect();
        kernels.dedup();
        (!kernels.is_empty()).then_some(Busy::Build { kernels })
    }
}

impl ProgramSpec {
    /// The most instructions that the simulation may take from the program. The recorder stops a live program at the
    /// end of a block, and the simulation runs all recorded instructions.
    pub fn budget(&self, limit: Option<u64>) -> u64 {
        match self {
            ProgramSpec::Live { .. } => u64::MAX,
            ProgramSpec::Kernel { .. } | ProgramSpec::Trace { .. } => limit.unwrap_or(u64::MAX),
        }
    }

    /// Upper limit of the program's instructions, if it is known in advance.
    pub fn length(&self, limit: Option<u64>) -> Option<u64> {
        let stored = match self {
            ProgramSpec::Trace { path, .. } => TraceReader::open(path).ok().and_then(|it| it.length()),
            _ => None,
        };
        stored.into_iter().chain(limit).min()
    }

    /// Returns true if the program can be started several times with the same execution.
    pub fn is_repeatable(&self) -> bool {
        !matches!(self, ProgramSpec::Live { .. })
    }

    /// Opens the source; a live program starts.
    pub fn open(self, limit: Option<u64>, seed: u64) -> Result<OpenProgram, WorkloadError> {
        match self {
            ProgramSpec::Kernel { name, settings } => {
                Ok(OpenProgram { source: kernels::open(&name, &settings, seed)?, process: None })
            }
            ProgramSpec::Trace { path, persistent, stated } => {
                let source = stored::open(&path, seed, persistent)?;
                let source = match stated {
                    Some(stated) => TraceCopy::new(source, &path, &stated).into(),
                    None => source,
                };
                Ok(OpenProgram { source, process: None })
            }
            ProgramSpec::Live {
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
                Ok(OpenProgram { source: Box::new(live), process })
            }
        }
    }
}

/// A trace that was copied from another path, which its origin states.
struct TraceCopy {
    source: Box<dyn Source>,
    origin: Origin,
}

impl TraceCopy {
    /// Wraps a trace at `path`. Traces of other simulators state the path in their origin; it is replaced by `stated`.
    fn new(source: Box<dyn Source>, path: &Path, stated: &Path) -> TraceCopy {
        let mut origin = source.origin().clone();
        if origin.program == [path.display().to_string()] {
            origin.program = vec![stated.display().to_string()];
        }
        TraceCopy { source, origin }
    }
}

impl From<TraceCopy> for Box<dyn Source> {
    fn from(copy: TraceCopy) -> Box<dyn Source> {
        Box::new(copy)
    }
}

impl Source for TraceCopy {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        let batch = self.source.next_batch()?;
        if batch.is_none() {
            // All other fields of the origin are final from the beginning.
            let Origin { finish, restarts, ref suspects, .. } = *self.source.origin();
            self.origin = Origin { finish, restarts, suspects: suspects.clone(), ..self.origin.clone() };
        }
        Ok(batch)
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn footprint(&self) -> Option<Bytes> {
        self.source.footprint()
    }
}

/// Description of a trace.
#[derive(Serialize)]
pub struct TraceInfo {
    path: PathBuf,
    file_bytes: u64,
    format: stored::Format,
    origin: Origin,
    totals: Totals,
}

/// Reads a whole trace, and so checks it. `progress` gets the number of batches so far.
pub fn read_trace(path: &Path, mut progress: impl FnMut(u64)) -> Result<TraceInfo, WorkloadError> {
    let format = stored::recognise(path)?;
    let mut source = stored::open(path, 1, Persistent::All)?;
    let mut counter = TraceCounter::default();
    while let Some(batch) = source.next_batch()? {
        counter.add(&batch);
        progress(counter.totals().chunks);
    }
    // The size of the file is usually available after reading it. Without it, the other figures are still useful.
    let file_bytes = path.metadata().map_or(0, |data| data.len());
    let (path, origin) = (path.to_owned(), source.origin().clone());
    Ok(TraceInfo { path, file_bytes, format, origin, totals: counter.totals() })
}
