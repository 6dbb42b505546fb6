//! Reads trace files: consecutive records, plain or packed. The reader checks each record.

use super::record::{InstructionRecord, RECORD_BYTES};
use crate::error::WorkloadError;
use crate::packed::Unpacked;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Records of a file, read once, or repeatedly until the limit is reached.
pub(super) struct RecordFile {
    path: PathBuf,
    bytes: Unpacked,
    /// Records left until the limit; `None` if the file is read once.
    left: Option<u64>,
    /// Bytes read since the beginning of the file.
    read: u64,
    restarts: u64,
    ended: bool,
}

impl RecordFile {
    /// Opens a file. With a `limit` the reader restarts at the file's end, as ChampSim does, and stops after `limit`
    /// records.
    pub(super) fn open(path: &Path, limit: Option<u64>) -> Result<RecordFile, WorkloadError> {
        let bytes = Unpacked::open(path)?;
        Ok(RecordFile { path: path.to_owned(), bytes, left: limit, read: 0, restarts: 0, ended: false })
    }

    /// True if the file must be unpacked.
    pub(super) fn is_packed(&self) -> bool {
        self.bytes.packed_by().is_some()
    }

    fn read(&mut self) -> Result<Option<InstructionRecord>, WorkloadError> {
        if self.left == Some(0) {
            return Ok(None);
        }
        let mut record = [0; RECORD_BYTES];
        let mut filled = 0;
        loop {
            let got = self.bytes.read(&mut record[filled..]).map_err(WorkloadError::io("reading", &self.path))?;
            filled += got;
            self.read += got as u64;
            if filled == RECORD_BYTES {
                self.left = self.left.map(|left| left - 1);
                let number = self.read / RECORD_BYTES as u64 - 1;
                let wrong = |fault| WorkloadError::ChampsimRecord { path: self.path.clone(), number, fault };
                return InstructionRecord::from_bytes(&record).map(Some).map_err(wrong);
            }
            if got > 0 {
                continue;
            }
            self.bytes.check_end(&self.path)?;
            if filled > 0 || self.read == 0 {
                return Err(WorkloadError::ChampsimLength { path: self.path.clone(), bytes: self.read });
            }
            if self.left.is_none() {
                return Ok(None);
            }
            self.bytes = Unpacked::open(&self.path)?;
            self.read = 0;
            self.restarts += 1;
        }
    }
}

impl super::Trace for RecordFile {
    fn restarts(&self) -> u64 {
        self.restarts
    }
}

impl Iterator for RecordFile {
    type Item = Result<InstructionRecord, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.read().transpose();
        self.ended = !matches!(record, Some(Ok(_)));
        record
    }
}
