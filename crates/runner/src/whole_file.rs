//! A file that bears its name only when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that cannot be written.
#[derive(Debug, Error)]
#[error("cannot write '{}': {why}", .path.display())]
pub struct Unwritten {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub why: String,
}

impl Unwritten {
    /// For `map_err`: this file cannot be written.
    fn as_path(path: &Path) -> impl FnOnce(io::Error) -> Unwritten + use<> {
        let path = path.to_owned();
        move |error| Unwritten { path, why: words_of(&error) }
    }
}

/// Whether a file can be begun at a path; it is not there afterwards.
///
/// # Errors
/// If none can be.
pub fn check_file(path: &Path) -> Result<(), Unwritten> {
    WholeFile::create(path).map(drop)
}

/// What the operating system says, without its number.
pub(crate) fn words_of(error: &io::Error) -> String {
    let said = error.to_string();
    said.split_once(" (os error").map_or(said.clone(), |(words, _)| words.to_owned())
}

/// A file in the making, under its name with `.partial` at its end. Half of one is of no use, and goes.
pub(crate) struct WholeFile {
    /// What it was asked for as.
    asked: PathBuf,
    /// Where that leads.
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    finished: bool,
}

/// The file that a path names, through links, and what it is called until it is whole.
fn names_of(path: &Path) -> (PathBuf, PathBuf) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = path.with_file_name(name);
    (path, partial)
}

impl WholeFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If none can be there.
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
        Ok(WholeFile { asked: path.to_owned(), path: leads_to, partial, file, finished: false })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Unwritten> {
        self.file.write_all(bytes).map_err(Unwritten::as_path(&self.asked))
    }

    /// Sends on what is there: a disk that is full already is found out about now.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn flush(&mut self) -> Result<(), Unwritten> {
        self.file.flush().map_err(Unwritten::as_path(&self.asked))
    }

    /// Gives the file its name, and the rights of what was there.
    ///
    /// # Errors
    /// If the rest of it does not fit, or it may not bear that name.
    pub fn finish(mut self) -> Result<(), Unwritten> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        let rights = self.path.metadata().map(|there| there.permissions());
        let synced = synced.and_then(|()| rights.map_or(Ok(()), |rights| self.file.get_ref().set_permissions(rights)));
        synced.map_err(Unwritten::as_path(&self.asked))?;
        std::fs::rename(&self.partial, &self.path).map_err(Unwritten::as_path(&self.asked))?;
        self.finished = true;
        Ok(())
    }

    /// For `map_err`: it cannot be written.
    pub fn unwritten(&self) -> impl FnOnce(io::Error) -> Unwritten + use<> {
        Unwritten::as_path(&self.asked)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.finished {
            // If it cannot be removed, its name still says what it is.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// The file of one of several simulations: the names that set it apart come before the suffix.
pub(crate) fn of_one(path: &Path, names: &[&str]) -> PathBuf {
    let suffix = path.extension().unwrap_or_default();
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    for part in names.iter().map(std::ffi::OsStr::new).chain((!suffix.is_empty()).then_some(suffix)) {
        name.push(".");
        name.push(part);
    }
    path.with_file_name(name)
}
