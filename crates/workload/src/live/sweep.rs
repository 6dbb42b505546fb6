//! Ends the orphans of a run that was killed together with its keeper: processes that write to a ring without a reader.
//!
//! An orphan that runs detects the missing simulator when its ring is full. At the start of the next run, this module
//! finds the sleeping ones by the path of their ring in the arguments of QEMU.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use wire::launch::RING_OPTION;
use wire::{process, ring};

/// Ends all orphans in the process namespace of the caller.
pub fn end_orphans() {
    let Ok(ours) = namespace("self") else { return };
    for pid in process::all() {
        let Ok(arguments) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
        // Another container uses the same process numbers for other processes.
        if writes_to_nowhere(&arguments) && namespace(&pid.to_string()).is_ok_and(|theirs| theirs == ours) {
            process::kill(pid);
        }
    }
}

fn namespace(process: &str) -> std::io::Result<std::path::PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/pid"))
}

/// True if these are the arguments of a recorded program, and its ring no longer exists.
fn writes_to_nowhere(arguments: &[u8]) -> bool {
    let mut words = arguments.split(|byte| *byte == 0).skip_while(|word| *word != b"-plugin").skip(1);
    let ring = words.next().and_then(|plugin| ring_of(plugin));
    ring.is_some_and(|path| match fs::read_link(path) {
        Ok(found) => !contains(found.as_os_str().as_bytes(), ring::LABEL.to_bytes()),
        Err(error) => error.kind() == ErrorKind::NotFound,
    })
}

/// Returns the path of the ring from the recorder's options.
fn ring_of(plugin: &[u8]) -> Option<&Path> {
    let mut options = plugin.split(|byte| *byte == b',').filter_map(|word| word.strip_prefix(RING_OPTION.as_bytes()));
    let path = options.next_back()?;
    path.starts_with(b"/proc/").then(|| Path::new(std::ffi::OsStr::from_bytes(path)))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use wire::launch;

    fn arguments(ring: &Path) -> Vec<u8> {
        let called = ["true".into()];
        let words = launch::arguments(Path::new("/r.so"), ring.as_os_str(), Some(2), Path::new("/bin/true"), &called);
        words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect()
    }

    #[test]
    fn only_a_recorded_program_whose_ring_no_longer_exists_is_swept() {
        let ring = ring::Ring::create(ring::RecordingSettings::default()).unwrap();
        assert!(!writes_to_nowhere(&arguments(&ring.path().unwrap())));
        assert!(writes_to_nowhere(&arguments(&PathBuf::from("/proc/0/fd/3"))));
        // Another process may have the number of a process that has ended, and have another file open.
        let other = fs::File::open("/dev/null").unwrap();
        use std::os::fd::AsRawFd;
        let path = format!("/proc/{}/fd/{}", std::process::id(), other.as_raw_fd());
        assert!(writes_to_nowhere(&arguments(Path::new(&path))));
        assert!(!writes_to_nowhere(b"/usr/bin/qemu-x86_64\0-plugin\0other.so,file=/proc/0/fd/3\0true\0"));
        assert!(!writes_to_nowhere(b"cat\0ring=/proc/0/fd/3\0"));
    }
}
