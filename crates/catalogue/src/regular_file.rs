//! Reads a user's file as a whole.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// The text of a regular file. The function refuses pipes and devices: a pipe may block where Ctrl-C does not end it, and a device has no
/// end.
///
/// # Errors
/// The error of the operating system, or a sentence for a file that is not regular.
pub fn read_regular(path: &Path) -> Result<String> {
    // Reading a folder fails with a clear error.
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe or a device: expected a regular file"));
    }
    std::fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use crate::{design, machine};

    #[test]
    fn a_device_file_is_refused_as_design_or_machine_without_reading_it() {
        let folder = std::env::temp_dir().join(format!("casemate-devices-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("zero.toml");
        // Reading this device would never end.
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let path = path.to_str().unwrap();
        let expected = format!("{path}: it is a pipe or a device: expected a regular file");
        assert_eq!(design(path).unwrap_err().to_string(), expected);
        assert_eq!(machine(path).unwrap_err().to_string(), expected);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
