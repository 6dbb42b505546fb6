//! A file that gets its name only when it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

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

/// A file that is being written, with `.partial` after its name. Dropping an unfinished file deletes it.
pub(crate) struct WholeFile {
    /// Path as the user gave it.
    requested: PathBuf,
    /// Path after following links.
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    finished: bool,
}

/// The file that a path names after following links, and its name until it is complete.
fn names_of(path: &Path) -> (PathBuf, PathBuf) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = path.with_file_name(name);
    (path, partial)
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
        let (leads_to, partial) = names_of(path);
        let file = BufWriter::new(File::create(&partial).map_err(Unwritten::as_path(path))?);
        Ok(WholeFile { requested: path.to_owned(), path: leads_to, partial, file, finished: false })
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
    pub fn finish(mut self) -> Result<(), Unwritten> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        let rights = self.path.metadata().map(|there| there.permissions());
        let synced = synced.and_then(|()| rights.map_or(Ok(()), |rights| self.file.get_ref().set_permissions(rights)));
        synced.map_err(Unwritten::as_path(&self.requested))?;
        std::fs::rename(&self.partial, &self.path).map_err(Unwritten::as_path(&self.requested))?;
        self.finished = true;
        Ok(())
    }

    /// For `map_err`: the error that this file cannot be written.
    pub fn unwritten(&self) -> impl FnOnce(io::Error) -> Unwritten + use<> {
        Unwritten::as_path(&self.requested)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.finished {
            // If the removal fails, the `.partial` in its name still marks the file as unfinished.
            let _ = std::fs::remove_file(&self.partial);
        }
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
