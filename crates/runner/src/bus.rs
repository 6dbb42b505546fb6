//! A file of the lines that cross the pins of memory in a run. `docs/BUS_FORMAT.md` describes the layout.
//!
//! A run writes the file block by block, so it needs a bounded amount of host memory. The file gets its name only when
//! it is complete. A reader receives the columns of one block at a time.

mod block;
mod reader;
mod recorder;
mod writer;

pub use block::{BusBlock, CONTENT_BYTES, NO_BURST, WITH_CONTENT, WRITE};
pub use reader::BusReader;
pub(crate) use recorder::BusRecorder;
pub use writer::BusWriter;

use crate::record::Configuration;
use crate::sampling::Detail;
use crate::whole_file::{Unwritten, check_file, of_one, words_of};
use protection::media::Shape;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// First bytes of every bus file.
const MAGIC: [u8; 8] = *b"CASEMBUS";
/// Version of the format that this code writes and reads.
const VERSION: u32 = 1;
/// Kind of a record: a block or the end record.
const KIND_BLOCK: u8 = 1;
const KIND_END: u8 = 2;
/// Header of a record: kind, stored bytes, plain bytes, checksum of the stored bytes.
const RECORD_HEADER_BYTES: usize = 1 + 4 + 4 + 4;
/// Upper limit of the size of a block or description; a record with a larger size is damaged.
const PLAIN_BYTES_MAX: usize = 64 << 20;

/// Options for the file of the lines that cross the pins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusOptions {
    /// Path of the file.
    pub path: PathBuf,
    /// True to write the bytes of each line as well.
    pub bytes: bool,
}

impl BusOptions {
    /// Returns the options for one of several simulations: inserts `names`, which identify the simulation, before the
    /// suffix of the file name.
    pub fn of_one(&self, names: &[&str]) -> BusOptions {
        BusOptions { path: of_one(&self.path, names), ..*self }
    }
}

/// Description at the start of a file.
#[derive(Clone, Debug, Serialize)]
struct BusHeader<'a> {
    /// All inputs that determine the run. The budget is the requested number of instructions, even if the run ended
    /// early.
    configuration: &'a Configuration,
    /// True if the file contains the bytes of lines.
    bytes: bool,
    /// Layout of memory slots, as numbers of lines.
    shape: HeaderShape,
}

/// [`Shape`] as stored in a header.
#[derive(Clone, Copy, Debug, Serialize)]
struct HeaderShape {
    slots: u64,
    data: u64,
    behind: u64,
}

impl From<Shape> for HeaderShape {
    fn from(Shape { slots, data, behind, .. }: Shape) -> HeaderShape {
        HeaderShape { slots, data, behind }
    }
}

/// Totals of a file, as stored in its end record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BusTotals {
    /// Number of reads in the file.
    pub reads: u64,
    /// Number of writes in the file.
    pub writes: u64,
    /// Number of these reads that the memory controller answered from its write queue.
    pub forwarded: u64,
    /// Number of these writes that replaced an earlier write in the write queue.
    pub merged: u64,
    /// Time of the last crossing, in femtoseconds.
    pub last_fs: u64,
}

impl BusTotals {
    fn add(&mut self, at_fs: u64, flags: u8) {
        let (all, without_burst) = match flags & WRITE {
            0 => (&mut self.reads, &mut self.forwarded),
            _ => (&mut self.writes, &mut self.merged),
        };
        *all += 1;
        *without_burst += u64::from(flags & NO_BURST != 0);
        self.last_fs = at_fs;
    }
}

/// A reason why the file cannot be written or read.
#[derive(Debug, Error)]
pub enum BusError {
    /// The file cannot be written.
    #[error(transparent)]
    Writing(#[from] Unwritten),
    /// A sampled run has no complete list of crossings.
    #[error(
        "a sampled run does not write the lines at the pins (--bus): between its windows no line crosses them; run it with every instruction in detail"
    )]
    Sampled,
    /// The file cannot be read.
    #[error("cannot read '{}': {why}", .path.display())]
    Reading {
        /// Path of the file.
        path: PathBuf,
        /// The reason, in words.
        why: String,
    },
    /// The file is not a bus file.
    #[error("'{}' is not a bus file of Casemate: expected one that `casemate run --bus` has written", .0.display())]
    Foreign(PathBuf),
    /// The file has another version.
    #[error("'{}' is a bus file of version {found}; this Casemate reads version {expected}", .path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        found: u32,
        /// Version of this code.
        expected: u32,
    },
    /// The file stops before its end record.
    #[error("'{}' is truncated: it ends after {blocks} blocks without an end record", .path.display())]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// Number of complete blocks.
        blocks: u64,
    },
    /// The file has changed since it was written.
    #[error("'{}' is damaged at block {block}: {found}", .path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Index of the damaged block, from zero.
        block: u64,
        /// The inconsistency, in words.
        found: &'static str,
    },
}

impl BusError {
    /// For `map_err`: the error that this file cannot be read.
    fn reading(path: &Path) -> impl FnOnce(io::Error) -> BusError {
        let path = path.to_owned();
        move |error| BusError::Reading { path, why: words_of(&error) }
    }
}

/// Checks all conditions for writing the file of the pins that are known before the run. Leaves no file behind.
///
/// # Errors
/// [`BusError::Sampled`] for a sampled run, and [`BusError::Writing`] if no file can be created.
pub fn check_bus(bus: &BusOptions, detail: Detail) -> Result<(), BusError> {
    if matches!(detail, Detail::Sampled(_)) {
        return Err(BusError::Sampled);
    }
    Ok(check_file(&bus.path)?)
}

#[cfg(test)]
mod tests;
