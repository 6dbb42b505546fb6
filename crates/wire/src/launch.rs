//! Arguments of QEMU: the same for the first program and for every program that it executes in turn.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

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
/// Option of the recorder with the real path of the program's file. Other recorders read it in the command line of QEMU,
/// because `/proc/PID/exe` is QEMU.
pub const PROGRAM_OPTION: &str = "program=";

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
    plugin.push(",");
    plugin.push(PROGRAM_OPTION);
    plugin.push(escape_commas(std::fs::canonicalize(program).as_deref().unwrap_or(program).as_os_str()));
    let name = called.first().map_or(program.as_os_str(), OsString::as_os_str);
    let fixed = ["-cpu", CPU, "-seed", SEED, "-plugin"].map(OsString::from);
    fixed
        .into_iter()
        .chain([plugin, "-0".into(), name.to_owned(), program.as_os_str().to_owned()])
        .chain(called.iter().skip(1).cloned())
        .collect()
}

/// Returns the path of the program in a command line of QEMU, as [`arguments`] gives it.
pub fn program_of(command: &[u8]) -> Option<PathBuf> {
    let mut words = command.split(|byte| *byte == 0);
    words.find(|word| *word == b"-plugin")?;
    let mut plugin = words.next()?;
    let option = format!(",{PROGRAM_OPTION}");
    // A comma inside of a name is doubled, so an option begins after an odd number of commas.
    while let Some(at) = plugin.windows(option.len()).position(|part| part == option.as_bytes()) {
        let commas = plugin[..=at].iter().rev().take_while(|byte| **byte == b',').count();
        plugin = &plugin[at + option.len()..];
        if commas % 2 == 1 {
            return Some(PathBuf::from(unescape_commas(plugin)));
        }
    }
    None
}

/// Returns the text up to its first single comma, with its doubled commas as one.
fn unescape_commas(text: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let (mut plain, mut rest) = (Vec::new(), text.iter().peekable());
    while let Some(byte) = rest.next() {
        if *byte == b',' && rest.next_if(|next| **next == b',').is_none() {
            break;
        }
        plain.push(*byte);
    }
    OsString::from_vec(plain)
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
        let all = arguments(Path::new("/a,b.so"), OsStr::new("/r"), Some(3), Path::new("/bin/none,such"), &called);
        let all: Vec<_> = all.iter().map(|word| word.to_str().unwrap()).collect();
        let plugin = "/a,,b.so,ring=/r,from=3,program=/bin/none,,such";
        assert_eq!(all[4..], ["-plugin", plugin, "-0", "ls", "/bin/none,such", "-l"]);
    }

    #[test]
    fn the_command_line_of_qemu_names_the_program_for_other_recorders() {
        let program = |recorder: &str, program: &str| {
            let words = arguments(Path::new(recorder), OsStr::new("/r"), None, Path::new(program), &["x".into()]);
            let words = words.into_iter().flat_map(|word| [word.into_encoded_bytes(), vec![0]].concat());
            program_of(&[b"qemu\0".to_vec(), words.collect()].concat())
        };
        assert_eq!(program("/a.so", "/none/such,one"), Some(PathBuf::from("/none/such,one")));
        assert_eq!(program("/a,program=b.so", "/none/other"), Some(PathBuf::from("/none/other")));
        assert_eq!(program_of(b"qemu\0-cpu\0max\0/bin/true\0"), None);
    }
}
