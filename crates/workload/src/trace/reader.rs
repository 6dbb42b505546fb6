//! Reads a trace: a checksum covers every byte, and the totals in the end record must equal those of the content.

use super::codec::Codec;
use super::{
    KIND_BATCHES, KIND_END, MAGIC, PLAIN_BYTES_MAX, RECORD_HEADER_BYTES, Totals, TraceCounter, TraceEnd, VERSION,
    VERSIONS,
};
use crate::error::WorkloadError;
use crate::source::{Medium, Origin, Persistent, Source};
use crate::stream::Batch;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Bytes;

const HEADER_BYTES: usize = MAGIC.len() + 3 * 4;
/// Upper bound for the length of an origin's description.
const ORIGIN_BYTES_MAX: usize = 16 << 20;

/// A stored trace as a source.
pub struct TraceReader {
    path: PathBuf,
    file: BufReader<File>,
    origin: Origin,
    codec: Codec,
    counter: TraceCounter,
    /// Batches that are decoded and not handed out.
    decoded: VecDeque<Arc<Batch>>,
    /// Totals of the end record, if the trace has one.
    whole: Option<Totals>,
    ended: bool,
}

impl TraceReader {
    /// Opens a trace and checks that it is one.
    pub fn open(path: &Path) -> Result<TraceReader, WorkloadError> {
        let file = File::open(path).map_err(WorkloadError::io("opening", path))?;
        let mut file = BufReader::new(file);
        let foreign = || WorkloadError::NotATrace(path.to_owned());
        let head = read_up_to(&mut file, HEADER_BYTES, path)?;
        let (magic, numbers) = head.split_at_checked(MAGIC.len()).ok_or_else(foreign)?;
        if magic != MAGIC {
            return Err(foreign());
        }
        let [version, origin_bytes, checksum] = numbers_of(numbers).ok_or_else(|| truncated(path, 0))?;
        if !VERSIONS.contains(&version) {
            return Err(WorkloadError::TraceVersion { path: path.to_owned(), found: version, expected: VERSION });
        }
        let origin = read_up_to(&mut file, (origin_bytes as usize).min(ORIGIN_BYTES_MAX), path)?;
        if origin.len() < origin_bytes as usize {
            return Err(truncated(path, 0));
        }
        let origin: Option<Origin> =
            serde_json::from_slice(&origin).ok().filter(|_| crc32fast::hash(&origin) == checksum);
        let origin = origin.ok_or_else(|| damaged(path, 0, "the description before it does not match its checksum"))?;
        let end = find_end(&mut file).map_err(WorkloadError::io("reading", path))?;
        Ok(TraceReader {
            path: path.to_owned(),
            file,
            origin: Origin { medium: Medium::Stored, ..origin },
            codec: Codec::default(),
            counter: TraceCounter::default(),
            decoded: VecDeque::new(),
            whole: end.map(|end| end.totals),
            ended: false,
        })
    }

    /// Returns the same execution with another selection of persistent memory.
    #[must_use]
    pub fn persistent(mut self, persistent: Persistent) -> TraceReader {
        self.origin.persistent = persistent;
        self
    }

    /// Number of instructions, if the trace has an end record.
    pub fn length(&self) -> Option<u64> {
        self.whole.map(|whole| whole.instructions)
    }

    /// Totals of the records read so far; after the last batch, totals of the trace.
    pub fn totals(&self) -> Totals {
        self.counter.totals
    }

    /// Reads the next record: its kind, its bytes as stored, and its unpacked length.
    fn read_record(&mut self) -> Result<(u8, Vec<u8>, usize), WorkloadError> {
        let batch = self.totals().chunks;
        let head = read_up_to(&mut self.file, RECORD_HEADER_BYTES, &self.path)?;
        let (kind, numbers) = head.split_first().ok_or_else(|| truncated(&self.path, batch))?;
        let [stored_bytes, plain_bytes, checksum] = numbers_of(numbers).ok_or_else(|| truncated(&self.path, batch))?;
        if !matches!(*kind, KIND_BATCHES | KIND_END) || stored_bytes.max(plain_bytes) as usize > PLAIN_BYTES_MAX {
            return Err(damaged(&self.path, batch, "no record begins here"));
        }
        let stored = read_up_to(&mut self.file, stored_bytes as usize, &self.path)?;
        if stored.len() < stored_bytes as usize {
            return Err(truncated(&self.path, batch));
        }
        if crc32fast::hash(&stored) != checksum {
            return Err(damaged(&self.path, batch, "its checksum does not match"));
        }
        Ok((*kind, stored, plain_bytes as usize))
    }

    /// Reads the next record, which contains batches or the end.
    fn read_batches(&mut self) -> Result<(), WorkloadError> {
        let (kind, stored, plain_bytes) = self.read_record()?;
        let number = self.totals().chunks;
        if kind == KIND_END {
            let end: Option<TraceEnd> = serde_json::from_slice(&stored).ok();
            // An older trace does not contain the number of pages.
            let known = |end: &TraceEnd| if end.totals.pages == 0 { 0 } else { self.totals().pages };
            let end = end.filter(|end| end.totals == Totals { pages: known(end), ..self.totals() });
            let end = end.ok_or_else(|| damaged(&self.path, number, "the end record disagrees with the batches"))?;
            if !read_up_to(&mut self.file, 1, &self.path)?.is_empty() {
                return Err(damaged(&self.path, number, "the file continues after the end record"));
            }
            self.origin.finish = end.finish;
            self.ended = true;
            return Ok(());
        }
        let plain = zstd::bulk::decompress(&stored, plain_bytes).ok();
        let batches = plain.and_then(|plain| self.codec.decode(&plain));
        self.decoded = batches.ok_or_else(|| damaged(&self.path, number, "its content is not a batch"))?;
        Ok(())
    }
}

impl Source for TraceReader {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        if self.decoded.is_empty() && !self.ended {
            self.read_batches()?;
        }
        let next = self.decoded.pop_front();
        next.iter().for_each(|batch| self.counter.add(batch));
        Ok(next)
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn footprint(&self) -> Option<Bytes> {
        self.whole.and_then(|whole| whole.footprint())
    }
}

/// Reads the end record by its distance: skips the records before it and restores the file position. `None` if the
/// trace has no end record; a read up to that point reports the defect.
fn find_end(file: &mut BufReader<File>) -> io::Result<Option<TraceEnd>> {
    let start = file.stream_position()?;
    let mut head = [0; RECORD_HEADER_BYTES];
    let mut end = None;
    while file.read_exact(&mut head).is_ok()
        && let Some([stored_bytes, ..]) = numbers_of(&head[1..])
    {
        if head[0] == KIND_END {
            let mut text = Vec::new();
            file.take(stored_bytes.into()).read_to_end(&mut text)?;
            end = serde_json::from_slice(&text).ok();
            break;
        }
        file.seek_relative(stored_bytes.into())?;
    }
    file.seek(SeekFrom::Start(start))?;
    Ok(end)
}

/// Reads `count` bytes, or fewer at the end of the file.
fn read_up_to(file: &mut impl Read, count: usize, path: &Path) -> Result<Vec<u8>, WorkloadError> {
    let mut bytes = Vec::new();
    match file.take(count as u64).read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(WorkloadError::io("reading", path)(error)),
        _ => Ok(bytes),
    }
}

fn numbers_of(bytes: &[u8]) -> Option<[u32; 3]> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let numbers: [[u8; 4]; 3] = numbers.try_into().ok()?;
    rest.is_empty().then(|| numbers.map(u32::from_le_bytes))
}

fn truncated(path: &Path, batches: u64) -> WorkloadError {
    WorkloadError::TraceTruncated { path: path.to_owned(), batches }
}

fn damaged(path: &Path, batch: u64, found: &str) -> WorkloadError {
    WorkloadError::TraceDamaged { path: path.to_owned(), batch, found: found.to_owned() }
}
