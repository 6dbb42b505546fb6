//! Follows writes of the program to `/proc/PID/mem`, which the kernel makes into the memory of its own process or of
//! another one. Debuggers and compilers that run their own code write so. (QEMU refuses `process_vm_writev`.)

use crate::objects::ObjectChange;
use crate::qemu::guest_base;
use libc::c_int;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

/// Number of the device of `/proc`.
static PROC_DEVICE: LazyLock<Option<u64>> = LazyLock::new(|| Some(std::fs::metadata("/proc").ok()?.dev()));

/// Memory of a process that a system call has written.
pub struct ProcessWrite {
    /// Number of the process on the host.
    pub pid: u32,
    /// Addresses that were written.
    pub addresses: Range<u64>,
}

/// Returns the memory of a process that a system call has written, if the written file is that memory.
pub fn written(change: &ObjectChange) -> Option<ProcessWrite> {
    let ObjectChange::Written(file, bytes) = change else { return None };
    // SAFETY: QEMU fixes the base before any code of the program runs.
    let base = unsafe { guest_base } as u64;
    let addresses = bytes.start.saturating_sub(base)..bytes.end.saturating_sub(base);
    Some(ProcessWrite { pid: process_behind(*file)?, addresses })
}

/// Returns the process with this open file as its memory, if the file is `/proc/PID/mem`.
fn process_behind(file: c_int) -> Option<u32> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `fstat` accepts any descriptor, and `stat` is ours to write.
    let is_in_proc = unsafe { libc::fstat(file, &mut stat) } == 0 && Some(stat.st_dev) == *PROC_DEVICE;
    if !is_in_proc {
        return None;
    }
    process_of(&std::fs::read_link(format!("/proc/self/fd/{file}")).ok()?, "mem")
}

/// Returns the number of the process with this entry of `/proc`: `/proc/PID/ENTRY`, or that of one of its threads.
pub fn process_of(path: &Path, entry: &str) -> Option<u32> {
    number_in(path, entry).map(leader_of)
}

/// Returns the process of a thread; a number that is no thread's is returned as it is. `/proc/TID` exists for each thread.
fn leader_of(thread: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}

fn number_in(path: &Path, entry: &str) -> Option<u32> {
    let mut parts = path.strip_prefix("/proc").ok()?.iter();
    let pid = parts.next()?.to_str()?.parse().ok()?;
    let rest: Vec<&str> = parts.filter_map(|part| part.to_str()).collect();
    match rest[..] {
        [last] if last == entry => Some(pid),
        ["task", _, last] if last == entry => Some(pid),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_proc_names_its_process() {
        let process = |path| number_in(Path::new(path), "mem");
        assert_eq!(process("/proc/12/mem"), Some(12));
        assert_eq!(process("/proc/12/task/13/mem"), Some(12));
        for other in ["/proc/12/exe", "/proc/self/mem", "/tmp/proc/12/mem", "/proc/12", "/proc/12/fd/mem"] {
            assert_eq!(process(other), None, "{other}");
        }
    }

    #[test]
    fn the_memory_of_a_thread_is_that_of_its_process() {
        // SAFETY: the call has no argument.
        let number = || unsafe { libc::gettid() } as u32;
        let threads = std::thread::spawn(move || (number(), leader_of(number()))).join().unwrap();
        assert_ne!(threads.0, std::process::id());
        assert_eq!(threads.1, std::process::id());
        assert_eq!(leader_of(u32::MAX), u32::MAX);
    }

    #[test]
    fn only_an_open_file_of_the_memory_of_a_process_names_a_process() {
        use std::os::fd::AsRawFd;
        let open = |path: &str| std::fs::File::open(path).unwrap();
        let (memory, other, file) = (open("/proc/self/mem"), open("/proc/self/maps"), open("/dev/null"));
        assert_eq!(process_behind(memory.as_raw_fd()), Some(std::process::id()));
        assert_eq!([other, file].map(|file| process_behind(file.as_raw_fd())), [None, None]);
    }
}
