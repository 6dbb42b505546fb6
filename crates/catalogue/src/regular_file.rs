//! Reads a user's file as a whole.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use units::{wide_text, without_mark};

/// The text of a regular file. The function refuses pipes and devices: a pipe may block where Ctrl-C does not end it, and a device has no
/// end.
///
/// # Errors
/// The error of the operating system, or a sentence for a file that is not regular, or not text in UTF-8.
pub fn read_regular(path: &Path) -> Result<String> {
    utf_8(&bytes_of(path)?)
}

/// The text of a regular file that a user edits: see [`edited_text`].
///
/// # Errors
/// The errors of [`read_regular`].
pub(crate) fn read_edited(path: &Path) -> Result<String> {
    edited_text(&bytes_of(path)?)
}

/// The text of a file with these bytes, without the byte order mark that some editors write at its beginning.
///
/// # Errors
/// A sentence for bytes that are not text in UTF-8.
pub fn edited_text(bytes: &[u8]) -> Result<String> {
    utf_8(without_mark(bytes))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    // Reading a folder fails with a clear error.
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe or a device: expected a regular file"));
    }
    std::fs::read(path)
}

fn utf_8(bytes: &[u8]) -> Result<String> {
    let refused = |found: String| Error::new(ErrorKind::InvalidData, found);
    if let Some(found) = wide_text(bytes) {
        return Err(refused(format!("it is {found}")));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(refused(format!("line {line} has bytes that are not UTF-8: expected text in UTF-8")))
        }
    }
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

    #[test]
    fn a_design_with_a_byte_order_mark_is_read_and_other_encodings_are_refused_by_name() {
        let path = std::env::temp_dir().join(format!("casemate-marks-{}.toml", std::process::id()));
        let text = crate::embedded::DESIGNS.iter().find(|(path, _)| path.ends_with("/xts.toml")).unwrap().1;
        let named = path.to_str().unwrap();
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        assert_eq!(design(named).unwrap().parts, design("xts").unwrap().parts);
        let wide: Vec<u8> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let latin = [text.as_bytes(), b"\n# caf\xe9"].concat();
        let last = text.matches('\n').count() + 2;
        for (bytes, expected) in [
            (wide, "it is text in UTF-16: convert it to UTF-8, with `iconv -f UTF-16 -t UTF-8`".to_owned()),
            (latin, format!("line {last} has bytes that are not UTF-8: expected text in UTF-8")),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(design(named).unwrap_err().to_string(), format!("{named}: {expected}"));
        }
        std::fs::remove_file(path).unwrap();
    }
}
