//! Trace files: records one after another, plain or packed.
//!
//! Traces are handed around packed by `xz` or `gzip`. They are unpacked by those programs, as ChampSim itself does, so
//! that no run waits for a whole file. What a file is, its first bytes say; its name does not matter.

use super::record::{RECORD_BYTES, Record};
use crate::error::WorkloadError;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What packed files begin with, and the program that unpacks them.
const PACKED: [(&[u8], &str); 2] = [(&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"), (&[0x1f, 0x8b], "gzip")];
/// Read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// The bytes of a trace, and what unpacks them.
struct Bytes {
    reader: BufReader<Box<dyn Read + Send>>,
    unpacker: Option<(Child, &'static str)>,
}

impl Bytes {
    fn open(path: &Path) -> Result<Bytes, WorkloadError> {
        let mut start = Vec::new();
        let file = File::open(path).map_err(WorkloadError::io("opening", path))?;
        file.take(8).read_to_end(&mut start).map_err(WorkloadError::io("reading", path))?;
        let packed = PACKED.iter().find(|(magic, _)| start.starts_with(magic));
        let file = File::open(path).map_err(WorkloadError::io("opening", path))?;
        let Some((_, program)) = packed else {
            return Ok(Bytes { reader: BufReader::with_capacity(BUFFER_BYTES, Box::new(file)), unpacker: None });
        };
        let mut unpacker = Command::new(program)
            .arg("-dc")
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(WorkloadError::io("running what unpacks", path))?;
        let Some(output) = unpacker.stdout.take() else { unreachable!("its output was piped") };
        let reader = BufReader::with_capacity(BUFFER_BYTES, Box::new(output) as Box<dyn Read + Send>);
        Ok(Bytes { reader, unpacker: Some((unpacker, program)) })
    }

    /// Whether the end is one, and not that of an unpacker that failed.
    fn check_end(&mut self, path: &Path) -> Result<(), WorkloadError> {
        let Some((unpacker, program)) = &mut self.unpacker else { return Ok(()) };
        let status = unpacker.wait().map_err(WorkloadError::io("waiting for the unpacking of", path))?;
        if status.success() {
            return Ok(());
        }
        Err(WorkloadError::Unpacking { path: path.to_owned(), program, status })
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Some((unpacker, _)) = &mut self.unpacker {
            // It may have ended by itself, and then neither has anything to do.
            let _ = unpacker.kill();
            let _ = unpacker.wait();
        }
    }
}

/// The records of a file, once or over and over again.
pub(super) struct Records {
    path: PathBuf,
    bytes: Bytes,
    repeated: bool,
    /// Bytes since the file's beginning.
    read: u64,
    ended: bool,
}

impl Records {
    /// Opens a file. If `repeated`, it starts again at its end, as ChampSim does.
    pub(super) fn open(path: &Path, repeated: bool) -> Result<Records, WorkloadError> {
        Ok(Records { path: path.to_owned(), bytes: Bytes::open(path)?, repeated, read: 0, ended: false })
    }

    /// Whether it has to be unpacked.
    pub(super) fn is_packed(&self) -> bool {
        self.bytes.unpacker.is_some()
    }

    fn read(&mut self) -> Result<Option<Record>, WorkloadError> {
        let mut record = [0; RECORD_BYTES];
        let mut filled = 0;
        loop {
            let got =
                self.bytes.reader.read(&mut record[filled..]).map_err(WorkloadError::io("reading", &self.path))?;
            filled += got;
            self.read += got as u64;
            if filled == RECORD_BYTES {
                return Ok(Some(Record::from_bytes(&record)));
            }
            if got > 0 {
                continue;
            }
            self.bytes.check_end(&self.path)?;
            if filled > 0 || self.read == 0 {
                return Err(WorkloadError::ChampsimLength { path: self.path.clone(), bytes: self.read });
            }
            if !self.repeated {
                return Ok(None);
            }
            self.bytes = Bytes::open(&self.path)?;
            self.read = 0;
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.read().transpose();
        self.ended = !matches!(record, Some(Ok(_)));
        record
    }
}
