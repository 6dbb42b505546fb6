//! Starts a program under QEMU. It checks all inputs before it starts a process, so that every mistake has a separate
//! message.

use super::keeper::Keeper;
use super::sweep;
use crate::error::WorkloadError;
use crate::source::{Finish, MARKED_REGION, Medium, Origin, Persistent, Values};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use wire::launch;
use wire::program::{self, ExecutableKind};
use wire::ring::{RecordingSettings, Ring};

const QEMU: &str = "qemu-x86_64";
/// Major versions of QEMU with version 1 of the plug-in interface.
const QEMU_MAJORS: std::ops::RangeInclusive<u32> = 7..=8;
/// Python orders its sets by this seed; without it, no two runs are equal.
const HASH_SEED: (&str, &str) = ("PYTHONHASHSEED", "0");

/// Destination of the program's output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Output {
    /// Discard all output of the program.
    #[default]
    Discard,
    /// Write to Casemate's own output.
    Inherit,
}

/// Source of the program's standard input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Input {
    /// Pass an empty input.
    #[default]
    Nothing,
    /// Pass Casemate's input if it is a file or a pipe. The program does not get a terminal, because it is not in the
    /// terminal's foreground.
    Inherit,
}

/// Program to run, with its options.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Program, looked up as a shell does, and its arguments.
    pub program: Vec<OsString>,
    /// Number of instructions to skip before recording, counted over all processes; exact to a block.
    pub skip: u64,
    /// Maximum number of instructions to record, over all processes; `None` for all. The recorder ends the program at
    /// this limit.
    pub limit: Option<u64>,
    /// True if loads carry their values; needed only to check the recording itself.
    pub load_values: bool,
    /// True if `skip` and `limit` count only instructions between pairs of `xchg %rbx,%rbx`, and only these are
    /// recorded.
    pub marked_region: bool,
    /// Part of the program's memory that must survive a loss of power.
    pub persistent: Persistent,
    /// Path of the recorder, `libcasemate_recorder.so`.
    pub recorder: PathBuf,
    /// Path of the keeper, if it is not next to the recorder.
    pub keeper: Option<PathBuf>,
    /// Path of QEMU, if it is not the `qemu-x86_64` of the search path.
    pub qemu: Option<PathBuf>,
    /// Source of the program's standard input.
    pub input: Input,
    /// Destination of the program's standard output and error.
    pub output: Output,
}

impl LiveOptions {
    /// Records the whole program and discards its output.
    pub fn new(program: impl IntoIterator<Item = impl Into<OsString>>, recorder: PathBuf) -> LiveOptions {
        LiveOptions {
            program: program.into_iter().map(Into::into).collect(),
            skip: 0,
            limit: None,
            load_values: false,
            marked_region: false,
            persistent: Persistent::All,
            recorder,
            keeper: None,
            qemu: None,
            input: Input::Nothing,
            output: Output::Discard,
        }
    }
}

/// A program that was started.
pub struct LiveProgram {
    pub program: PathBuf,
    pub origin: Origin,
    pub ring: Ring,
    pub keeper: Keeper,
    pub complaints: Option<File>,
}

/// Starts the program under QEMU.
pub fn start(options: &LiveOptions) -> Result<LiveProgram, WorkloadError> {
    let name = options.program.first().ok_or(WorkloadError::NoProgram)?;
    let executable = find(name).ok_or_else(|| WorkloadError::ProgramNotFound(name.into()))?;
    let (program, called) = recordable(&executable, &options.program)?;
    if !options.recorder.is_file() {
        return Err(WorkloadError::RecorderMissing(options.recorder.clone()));
    }
    let recorder = options.recorder.canonicalize().map_err(WorkloadError::io("finding", &options.recorder))?;
    let keeper = keeper(options, &recorder)?;
    let qemu = options.qemu.clone().unwrap_or_else(|| QEMU.into());
    let version = qemu_version(&qemu)?;
    sweep::end_orphans();

    let settings = RecordingSettings {
        skip: options.skip,
        limit: options.limit.unwrap_or(u64::MAX),
        load_values: options.load_values,
        marked_region: options.marked_region,
        host_bytes_per_page: host_bytes_per_page(&version),
    };
    let ring = Ring::create(settings).map_err(WorkloadError::io("making the ring for", &program))?;
    let ring_path = ring.path().unwrap_or_default();
    let mut command = Command::new(&keeper);
    command
        .arg(std::process::id().to_string())
        .arg(&qemu)
        .args(launch::arguments(&recorder, ring_path.as_os_str(), None, &program, &called))
        .env(HASH_SEED.0, HASH_SEED.1)
        .stdin(standard_input(options.input))
        .process_group(0);
    let complaints = redirect(&mut command, options.output)?;
    let keeper = Keeper::start(&mut command).map_err(WorkloadError::io("starting", &keeper))?;
    Ok(LiveProgram { program: executable, origin: origin(options, version), ring, keeper, complaints })
}

fn keeper(options: &LiveOptions, recorder: &Path) -> Result<PathBuf, WorkloadError> {
    let keeper = options.keeper.clone().unwrap_or_else(|| recorder.with_file_name(launch::KEEPER));
    if is_executable(&keeper) { Ok(keeper) } else { Err(WorkloadError::KeeperMissing(keeper)) }
}

fn standard_input(input: Input) -> Stdio {
    match input {
        Input::Inherit if !std::io::stdin().is_terminal() => Stdio::inherit(),
        Input::Inherit | Input::Nothing => Stdio::null(),
    }
}

/// Redirects the program's output. Errors go to a nameless file, which the message quotes if QEMU refuses to start.
fn redirect(command: &mut Command, output: Output) -> Result<Option<File>, WorkloadError> {
    if output == Output::Inherit {
        return Ok(None);
    }
    let path = std::env::temp_dir().join(unique_name());
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(WorkloadError::io("making", &path))?;
    std::fs::remove_file(&path).map_err(WorkloadError::io("removing the name of", &path))?;
    let copy = file.try_clone().map_err(WorkloadError::io("sharing", &path))?;
    command.stdout(Stdio::null()).stderr(copy);
    Ok(Some(file))
}

fn origin(options: &LiveOptions, qemu_version: String) -> Origin {
    let conditions = [
        ("qemu", qemu_version.as_str()),
        ("cpu", launch::CPU),
        ("seed", launch::SEED),
        HASH_SEED,
        (MARKED_REGION, if options.marked_region { "yes" } else { "no" }),
    ];
    Origin {
        program: options.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        skip: options.skip,
        limit: options.limit,
        values: Values::Exact,
        load_values: options.load_values,
        medium: Medium::Live,
        conditions: conditions.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        persistent: options.persistent,
        requests: None,
        restarts: 0,
        finish: Finish::Running,
        suspects: Vec::new(),
    }
}

/// Looks a program up as a shell does.
fn find(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 || name.as_encoded_bytes().contains(&b'/') {
        return path.exists().then(|| path.to_owned());
    }
    let directories = std::env::var_os("PATH")?;
    let all = std::env::split_paths(&directories).map(|directory| directory.join(path));
    let mut present = all.filter(|path| path.is_file());
    let first = present.next()?;
    if is_executable(&first) {
        return Some(first);
    }
    present.find(|path| is_executable(path)).or(Some(first))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Returns the file to load and its arguments, with scripts replaced by their interpreters.
fn recordable(path: &Path, called: &[OsString]) -> Result<(PathBuf, Vec<OsString>), WorkloadError> {
    if !is_executable(path) {
        return Err(WorkloadError::NotExecutable(path.to_owned()));
    }
    let unreadable = |(file, source): (PathBuf, std::io::Error)| match source.kind() {
        std::io::ErrorKind::NotFound if file != path => {
            WorkloadError::InterpreterMissing { script: path.to_owned(), interpreter: file }
        }
        _ => WorkloadError::io("reading", file)(source),
    };
    let (file, kind, called) = program::resolve(path, called).map_err(unreadable)?;
    match kind {
        ExecutableKind::X86_64 => Ok((file, called)),
        ExecutableKind::OtherMachine(machine) => Err(WorkloadError::OtherMachine { path: file, machine }),
        ExecutableKind::Script { .. } | ExecutableKind::Unknown => Err(WorkloadError::NotAProgram(file)),
    }
}

/// Requests the version of QEMU, and refuses one that the recorder was not made for.
fn qemu_version(qemu: &Path) -> Result<String, WorkloadError> {
    let said = match Command::new(qemu).arg("--version").output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(WorkloadError::QemuMissing(qemu.to_owned()));
        }
        other => other.map_err(WorkloadError::io("starting", qemu))?.stdout,
    };
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().next().unwrap_or_default();
    let version = first.strip_prefix("qemu-x86_64 version ").and_then(|rest| rest.split_whitespace().next());
    let major = version.and_then(|version| version.split('.').next()?.parse().ok());
    match (version, major) {
        (Some(version), Some(major)) if QEMU_MAJORS.contains(&major) => Ok(version.to_owned()),
        _ => Err(WorkloadError::QemuVersion { path: qemu.to_owned(), found: format!("'{first}'") }),
    }
}

/// Bytes of host memory that QEMU needs for each page of a mapping, touched or not. Up to version 7 it keeps a word of
/// state and two more words per page. Version 8 keeps one record per mapping.
fn host_bytes_per_page(version: &str) -> u32 {
    if version.starts_with("7.") { 24 } else { 0 }
}

/// A file name that no other recording of this machine has.
fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("casemate-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
