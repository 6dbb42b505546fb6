//! Writing what crosses the pins. The file bears its name only when it is whole.

use super::block::{Filling, flags_of};
use super::{BusError, BusTotals, Header, KIND_BLOCK, KIND_END, MAGIC, VERSION};
use protection::probe::Crossing;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use units::Time;
use zstd::bulk::Compressor;

/// The effort of zstd: beyond this the simulation waits for it.
const LEVEL: i32 = 1;

/// A file in the making, under its name with `.partial` at its end.
pub struct BusWriter {
    /// What it was asked for as.
    asked: PathBuf,
    /// Where that leads.
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    compressor: Compressor<'static>,
    filling: Filling,
    totals: BusTotals,
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

fn create(path: &Path) -> Result<(PathBuf, PathBuf, File), BusError> {
    let refused = |why: &str| BusError::Writing { path: path.to_owned(), why: why.to_owned() };
    match path.metadata() {
        Ok(there) if there.is_dir() => return Err(refused("it is a folder; expected the name of a file")),
        Ok(there) if !there.is_file() => {
            return Err(refused("it is a device or a pipe, and what crosses the pins goes to a file"));
        }
        _ => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(refused(&format!("there is no folder '{}'", folder.display())));
    }
    let (leads_to, partial) = names_of(path);
    let file = File::create(&partial).map_err(BusError::writing(path))?;
    Ok((leads_to, partial, file))
}

/// Whether a file can be begun there; it is not there afterwards.
pub(super) fn check_target(path: &Path) -> Result<(), BusError> {
    let (_, partial, _) = create(path)?;
    std::fs::remove_file(&partial).map_err(BusError::writing(path))
}

impl BusWriter {
    /// Begins a file with this description.
    pub(super) fn create(asked: &Path, header: &Header<'_>) -> Result<BusWriter, BusError> {
        let (path, partial, file) = create(asked)?;
        let compressor = Compressor::new(LEVEL).map_err(BusError::writing(asked))?;
        let mut writer = BusWriter {
            asked: asked.to_owned(),
            path,
            partial,
            file: BufWriter::new(file),
            compressor,
            filling: Filling::default(),
            totals: BusTotals::default(),
            finished: false,
        };
        let header = serde_json::to_vec(header).unwrap_or_default();
        let mut head = MAGIC.to_vec();
        for number in [VERSION, header.len() as u32, crc32fast::hash(&header)] {
            head.extend(number.to_le_bytes());
        }
        head.extend(header);
        writer.put(&head)?;
        // A disk that is full already is found out about now.
        writer.file.flush().map_err(BusError::writing(asked))?;
        Ok(writer)
    }

    /// Adds a crossing, no earlier than the one before.
    #[inline]
    pub fn write(&mut self, at: Time, crossing: &Crossing) -> Result<(), BusError> {
        let flags = flags_of(crossing);
        self.totals.add(at.as_fs(), flags);
        self.filling.add(at.as_fs(), crossing.line.0, flags, crossing.content);
        if self.filling.is_full() { self.store() } else { Ok(()) }
    }

    /// Adds the end record and gives the file its name.
    pub fn finish(mut self) -> Result<BusTotals, BusError> {
        if !self.filling.is_empty() {
            self.store()?;
        }
        let end = serde_json::to_vec(&self.totals).unwrap_or_default();
        self.put_record(KIND_END, &end, end.len())?;
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        // What was there keeps its rights.
        let rights = self.path.metadata().map(|there| there.permissions());
        let synced = synced.and_then(|()| rights.map_or(Ok(()), |rights| self.file.get_ref().set_permissions(rights)));
        synced.map_err(BusError::writing(&self.asked))?;
        std::fs::rename(&self.partial, &self.path).map_err(BusError::writing(&self.asked))?;
        self.finished = true;
        Ok(self.totals)
    }

    #[inline(never)]
    fn store(&mut self) -> Result<(), BusError> {
        let plain = self.filling.take();
        let stored = self.compressor.compress(&plain).map_err(BusError::writing(&self.asked))?;
        self.put_record(KIND_BLOCK, &stored, plain.len())
    }

    fn put_record(&mut self, kind: u8, stored: &[u8], plain_bytes: usize) -> Result<(), BusError> {
        let mut head = vec![kind];
        for number in [stored.len() as u32, plain_bytes as u32, crc32fast::hash(stored)] {
            head.extend(number.to_le_bytes());
        }
        self.put(&head)?;
        self.put(stored)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), BusError> {
        self.file.write_all(bytes).map_err(BusError::writing(&self.asked))
    }
}

impl Drop for BusWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Half a list is of no use; if it cannot be removed, its name still says what it is.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}
