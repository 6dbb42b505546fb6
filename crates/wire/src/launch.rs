//! Arguments of QEMU: the same for the first program and for every program that it executes in turn.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Processor that programs see. A C library chooses variants of its functions by the processor, so a reproducible run
/// must fix the processor.
pub const CPU: &str = "max";
/// Seed of the random bytes that the kernel would pass to a new program.
pub const SEED: &str = "1";
/// File name of the keeper of a recorded program. It is in the directory of the recorder. Its arguments are the number
/// of the calling process, a program, and that program's arguments.
pub const KEEPER: &str = "casemate-keeper";
/// Option of the recorder that names the ring.
pub const RING_OPTION: &str = "ring=";
/// Option of the recorder that names the image that executed this program.
pub const FROM_OPTION: &str = "from=";

/// Returns QEMU's arguments for running `program` under the recorder. `called` has the program's name and arguments.
pub fn arguments(
    recorder: &Path,
    ring: &OsStr,
    from: Option<u32>,
    program: &Path,
    called: &[OsString],
) -> Vec<OsString> {
    let mut plugin = escape_commas(recorder.as_os_str());
    plugin.push(",");
    plugin.push(RING_OPTION);
    plugin.push(ring);
    if let Some(image) = from {
        plugin.push(format!(",{FROM_OPTION}{image}"));
    }
    let name = called.first().map_or(program.as_os_str(), OsString::as_os_str);
    let fixed = ["-cpu", CPU, "-seed", SEED, "-plugin"].map(OsString::from);
    fixed
        .into_iter()
        .chain([plugin, "-0".into(), name.to_owned(), program.as_os_str().to_owned()])
        .chain(called.iter().skip(1).cloned())
        .collect()
}

/// Doubles all commas. QEMU separates options by commas, and reads a doubled comma as one comma of the text.
fn escape_commas(text: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let doubled = text.as_bytes().iter().flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b',')));
    OsString::from_vec(doubled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_program_receives_the_name_that_it_was_called_by() {
        let called: [OsString; 2] = ["ls".into(), "-l".into()];
        let all = arguments(Path::new("/a,b.so"), OsStr::new("/r"), Some(3), Path::new("/bin/busybox"), &called);
        let all: Vec<_> = all.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(all[4..], ["-plugin", "/a,,b.so,ring=/r,from=3", "-0", "ls", "/bin/busybox", "-l"]);
    }
}
