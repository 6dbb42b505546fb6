//! Identifies the kind of a program file, and so whether it can be recorded.
//!
//! Both sides use this module: the simulator before it starts a program, and the recorder when the program executes
//! another program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Kind of a program file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecutableKind {
    /// A 64-bit x86 program for Linux: the only kind that the recorder records.
    X86_64,
    /// An ELF file of another machine, or of 32 bits, with the machine's name by its `e_machine`.
    OtherMachine(&'static str),
    /// A text file that names its interpreter in its first line, and perhaps one argument for it.
    Script {
        /// Path of the interpreter.
        interpreter: PathBuf,
        /// Remaining text of the line.
        argument: Option<OsString>,
    },
    /// A file of another kind.
    Unknown,
}

/// Largest depth of scripts that have scripts as interpreters, as in the kernel.
const SCRIPT_DEPTH: usize = 4;
const HEAD_BYTES: u64 = 256;

/// Identifies a file by its first bytes.
pub fn identify(path: &Path) -> std::io::Result<ExecutableKind> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(match head.as_slice() {
        [0x7f, b'E', b'L', b'F', class, endian, ..] if head.len() >= 20 => identify_elf(*class, *endian, &head),
        [b'#', b'!', rest @ ..] => identify_script(rest),
        _ => ExecutableKind::Unknown,
    })
}

fn identify_elf(class: u8, endian: u8, head: &[u8]) -> ExecutableKind {
    let machine = if endian == 2 { [head[19], head[18]] } else { [head[18], head[19]] };
    match (u16::from_le_bytes(machine), class) {
        (62, 2) => ExecutableKind::X86_64,
        (62, _) => ExecutableKind::OtherMachine("x32"),
        (3, _) => ExecutableKind::OtherMachine("32-bit x86"),
        (40, _) => ExecutableKind::OtherMachine("32-bit Arm"),
        (183, _) => ExecutableKind::OtherMachine("AArch64"),
        (243, _) => ExecutableKind::OtherMachine("RISC-V"),
        (20 | 21, _) => ExecutableKind::OtherMachine("PowerPC"),
        (22, _) => ExecutableKind::OtherMachine("s390"),
        _ => ExecutableKind::OtherMachine("an unknown machine"),
    }
}

fn identify_script(rest: &[u8]) -> ExecutableKind {
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let (interpreter, argument) = match line.iter().position(u8::is_ascii_whitespace) {
        Some(end) => (&line[..end], Some(line[end..].trim_ascii())),
        None => (line, None),
    };
    if interpreter.is_empty() {
        return ExecutableKind::Unknown;
    }
    ExecutableKind::Script {
        interpreter: PathBuf::from(OsStr::from_bytes(interpreter)),
        argument: argument.map(|text| OsStr::from_bytes(text).to_owned()),
    }
}

/// Replaces scripts by their interpreters until a file is no script.
///
/// Returns that file, its kind, and the arguments to call it with. The first of them is the name of the program.
///
/// # Errors
/// Returns the file that cannot be read, the first or an interpreter, and the reason.
pub fn resolve(
    path: &Path,
    arguments: &[OsString],
) -> Result<(PathBuf, ExecutableKind, Vec<OsString>), (PathBuf, std::io::Error)> {
    let identify = |path: &Path| identify(path).map_err(|error| (path.to_owned(), error));
    let mut path = path.to_owned();
    let mut arguments = arguments.to_vec();
    for _ in 0..SCRIPT_DEPTH {
        let ExecutableKind::Script { interpreter, argument } = identify(&path)? else {
            break;
        };
        let mut called = vec![interpreter.clone().into_os_string()];
        called.extend(argument);
        called.push(path.into_os_string());
        called.extend(arguments.into_iter().skip(1));
        (path, arguments) = (interpreter, called);
    }
    let program = identify(&path)?;
    Ok((path, program, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_program_is_identified_by_its_architecture() {
        let found = identify(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(found == ExecutableKind::X86_64, cfg!(target_arch = "x86_64"));
    }

    #[test]
    fn a_script_is_called_through_its_interpreter() {
        let path = std::env::temp_dir().join(format!("casemate-script-{}", std::process::id()));
        std::fs::write(&path, "#! /bin/sh -e\nexit 0\n").unwrap();
        let (program, _, arguments) = resolve(&path, &["s".into(), "one".into()]).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(program, Path::new("/bin/sh"));
        let expected: [OsString; 4] = ["/bin/sh".into(), "-e".into(), path.into(), "one".into()];
        assert_eq!(arguments, expected);
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let path = std::env::temp_dir().join(format!("casemate-script-without-{}", std::process::id()));
        std::fs::write(&path, "#!/no/such/interpreter -e\n").unwrap();
        let (file, error) = resolve(&path, &["s".into()]).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((file.as_path(), error.kind()), (Path::new("/no/such/interpreter"), std::io::ErrorKind::NotFound));
    }

    #[test]
    fn a_program_for_another_architecture_is_named() {
        let mut head = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 183, 0];
        assert_eq!(identify_elf(2, 1, &head), ExecutableKind::OtherMachine("AArch64"));
        head[18] = 62;
        assert_eq!(identify_elf(2, 1, &head), ExecutableKind::X86_64);
    }
}
