//! Follows `execve`: the recorder starts the new program under QEMU and the recorder again, in place of the old one.
//!
//! Without this module, QEMU would pass an executable for the host's architecture to the kernel, and the program would
//! run unrecorded.

use crate::process_writes::process_of;
use crate::qemu::{guest, guest_base};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wire::launch;
use wire::program::{self, ExecutableKind};

/// Most arguments that the recorder copies. The kernel itself limits their bytes.
const ARGUMENTS: usize = 1 << 20;
/// Most links that are followed, as in the kernel.
const LINKS: usize = 40;

/// A program that is about to replace this one.
pub struct QemuCommand {
    qemu: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

/// Outcome of an `execve`, predicted from its arguments.
pub enum ExecOutcome {
    /// The call fails, and the program continues.
    Fails,
    /// The call starts a program that cannot be recorded.
    Native,
    /// The call starts a program that can be recorded.
    Recorded(QemuCommand),
}

/// Predicts the outcome of an `execve` from its arguments.
pub fn examine(ring: &OsStr, from: u32, arguments: &[u64; 6]) -> ExecOutcome {
    let path = guest_path(arguments[0]);
    let called: Vec<OsString> =
        guest_strings(arguments[1]).into_iter().map(|text| OsString::from_vec(text.into_bytes())).collect();
    let Ok((path, ExecutableKind::X86_64, called)) = program::resolve(&path, &called) else {
        return if path.exists() { ExecOutcome::Native } else { ExecOutcome::Fails };
    };
    if !is_executable(&path) {
        return ExecOutcome::Fails;
    }
    let (Ok(qemu), Some(recorder)) = (std::fs::read_link("/proc/self/exe"), own_path()) else {
        return ExecOutcome::Native;
    };
    let command = launch::arguments(&recorder, ring, Some(from), &path, &called);
    let command = std::iter::once(qemu.as_os_str().to_owned()).chain(command);
    let command: Result<Vec<CString>, _> = command.map(|word| CString::new(word.into_vec())).collect();
    match (CString::new(qemu.into_os_string().into_vec()), command) {
        (Ok(qemu), Ok(command)) => {
            ExecOutcome::Recorded(QemuCommand { qemu, arguments: command, environment: guest_strings(arguments[2]) })
        }
        _ => ExecOutcome::Native,
    }
}

impl QemuCommand {
    /// Starts the new program. Returns only if the start failed.
    pub fn start(&self) {
        let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
            strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
        };
        let (arguments, environment) = (pointers(&self.arguments), pointers(&self.environment));
        // SAFETY: all pointers are to strings that live in `self`, and both lists end with a null pointer.
        unsafe { libc::execve(self.qemu.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    }
}

/// Returns the path of the program that a call names. An entry `exe` of `/proc` is QEMU for the kernel, and the program
/// of that process for the program.
fn guest_path(address: u64) -> PathBuf {
    let path = PathBuf::from(OsString::from_vec(guest_string(address).into_bytes()));
    process_behind(&path).and_then(program_of).unwrap_or(path)
}

/// Returns the process whose entry `exe` of `/proc` a path names, through links or from inside of `/proc`, if the entry
/// is this QEMU. The path of QEMU's own file names QEMU.
fn process_behind(path: &Path) -> Option<u32> {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    file(path).filter(|found| Some(*found) == file(Path::new("/proc/self/exe")))?;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = std::fs::canonicalize(folder).ok()?;
        path = folder.join(path.file_name()?);
        if let Some(process) = process_of(&path, "exe") {
            return Some(process);
        }
        path = folder.join(std::fs::read_link(&path).ok()?);
    }
    None
}

/// Returns the program that a recorded process executes.
fn program_of(process: u32) -> Option<PathBuf> {
    launch::program_of(&std::fs::read(format!("/proc/{process}/cmdline")).ok()?)
}

fn guest_string(address: u64) -> CString {
    if address == 0 {
        return CString::default();
    }
    // SAFETY: the program passes this string to the kernel in the current call.
    unsafe { CStr::from_ptr((guest_base + address as usize) as *const libc::c_char) }.to_owned()
}

fn guest_strings(list: u64) -> Vec<CString> {
    if list == 0 {
        return Vec::new();
    }
    // SAFETY: the program passes this list, which ends with a null pointer, to the kernel in the current call.
    let pointers = (0..ARGUMENTS).map(|n| unsafe { guest::<u64>(list + 8 * n as u64) });
    pointers.take_while(|address| *address != 0).map(guest_string).collect()
}

fn is_executable(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: `path` is a valid C string.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

/// Returns the path of the file from which this code was loaded.
fn own_path() -> Option<PathBuf> {
    // SAFETY: all-zero is a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` accepts any address, and `info` is ours to write.
    let found = unsafe { libc::dladdr(own_path as fn() -> Option<PathBuf> as *const libc::c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: `dladdr` found a name, and the dynamic linker keeps it.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
