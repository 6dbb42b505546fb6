//! Errors between a program and the machine, worded for the user who started the program.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Reason why a program cannot be run, recorded or read back.
#[derive(Error, Debug)]
pub enum WorkloadError {
    /// The command line contains no program.
    #[error("no program given: expected a program and its arguments")]
    NoProgram,
    /// The program does not exist.
    #[error("program '{}' not found", .0.display())]
    ProgramNotFound(PathBuf),
    /// The program may not be executed.
    #[error("'{}' is not executable", .0.display())]
    NotExecutable(PathBuf),
    /// The interpreter of a script does not exist.
    #[error("'{}' is a script for '{}', which does not exist", .script.display(), .interpreter.display())]
    InterpreterMissing {
        /// Path of the script.
        script: PathBuf,
        /// Interpreter of the script, or an interpreter of the interpreter.
        interpreter: PathBuf,
    },
    /// The program is for another machine.
    #[error("'{}' is a program for {machine}: only 64-bit x86 Linux programs can be recorded", .path.display())]
    OtherMachine {
        /// Path of the program.
        path: PathBuf,
        /// Machine that the program was built for.
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
        /// Version that QEMU reports.
        found: String,
    },
    /// The recorder's shared object is missing.
    #[error("the recorder '{}' is missing; set {} to the path of libcasemate_recorder.so", .0.display(), crate::live::environment::RECORDER_VARIABLE)]
    RecorderMissing(PathBuf),
    /// The keeper is missing.
    #[error("'{}' is missing or not executable: it belongs to the recorder, in the same folder", .0.display())]
    KeeperMissing(PathBuf),
    /// QEMU ended before the recorder had started.
    #[error("'{}' could not be recorded: QEMU ended with {status} before the program started: {said}", .program.display())]
    NotRecorded {
        /// Path of the program.
        program: PathBuf,
        /// Exit status of QEMU.
        status: String,
        /// Last lines of QEMU's standard error.
        said: String,
    },
    /// The recording contains words that no recorder writes.
    #[error("the recording of process {process}, thread {thread} is damaged: {found}")]
    Damaged {
        /// Number of the process image.
        process: u32,
        /// Number of the thread.
        thread: u32,
        /// Description of the damage.
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
        /// Path of the file.
        path: PathBuf,
        /// Description of the actual content, or the first bytes.
        found: String,
    },
    /// The command does not accept the format of the trace.
    #[error("'{}' is {found}: expected {expected}", .path.display())]
    OtherFormat {
        /// Path of the file.
        path: PathBuf,
        /// Actual format of the file.
        found: &'static str,
        /// Expected format, and the command that accepts the actual one.
        expected: &'static str,
    },
    /// The format does not contain the mappings that select the persistent part of memory.
    #[error(
        "'{}' is {format}, which does not record mappings of files: expected --persistent all, or a trace of `casemate record`",
        .path.display()
    )]
    MappingsUnknown {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        format: &'static str,
    },
    /// This version of Casemate does not read the version of the trace.
    #[error("'{}' is a trace of version {found}; this Casemate reads versions up to {expected}", .path.display())]
    TraceVersion {
        /// Path of the file.
        path: PathBuf,
        /// Version of the trace.
        found: u32,
        /// Latest version that this Casemate reads.
        expected: u32,
    },
    /// The trace has no end record.
    #[error("'{}' is truncated: it ends after {batches} batches without an end record", .path.display())]
    TraceTruncated {
        /// Path of the file.
        path: PathBuf,
        /// Number of complete batches.
        batches: u64,
    },
    /// The trace has changed since it was written.
    #[error("'{}' is damaged at batch {batch}: {found}", .path.display())]
    TraceDamaged {
        /// Path of the file.
        path: PathBuf,
        /// Index of the batch, from zero.
        batch: u64,
        /// Description of the damage.
        found: String,
    },
    /// The length of the file is not a multiple of the length of a ChampSim record.
    #[error(
        "'{}' has {bytes} bytes: an uncompressed ChampSim trace is a whole number of records of {} bytes, and not empty",
        .path.display(),
        crate::champsim::record::RECORD_BYTES
    )]
    ChampsimLength {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file in bytes.
        bytes: u64,
    },
    /// The bytes are not a ChampSim record.
    #[error(
        "'{}' has no record of ChampSim's as its record {number} (byte {}): {fault}",
        .path.display(),
        .number * crate::champsim::record::RECORD_BYTES as u64
    )]
    ChampsimRecord {
        /// Path of the file.
        path: PathBuf,
        /// Index of the record, from zero.
        number: u64,
        /// Defect of the record.
        fault: crate::champsim::record::RecordFault,
    },
    /// A line of a text trace is not a request.
    #[error("'{}' is {form}, but its line {number} is not a request: {expected}", .path.display())]
    RequestLine {
        /// Path of the file.
        path: PathBuf,
        /// Format of the lines before it.
        form: &'static str,
        /// Number of the line, from one.
        number: u64,
        /// Expected form of the line.
        expected: String,
    },
    /// The program that unpacks a trace cannot be started.
    #[error("'{}' is packed, and '{program}', which unpacks it, cannot be started: {source}", .path.display())]
    NoUnpacker {
        /// Path of the file.
        path: PathBuf,
        /// Name of the unpacker.
        program: &'static str,
        /// Reason that the operating system gives.
        source: io::Error,
    },
    /// The unpacker cannot unpack a packed trace.
    #[error("{program} cannot unpack '{}': it ended with {status}", .path.display())]
    Unpacking {
        /// Path of the file.
        path: PathBuf,
        /// Name of the unpacker.
        program: &'static str,
        /// Exit status of the unpacker.
        status: std::process::ExitStatus,
    },
    /// ChampSim has no trace of this name.
    #[error(transparent)]
    Champsim(#[from] crate::champsim::synthetic::UnknownTrace),
    /// The operating system refused an operation.
    #[error("{doing} '{}': {source}", .path.display())]
    Io {
        /// Name of the operation.
        doing: &'static str,
        /// Path that the operation was applied to.
        path: PathBuf,
        /// Reason that the operating system gives.
        source: io::Error,
    },
    /// The parameters of a built-in kernel are invalid.
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
    /// Returns a closure for `map_err` that wraps an I/O error with the operation and the path.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> WorkloadError {
        let path = path.into();
        move |source| WorkloadError::Io { doing, path, source }
    }
}
