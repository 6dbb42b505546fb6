//! What crossed the pins of memory in a run, as a file. The layout is in `docs/BUS_FORMAT.md`.
//!
//! A run writes it as it goes, block by block, so that memory for it is bounded; the file bears its name only when it is
//! whole. A reader gets columns, block by block.

mod block;
mod reader;
mod recorder;
mod writer;

pub use block::{Block, CONTENT_BYTES, NO_BURST, WITH_CONTENT, WRITE};
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

/// The first bytes of every such file.
const MAGIC: [u8; 8] = *b"CASEMBUS";
/// The version that is written and read.
const VERSION: u32 = 1;
/// What a record is.
const KIND_BLOCK: u8 = 1;
const KIND_END: u8 = 2;
/// A record's own header: kind, stored bytes, plain bytes, checksum of the stored bytes.
const RECORD_HEADER_BYTES: usize = 1 + 4 + 4 + 4;
/// More than any block or description takes; what claims more is damaged.
const PLAIN_BYTES_MAX: usize = 64 << 20;

/// Where to write what crosses the pins of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusOptions {
    /// The file.
    pub path: PathBuf,
    /// Whether the bytes are written, too.
    pub bytes: bool,
}

impl BusOptions {
    /// The same for one of several simulations: the names that set it apart come before the file's suffix.
    pub fn of_one(&self, names: &[&str]) -> BusOptions {
        BusOptions { path: of_one(&self.path, names), ..*self }
    }
}

/// What a file is about.
#[derive(Clone, Debug, Serialize)]
struct Header<'a> {
    /// All that decides the run; its budget is what was asked for, however the run ended.
    configuration: &'a Configuration,
    /// Whether the bytes are there.
    bytes: bool,
    /// How slots lie on lines.
    shape: HeaderShape,
}

/// [`Shape`] as a header has it.
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

/// What a file holds, as its end record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BusTotals {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Reads, of these, that memory's controller answered from its queue of writes.
    pub forwarded: u64,
    /// Writes, of these, that replaced one in that queue.
    pub merged: u64,
    /// The time of the last, in femtoseconds.
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

/// Why there is no such file, or none to be read.
#[derive(Debug, Error)]
pub enum BusError {
    /// It cannot be written.
    #[error(transparent)]
    Writing(#[from] Unwritten),
    /// A sampled run has no complete list.
    #[error(
        "a sampled run does not write what crosses the pins (--bus): between its windows nothing does; run it with every instruction in detail"
    )]
    Sampled,
    /// It cannot be read.
    #[error("cannot read '{}': {why}", .path.display())]
    Reading {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// It is something else.
    #[error("'{}' is not a bus file of Casemate's: expected one that `casemate run --bus` has written", .0.display())]
    Foreign(PathBuf),
    /// It is of another version.
    #[error("'{}' is a bus file of version {found}; this Casemate reads version {expected}", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// It stops early.
    #[error("'{}' is truncated: it ends after {blocks} blocks without an end record", .path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How many blocks are whole.
        blocks: u64,
    },
    /// It has changed since it was written.
    #[error("'{}' is damaged at block {block}: {found}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which block, counted from zero.
        block: u64,
        /// What is wrong.
        found: &'static str,
    },
}

impl BusError {
    /// For `map_err`: this file cannot be read.
    fn reading(path: &Path) -> impl FnOnce(io::Error) -> BusError {
        let path = path.to_owned();
        move |error| BusError::Reading { path, why: words_of(&error) }
    }
}

/// Whether a run can write what it is to write of its pins, as far as it is known before it runs. Nothing is left behind.
///
/// # Errors
/// [`BusError::Sampled`] and [`BusError::Writing`].
pub fn check_bus(bus: &BusOptions, detail: Detail) -> Result<(), BusError> {
    if matches!(detail, Detail::Sampled(_)) {
        return Err(BusError::Sampled);
    }
    Ok(check_file(&bus.path)?)
}

#[cfg(test)]
mod tests;
