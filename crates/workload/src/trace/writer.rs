//! Writes a trace. The file gets its name when it is complete.

use super::codec::Codec;
use super::{KIND_BATCHES, KIND_END, MAGIC, Totals, TraceCounter, TraceEnd, VERSION};
use crate::error::WorkloadError;
use crate::partial_file::PartialFile;
use crate::source::{Finish, Origin, Source};
use crate::stream::Batch;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Level of zstd: higher levels hardly reduce the size and take much more time.
const LEVEL: i32 = 9;
/// Encoded bytes from which on the writer compresses batches. Threads that wait for each other often have small batches.
const RECORD_BYTES: usize = 1 << 16;

/// Writer of a trace.
pub struct TraceWriter {
    path: PathBuf,
    file: PartialFile,
    codec: Codec,
    counter: TraceCounter,
    /// Encoded batches that are not written yet.
    encoded: Vec<u8>,
}

/// Stores all batches of a source.
pub fn record(mut source: impl Source, path: &Path) -> Result<Totals, WorkloadError> {
    let mut writer = TraceWriter::create(path, source.origin())?;
    while let Some(batch) = source.next_batch()? {
        writer.write(&batch)?;
    }
    writer.finish(source.origin().finish)
}

impl TraceWriter {
    /// Begins a trace with this origin.
    pub fn create(path: &Path, origin: &Origin) -> Result<TraceWriter, WorkloadError> {
        if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let error = std::io::Error::other("it is a device or a pipe, and a trace is a file");
            return Err(WorkloadError::io("creating", path)(error));
        }
        let file = PartialFile::create(path).map_err(WorkloadError::io("creating", path))?;
        let (codec, counter) = (Codec::default(), TraceCounter::default());
        let mut writer = TraceWriter { path: path.to_owned(), file, codec, counter, encoded: Vec::new() };
        let origin = to_json(origin);
        let mut head = MAGIC.to_vec();
        for number in [VERSION, origin.len() as u32, crc32fast::hash(&origin)] {
            head.extend(number.to_le_bytes());
        }
        head.extend(origin);
        writer.put(&head)?;
        Ok(writer)
    }

    /// Appends a batch to the trace.
    pub fn write(&mut self, batch: &Batch) -> Result<(), WorkloadError> {
        let plain = self.codec.encode(batch);
        self.encoded.extend(plain);
        self.counter.add(batch);
        if self.encoded.len() < RECORD_BYTES { Ok(()) } else { self.put_batches() }
    }

    /// Writes the batches that are encoded and not written yet.
    fn put_batches(&mut self) -> Result<(), WorkloadError> {
        let plain = std::mem::take(&mut self.encoded);
        if plain.is_empty() {
            return Ok(());
        }
        let stored = zstd::bulk::compress(&plain, LEVEL).map_err(WorkloadError::io("compressing for", &self.path))?;
        self.put_record(KIND_BATCHES, &stored, plain.len())
    }

    /// Totals of the batches written so far.
    pub fn totals(&self) -> Totals {
        self.counter.totals
    }

    /// Appends the end record and renames the file to its final name.
    pub fn finish(mut self, finish: Finish) -> Result<Totals, WorkloadError> {
        self.put_batches()?;
        let end = to_json(&TraceEnd { totals: self.totals(), finish });
        self.put_record(KIND_END, &end, end.len())?;
        let totals = self.totals();
        self.file.finish().map_err(WorkloadError::io("writing", &self.path))?;
        Ok(totals)
    }

    fn put_record(&mut self, kind: u8, stored: &[u8], plain_bytes: usize) -> Result<(), WorkloadError> {
        let mut head = vec![kind];
        for number in [stored.len() as u32, plain_bytes as u32, crc32fast::hash(stored)] {
            head.extend(number.to_le_bytes());
        }
        self.put(&head)?;
        self.put(stored)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WorkloadError> {
        self.file.write_all(bytes).map_err(WorkloadError::io("writing", &self.path))
    }
}

fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| unreachable!("plain structures are always JSON: {error}"))
}
