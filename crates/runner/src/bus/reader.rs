//! Reads a file of crossings. A checksum covers every byte, and the totals in the end record must equal those of the
//! blocks.

use super::block::BusBlock;
use super::{BusError, BusTotals, KIND_BLOCK, KIND_END, MAGIC, PLAIN_BYTES_MAX, RECORD_HEADER_BYTES, VERSION};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

const HEADER_BYTES: usize = MAGIC.len() + 3 * 4;

/// Reader of a file of crossings, block by block.
pub struct BusReader {
    path: PathBuf,
    file: BufReader<File>,
    header: String,
    totals: BusTotals,
    blocks: u64,
    ended: bool,
}

impl BusReader {
    /// Opens a file, and checks its header.
    ///
    /// # Errors
    /// [`BusError`] for a file that is not a readable bus file.
    pub fn open(path: &Path) -> Result<BusReader, BusError> {
        let file = BufReader::new(File::open(path).map_err(BusError::reading(path))?);
        let mut reader = BusReader {
            path: path.to_owned(),
            file,
            header: String::new(),
            totals: BusTotals::default(),
            blocks: 0,
            ended: false,
        };
        let head = reader.up_to(HEADER_BYTES)?;
        let (magic, numbers) = head.split_at_checked(MAGIC.len()).ok_or_else(|| reader.foreign())?;
        if magic != MAGIC {
            return Err(reader.foreign());
        }
        let [found, length, checksum] = numbers_of(numbers).ok_or_else(|| reader.truncated())?;
        if found != VERSION {
            return Err(BusError::Version { path: path.to_owned(), found, expected: VERSION });
        }
        let header = reader.up_to((length as usize).min(PLAIN_BYTES_MAX))?;
        if header.len() < length as usize {
            return Err(reader.truncated());
        }
        let header = Some(header).filter(|header| crc32fast::hash(header) == checksum);
        let header = header.and_then(|header| String::from_utf8(header).ok());
        reader.header =
            header.ok_or_else(|| reader.damaged("the description before it does not match its checksum"))?;
        Ok(reader)
    }

    /// Description of the file, as JSON.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Totals of the blocks read so far; after the last block, totals of the file.
    pub fn totals(&self) -> BusTotals {
        self.totals
    }

    /// The next block; `None` after the last.
    ///
    /// # Errors
    /// [`BusError`] for a damaged or truncated file.
    pub fn next_block(&mut self) -> Result<Option<BusBlock>, BusError> {
        if self.ended {
            return Ok(None);
        }
        let (kind, stored, plain_bytes) = self.record()?;
        if kind == KIND_END {
            let end: Option<BusTotals> = serde_json::from_slice(&stored).ok();
            if end != Some(self.totals) {
                return Err(self.damaged("the end record disagrees with the blocks"));
            }
            if !self.up_to(1)?.is_empty() {
                return Err(self.damaged("the file continues after the end record"));
            }
            self.ended = true;
            return Ok(None);
        }
        let plain = zstd::bulk::decompress(&stored, plain_bytes).ok();
        let block = plain.and_then(|plain| BusBlock::decode(&plain));
        let block = block.ok_or_else(|| self.damaged("its content is not a block"))?;
        if block.times_fs.first().is_some_and(|first| *first < self.totals.last_fs) {
            return Err(self.damaged("its time is before the previous block"));
        }
        block.times_fs.iter().zip(&block.flags).for_each(|(at, flags)| self.totals.add(*at, *flags));
        self.blocks += 1;
        Ok(Some(block))
    }

    /// The next record: its kind, its bytes as stored, and its size after decompression.
    fn record(&mut self) -> Result<(u8, Vec<u8>, usize), BusError> {
        let head = self.up_to(RECORD_HEADER_BYTES)?;
        let (kind, numbers) = head.split_first().ok_or_else(|| self.truncated())?;
        let [stored_bytes, plain_bytes, checksum] = numbers_of(numbers).ok_or_else(|| self.truncated())?;
        if !matches!(*kind, KIND_BLOCK | KIND_END) || stored_bytes.max(plain_bytes) as usize > PLAIN_BYTES_MAX {
            return Err(self.damaged("no record begins here"));
        }
        let stored = self.up_to(stored_bytes as usize)?;
        if stored.len() < stored_bytes as usize {
            return Err(self.truncated());
        }
        if crc32fast::hash(&stored) != checksum {
            return Err(self.damaged("its checksum does not match"));
        }
        Ok((*kind, stored, plain_bytes as usize))
    }

    /// Reads `count` bytes, or fewer at the end of the file.
    fn up_to(&mut self, count: usize) -> Result<Vec<u8>, BusError> {
        let mut bytes = Vec::new();
        let read = (&mut self.file).take(count as u64).read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(BusError::reading(&self.path))
    }

    fn foreign(&self) -> BusError {
        BusError::Foreign(self.path.clone())
    }

    fn truncated(&self) -> BusError {
        BusError::Truncated { path: self.path.clone(), blocks: self.blocks }
    }

    fn damaged(&self, found: &'static str) -> BusError {
        BusError::Damaged { path: self.path.clone(), block: self.blocks, found }
    }
}

fn numbers_of(bytes: &[u8]) -> Option<[u32; 3]> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let numbers: [[u8; 4]; 3] = numbers.try_into().ok()?;
    rest.is_empty().then(|| numbers.map(u32::from_le_bytes))
}
