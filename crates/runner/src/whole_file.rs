//! A file of a run: checks of its path before the run, and errors that name it as the user did.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;
use workload::PartialFile;

/// A file that cannot be written.
#[derive(Debug, Error)]
#[error("cannot write '{}': {why}", .path.display())]
pub struct Unwritten {
    /// Path of the file.
    pub path: PathBuf,
    /// The reason, in words.
    pub why: String,
}

impl Unwritten {
    /// For `map_err`: the error that this file cannot be written.
    fn as_path(path: &Path) -> impl FnOnce(io::Error) -> Unwritten + use<> {
        let path = path.to_owned();
        move |error| Unwritten { path, why: words_of(&error) }
    }
}

/// Checks that a file can be created at a path, and removes it again.
///
/// # Errors
/// [`Unwritten`] if it cannot be created.
pub fn check_file(path: &Path) -> Result<(), Unwritten> {
    WholeFile::create(path).map(drop)
}

/// The message of the operating system, without its number.
pub(crate) fn words_of(error: &io::Error) -> String {
    let said = error.to_string();
    said.split_once(" (os error").map_or(said.clone(), |(words, _)| words.to_owned())
}

/// A file that is being written. It gets its name when it is complete.
pub(crate) struct WholeFile {
    /// Path as the user gave it.
    requested: PathBuf,
    file: PartialFile,
}

impl WholeFile {
    /// Creates the file under its temporary name.
    ///
    /// # Errors
    /// [`Unwritten`] if no file can be at this path.
    pub fn create(path: &Path) -> Result<WholeFile, Unwritten> {
        let refused = |why: &str| Unwritten { path: path.to_owned(), why: why.to_owned() };
        match path.metadata() {
            Ok(there) if there.is_dir() => return Err(refused("it is a folder; expected the name of a file")),
            Ok(there) if !there.is_file() => {
                return Err(refused("it is a device or a pipe; expected the name of a file"));
            }
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(refused(&format!("there is no folder '{}'", folder.display())));
        }
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let file = PartialFile::create(&target).map_err(Unwritten::as_path(path))?;
        Ok(WholeFile { requested: path.to_owned(), file })
    }

    /// Appends bytes to the file.
    ///
    /// # Errors
    /// [`Unwritten`] if the disk is full, or on another error.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Unwritten> {
        self.file.write_all(bytes).map_err(Unwritten::as_path(&self.requested))
    }

    /// Writes buffered bytes to the disk, so that an error such as a full disk is reported now.
    ///
    /// # Errors
    /// [`Unwritten`] if the disk is full, or on another error.
    pub fn flush(&mut self) -> Result<(), Unwritten> {
        self.file.flush().map_err(Unwritten::as_path(&self.requested))
    }

    /// Gives the file its name, and the permissions of the file that it replaces.
    ///
    /// # Errors
    /// [`Unwritten`] if the disk is full, or the file cannot be renamed.
    pub fn finish(self) -> Result<(), Unwritten> {
        self.file.finish().map_err(Unwritten::as_path(&self.requested))
    }

    /// For `map_err`: the error that this file cannot be written.
    pub fn unwritten(&self) -> impl FnOnce(io::Error) -> Unwritten + use<> {
        Unwritten::as_path(&self.requested)
    }
}

/// The path for one of several simulations: inserts the names that identify the simulation before the suffix.
pub(crate) fn of_one(path: &Path, names: &[&str]) -> PathBuf {
    let suffix = path.extension().unwrap_or_default();
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    for part in names.iter().map(std::ffi::OsStr::new).chain((!suffix.is_empty()).then_some(suffix)) {
        name.push(".");
        name.push(part);
    }
    path.with_file_name(name)
}
