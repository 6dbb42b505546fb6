//! Writes a file of crossings. The file gets its name only when it is complete.

use super::block::{Filling, flags_of};
use super::{BusError, BusHeader, BusTotals, KIND_BLOCK, KIND_END, MAGIC, VERSION};
use crate::whole_file::WholeFile;
use protection::probe::Crossing;
use std::path::Path;
use units::Time;
use zstd::bulk::Compressor;

/// Compression level of zstd. At higher levels the simulation would wait for the compression.
const LEVEL: i32 = 1;

/// A bus file that is being written.
pub struct BusWriter {
    file: WholeFile,
    compressor: Compressor<'static>,
    filling: Filling,
    totals: BusTotals,
}

impl BusWriter {
    /// Creates a file with this description.
    pub(super) fn create(requested: &Path, header: &BusHeader<'_>) -> Result<BusWriter, BusError> {
        let file = WholeFile::create(requested)?;
        let compressor = Compressor::new(LEVEL).map_err(file.unwritten())?;
        let mut writer = BusWriter { file, compressor, filling: Filling::default(), totals: BusTotals::default() };
        let header = serde_json::to_vec(header).unwrap_or_default();
        let mut head = MAGIC.to_vec();
        for number in [VERSION, header.len() as u32, crc32fast::hash(&header)] {
            head.extend(number.to_le_bytes());
        }
        head.extend(header);
        writer.file.put(&head)?;
        writer.file.flush()?;
        Ok(writer)
    }

    /// Adds a crossing, no earlier than the previous one.
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
        self.file.finish()?;
        Ok(self.totals)
    }

    #[inline(never)]
    fn store(&mut self) -> Result<(), BusError> {
        let plain = self.filling.take();
        let stored = self.compressor.compress(&plain).map_err(self.file.unwritten())?;
        self.put_record(KIND_BLOCK, &stored, plain.len())
    }

    fn put_record(&mut self, kind: u8, stored: &[u8], plain_bytes: usize) -> Result<(), BusError> {
        let mut head = vec![kind];
        for number in [stored.len() as u32, plain_bytes as u32, crc32fast::hash(stored)] {
            head.extend(number.to_le_bytes());
        }
        self.file.put(&head)?;
        Ok(self.file.put(stored)?)
    }
}
