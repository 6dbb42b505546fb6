//! The bytes of a trace file, unpacked while they are read.
//!
//! Traces are distributed as packed files. The programs of the packed formats unpack them, as in ChampSim, so that a run
//! does not wait for the whole file. The first bytes of a file say how it is packed; its name does not matter.

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
/// Longest of the first bytes.
const MAGIC_BYTES: u64 = 6;
/// Bytes of a line of text: more than any request has.
const LINE_BYTES_MAX: u64 = 4 << 10;
/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// The program that unpacks a file with these first bytes, if it is packed.
pub(crate) fn unpacker(start: &[u8]) -> Option<&'static str> {
    PACKED.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, program)| *program)
}

/// A file that is read from its beginning, and the process that unpacks it.
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

    /// The program that unpacks the file, if it is packed.
    pub(crate) fn packed_by(&self) -> Option<&'static str> {
        self.process.as_ref().map(|(_, program)| *program)
    }

    /// Fails if the bytes ended because the unpacker did.
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
    /// The next line of a text, without blanks at its ends; nothing at the end of the file. A line that is longer than a
    /// request can be is cut there.
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
            // It may have ended by itself, and then neither has anything to do.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
