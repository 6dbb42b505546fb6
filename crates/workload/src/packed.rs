//! Unpacks a trace file while a reader reads it.
//!
//! Traces are distributed as packed files. The program of each packed format unpacks the file, as in ChampSim, so a run
//! does not wait for the whole file. The first bytes of a file determine the format; its name does not matter.

use crate::error::WorkloadError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// First bytes of packed files, and the program that unpacks them.
const PACKED: [(&[u8], &str); 4] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (&[0x1f, 0x8b], "gzip"),
    (b"BZh", "bzip2"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
];
/// Maximum length of the first bytes.
const MAGIC_BYTES: u64 = 6;
/// Maximum bytes of a line of text: more than any request needs.
const LINE_BYTES_MAX: u64 = 4 << 10;
/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// Returns the program that unpacks a file with these first bytes, if the file is packed.
pub(crate) fn unpacker(start: &[u8]) -> Option<&'static str> {
    PACKED.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, program)| *program)
}

/// Reader of a file from its beginning, with the process that unpacks the file.
pub(crate) struct Unpacked {
    reader: BufReader<Box<dyn Read + Send>>,
    process: Option<(Child, &'static str)>,
}

impl Unpacked {
    /// Opens a file, packed or not.
    pub(crate) fn open(path: &Path) -> Result<Unpacked, WorkloadError> {
        let mut start = Vec::new();
        let file = File::open(path).map_err(WorkloadError::io("opening", path))?;
        file.take(MAGIC_BYTES).read_to_end(&mut start).map_err(WorkloadError::io("reading", path))?;
        let file = File::open(path).map_err(WorkloadError::io("opening", path))?;
        let Some(program) = unpacker(&start) else {
            return Ok(Unpacked { reader: BufReader::with_capacity(BUFFER_BYTES, Box::new(file)), process: None });
        };
        let mut process = Command::new(program)
            .arg("-dc")
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| WorkloadError::NoUnpacker { path: path.to_owned(), program, source })?;
        let Some(output) = process.stdout.take() else { unreachable!("its output was piped") };
        let reader = BufReader::with_capacity(BUFFER_BYTES, Box::new(output) as Box<dyn Read + Send>);
        Ok(Unpacked { reader, process: Some((process, program)) })
    }

    /// Returns the program that unpacks the file, if the file is packed.
    pub(crate) fn packed_by(&self) -> Option<&'static str> {
        self.process.as_ref().map(|(_, program)| *program)
    }

    /// Waits for the unpacker at the end of the bytes, and fails if its status is an error.
    pub(crate) fn check_end(&mut self, path: &Path) -> Result<(), WorkloadError> {
        let Some((process, program)) = &mut self.process else { return Ok(()) };
        let status = process.wait().map_err(WorkloadError::io("waiting for the unpacking of", path))?;
        if status.success() {
            return Ok(());
        }
        Err(WorkloadError::Unpacking { path: path.to_owned(), program, status })
    }
}

impl Unpacked {
    /// Returns the next line of a text without blanks at its ends, or `None` at the end of the file. Splits a line
    /// after `LINE_BYTES_MAX` bytes.
    pub(crate) fn line(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let got = (&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        Ok((got > 0).then(|| line.trim_ascii().to_vec()))
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some((process, _)) = &mut self.process {
            // If the unpacker has already ended, both calls have no effect.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
