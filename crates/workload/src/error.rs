//! What can go wrong between a program and the machine, in words for the user who started it.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a program cannot be run, recorded or read back.
#[derive(Error, Debug)]
pub enum WorkloadError {
    /// Nothing was given to run.
    #[error("no program given: expected a program and its arguments")]
    NoProgram,
    /// The program does not exist.
    #[error("program '{}' not found", .0.display())]
    ProgramNotFound(PathBuf),
    /// The program may not be executed.
    #[error("'{}' is not executable", .0.display())]
    NotExecutable(PathBuf),
    /// The program is a script whose interpreter does not exist.
    #[error("'{}' is a script for '{}', which is not there", .script.display(), .interpreter.display())]
    InterpreterMissing {
        /// The script.
        script: PathBuf,
        /// Its interpreter, or an interpreter of that.
        interpreter: PathBuf,
    },
    /// The program is for another machine.
    #[error("'{}' is a program for {machine}: only 64-bit x86 Linux programs can be recorded", .path.display())]
    OtherMachine {
        /// The program.
        path: PathBuf,
        /// Its machine.
        machine: &'static str,
    },
    /// The file is no program.
    #[error("'{}' is neither an ELF program nor a script with an interpreter line", .0.display())]
    NotAProgram(PathBuf),
    /// QEMU is not installed.
    #[error("'{}' not found: recording needs QEMU's user mode; install the package 'qemu-user'", .0.display())]
    QemuMissing(PathBuf),
    /// QEMU is of a version that the recorder was not made for.
    #[error("'{}' is {found}: recording needs QEMU 7 or 8, with plug-in interface version 1", .path.display())]
    QemuVersion {
        /// The QEMU that was tried.
        path: PathBuf,
        /// What it says it is.
        found: String,
    },
    /// The recorder's shared object is missing.
    #[error("the recorder '{}' is missing; set {} to the path of libcasemate_recorder.so", .0.display(), crate::live::RECORDER_VARIABLE)]
    RecorderMissing(PathBuf),
    /// The keeper is missing.
    #[error("'{}' is missing or not executable: it comes with the recorder, and belongs beside it", .0.display())]
    KeeperMissing(PathBuf),
    /// QEMU ended before the recorder had started.
    #[error("'{}' could not be recorded: QEMU ended with {status} before the program started: {said}", .program.display())]
    NotRecorded {
        /// The program.
        program: PathBuf,
        /// How QEMU ended.
        status: String,
        /// The end of what it wrote to its standard error.
        said: String,
    },
    /// A word list that no recorder writes.
    #[error("the recording of process {process}, thread {thread} is damaged: {found}")]
    Damaged {
        /// The process image.
        process: u32,
        /// The thread.
        thread: u32,
        /// What was found.
        found: String,
    },
    /// The file is not a trace.
    #[error("'{}' is not a Casemate trace", .0.display())]
    NotATrace(PathBuf),
    /// The file is no trace of any format.
    #[error(
        "'{}' is not a trace: {found}; expected a trace of `casemate record`, ChampSim, Ramulator or DRAMsim3, recognised by content",
        .path.display()
    )]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// What it is instead, or how it begins.
        found: String,
    },
    /// The trace is of another format than the command takes.
    #[error("'{}' is {found}: expected {expected}", .path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What it should have been, and what takes it as it is.
        expected: &'static str,
    },
    /// What of memory is to be persistent cannot be found out.
    #[error(
        "'{}' is {format}, which does not say what is mapped from files: expected all as what is persistent, or a trace of `casemate record`",
        .path.display()
    )]
    MappingsUnknown {
        /// The file.
        path: PathBuf,
        /// What it is.
        format: &'static str,
    },
    /// The trace is of another version.
    #[error("'{}' is a trace of version {found}; this Casemate reads versions up to {expected}", .path.display())]
    TraceVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// The trace stops early.
    #[error("'{}' is truncated: it ends after {chunks} chunks without an end record", .path.display())]
    TraceTruncated {
        /// The file.
        path: PathBuf,
        /// How many chunks are whole.
        chunks: u64,
    },
    /// The trace has changed since it was written.
    #[error("'{}' is damaged at chunk {chunk}: {found}", .path.display())]
    TraceDamaged {
        /// The file.
        path: PathBuf,
        /// Which chunk, counted from zero.
        chunk: u64,
        /// What is wrong.
        found: String,
    },
    /// A file that is no whole number of ChampSim's records.
    #[error(
        "'{}' has {bytes} bytes: an uncompressed ChampSim trace is a whole number of records of {} bytes, and not empty",
        .path.display(),
        crate::champsim::RECORD_BYTES
    )]
    ChampsimLength {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// Bytes that are no record of ChampSim's.
    #[error(
        "'{}' has no record of ChampSim's as its record {number} (byte {}): {fault}",
        .path.display(),
        .number * crate::champsim::RECORD_BYTES as u64
    )]
    ChampsimRecord {
        /// The file.
        path: PathBuf,
        /// The record, counted from zero.
        number: u64,
        /// What is wrong with it.
        fault: crate::champsim::RecordFault,
    },
    /// A line of a text trace that is no request.
    #[error("'{}' is {form}, but its line {number} is no request: {expected}", .path.display())]
    RequestLine {
        /// The file.
        path: PathBuf,
        /// What the lines before it are.
        form: &'static str,
        /// The line, counted from one.
        number: u64,
        /// What it should be.
        expected: String,
    },
    /// The program that unpacks a trace cannot be started.
    #[error("'{}' is packed, and '{program}', which unpacks it, cannot be started: {source}", .path.display())]
    NoUnpacker {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A packed trace that its program cannot unpack.
    #[error("{program} cannot unpack '{}': it ended with {status}", .path.display())]
    Unpacking {
        /// The file.
        path: PathBuf,
        /// What unpacks it.
        program: &'static str,
        /// How that ended.
        status: std::process::ExitStatus,
    },
    /// There is no such trace of ChampSim's.
    #[error(transparent)]
    Champsim(#[from] crate::champsim::UnknownTrace),
    /// The operating system refused.
    #[error("{doing} '{}': {source}", .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A built-in kernel cannot be had as asked for.
    #[error(transparent)]
    Kernel(#[from] crate::kernels::KernelError),
    /// The thread that feeds several consumers died.
    #[error("the thread that feeds this consumer has died")]
    PumpDied,
    /// Another consumer of the same source has met this error.
    #[error("{0}")]
    Shared(std::sync::Arc<WorkloadError>),
}

impl WorkloadError {
    /// For `map_err`: the operating system refused this.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> WorkloadError {
        let path = path.into();
        move |source| WorkloadError::Io { doing, path, source }
    }
}
