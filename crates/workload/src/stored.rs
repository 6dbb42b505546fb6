//! Opens stored traces of all formats, packed or not. It recognises the format by the content of a file, not by its
//! name.
//!
//! A Casemate trace begins with a mark. ChampSim's format has no mark: a file is a ChampSim trace if its first bytes
//! are records that obey the format's rules ([`champsim::InstructionRecord::from_bytes`]). A text is a trace of
//! requests if its lines have one [`Form`]. The readers check every further record or line.

use crate::champsim::{self, InstructionRecord, RECORD_BYTES};
use crate::error::WorkloadError;
use crate::packed::{Unpacked, unpacker};
use crate::requests::{self, Form};
use crate::source::{Persistent, Source};
use crate::trace::{MAGIC, TraceReader};
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use units::{wide_text, without_mark};

/// Number of bytes by which a format is recognised.
const HEAD_BYTES: u64 = 64 << 10;
/// Number of bytes of a first line that a message shows.
const SHOWN_BYTES: usize = 60;

/// Description of a trace of CloudSuite, and the way to run it.
const OF_CLOUDSUITE: &str = "it has CloudSuite's records of 96 bytes (`cloudsuite_instr` of ChampSim): convert it to \
                             ChampSim's records of 64 bytes (`input_instr`), with at most two addresses written";

/// Offset and mark of each known kind of archive, with its description.
const ARCHIVES: [(usize, &[u8], &str); 5] = [
    (257, b"ustar", "a tar archive: unpack it, and name a trace in it"),
    (0, b"PK\x03\x04", "a zip archive: unpack it, and name a trace in it"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it, and name a trace in it"),
    (0, b"\x04\x22\x4d\x18", "packed by lz4: unpack it (xz, gzip, bzip2 and zstd may stay)"),
    (0, b"\x7fELF", "a program: run it, or `casemate record` it"),
];

/// The format of a stored trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A trace of `casemate record`.
    Casemate,
    /// A trace of ChampSim.
    Champsim,
    /// A text trace of requests, of another simulator.
    #[serde(untagged)]
    Requests(Form),
}

impl Format {
    /// Name of the format, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::Casemate => "a trace of `casemate record`",
            Format::Champsim => "a trace of ChampSim",
            Format::Requests(form) => form.name(),
        }
    }
}

/// Recognises the format of a file by its content.
///
/// # Errors
/// [`WorkloadError::Unrecognised`] if the file has no known format, and other errors if it cannot be read or unpacked.
/// The readers report defects in a file of a known format.
pub fn recognise(path: &Path) -> Result<Format, WorkloadError> {
    let mut bytes = Unpacked::open(path)?;
    let mut head = Vec::new();
    (&mut bytes).take(HEAD_BYTES).read_to_end(&mut head).map_err(WorkloadError::io("reading", path))?;
    let is_whole = (head.len() as u64) < HEAD_BYTES;
    if is_whole {
        bytes.check_end(path)?;
    }
    let unrecognised = |found: String| WorkloadError::Unrecognised { path: path.to_owned(), found };
    if head.starts_with(&MAGIC) {
        return match bytes.packed_by() {
            None => Ok(Format::Casemate),
            Some(program) => Err(unrecognised(format!(
                "it is a trace of `casemate record` packed by {program}: unpack it, it is small as it is"
            ))),
        };
    }
    if head.is_empty() {
        return Err(unrecognised("it is empty".into()));
    }
    if let Some(what) = other(&head) {
        return Err(unrecognised(format!("it is {what}")));
    }
    if is_text(&head) {
        return check_lines(path, without_mark(&head), is_whole).map(Format::Requests);
    }
    check_records(path, &head, is_whole)?;
    Ok(Format::Champsim)
}

/// Opens a trace of any format as a program; `persistent` selects the part of its memory that must survive a loss of
/// power. Data that a format does not contain is drawn from `seed`.
///
/// # Errors
/// See [`recognise`]; also errors of the format's reader.
pub fn open(path: &Path, seed: u64, persistent: Persistent) -> Result<Box<dyn Source>, WorkloadError> {
    match recognise(path)? {
        Format::Casemate => Ok(Box::new(TraceReader::open(path)?.persistent(persistent))),
        format if !persistent.is_all() => {
            Err(WorkloadError::MappingsUnknown { path: path.to_owned(), format: format.name() })
        }
        Format::Champsim => champsim::open(path, seed, None),
        Format::Requests(form) => requests::open(path, form, seed),
    }
}

/// Opens a ChampSim trace for a window: it restarts at its end, and ends after `limit` records.
///
/// # Errors
/// See [`recognise`]; [`WorkloadError::OtherFormat`] if the trace has another format.
pub fn open_champsim(path: &Path, seed: u64, limit: u64) -> Result<Box<dyn Source>, WorkloadError> {
    match recognise(path)? {
        Format::Champsim => champsim::open(path, seed, Some(limit)),
        other => Err(WorkloadError::OtherFormat {
            path: path.to_owned(),
            found: other.name(),
            expected: "a trace of ChampSim; `casemate run --trace` takes this one",
        }),
    }
}

/// Describes a known format that is no trace, or that the user must unpack first.
fn other(head: &[u8]) -> Option<String> {
    if let Some(program) = unpacker(head) {
        return Some(format!("packed twice: unpack it once with {program}"));
    }
    let is_marked = |(at, mark, _): &&(usize, &[u8], &str)| head.get(*at..).is_some_and(|rest| rest.starts_with(mark));
    ARCHIVES.iter().find(is_marked).map(|(.., what)| (*what).to_owned())
}

/// True if the bytes are text: no control characters except white space.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// Checks that all lines of a text are requests of the same form, that of the first line.
fn check_lines(path: &Path, head: &[u8], is_whole: bool) -> Result<Form, WorkloadError> {
    // The last line of a longer file is cut off.
    let end = if is_whole { head.len() } else { head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) };
    let text = String::from_utf8_lossy(&head[..end]);
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut found = None;
    for (number, line) in lines {
        match found {
            None => found = Some(Form::of(line).ok_or_else(|| not_requests(path, head, is_whole))?),
            Some(form) => {
                form.parse(line).map_err(|expected| WorkloadError::RequestLine {
                    path: path.to_owned(),
                    form: form.name(),
                    number,
                    expected,
                })?;
            }
        }
    }
    found.ok_or_else(|| not_requests(path, head, is_whole))
}

fn not_requests(path: &Path, head: &[u8], is_whole: bool) -> WorkloadError {
    let count = if is_whole { format!("text of {} bytes", head.len()) } else { "text".to_owned() };
    let line = first_line(head);
    let vector = if ["R", "W"].contains(&line.split(' ').next().unwrap_or_default()) && line.contains(',') {
        ", a request by bank, row and column, which depends on a mapping of addresses"
    } else {
        ""
    };
    WorkloadError::Unrecognised { path: path.to_owned(), found: format!("it is {count}, and begins '{line}'{vector}") }
}

fn first_line(head: &[u8]) -> String {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head).trim_ascii();
    let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]).into_owned();
    if line.len() > SHOWN_BYTES { shown + "..." } else { shown }
}

/// Checks that the bytes are ChampSim records. If the first is not a record, the file is no trace; a later one is
/// damaged. Bytes that are not records may be text in another encoding, or records of a variant of the format.
fn check_records(path: &Path, head: &[u8], is_whole: bool) -> Result<(), WorkloadError> {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let unrecognised = |found| {
        let found = wide_text(head).map_or(found, |text| format!("it is {text}"));
        WorkloadError::Unrecognised { path: path.to_owned(), found }
    };
    if records.is_empty() && is_whole {
        let bytes = head.len();
        return Err(unrecognised(format!("it has {bytes} bytes, and a record of ChampSim's has {RECORD_BYTES}")));
    }
    for (number, record) in (0..).zip(records) {
        if let Err(fault) = InstructionRecord::from_bytes(record) {
            return Err(if champsim::are_of_cloudsuite(head) {
                unrecognised(OF_CLOUDSUITE.to_owned())
            } else if number == 0 {
                unrecognised(format!("its first {RECORD_BYTES} bytes are no record of ChampSim's ({fault})"))
            } else {
                WorkloadError::ChampsimRecord { path: path.to_owned(), number, fault }
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::champsim::Synthetic;
    use crate::testing::origin;
    use crate::trace::TraceWriter;
    use crate::{Finish, walker::Walker};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    /// Creates a separate folder for a test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("casemate-stored-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn packed(path: &Path, program: &str) -> Vec<u8> {
        let packed = Command::new(program).args(["-c"]).arg(path).stderr(Stdio::null()).output().unwrap();
        packed.stdout
    }

    fn refused(path: &Path) -> String {
        open(path, 1, Persistent::All).err().expect("it is no trace").to_string()
    }

    fn records(count: u64) -> Vec<u8> {
        Synthetic::new("mix", count, 1).unwrap().flat_map(|record| record.to_bytes()).collect()
    }

    fn length(source: Box<dyn Source>) -> usize {
        let mut walker = Walker::new(source);
        std::iter::from_fn(|| walker.next_step(|_| {}).unwrap().map(|_| ())).count()
    }

    #[test]
    fn a_trace_is_recognised_by_its_content_under_any_name_and_packed_by_any_program() {
        let folder = folder("names");
        let (champsim, casemate) = (folder.join("UPPER.TRACE"), folder.join("x.champsimtrace"));
        std::fs::write(&champsim, records(7_000)).unwrap();
        TraceWriter::create(&casemate, &origin()).unwrap().finish(Finish::Exited(0)).unwrap();
        assert_eq!(recognise(&champsim).unwrap(), Format::Champsim);
        assert_eq!(recognise(&casemate).unwrap(), Format::Casemate, "its name is not asked");
        for program in ["xz", "gzip", "bzip2", "zstd"] {
            let path = folder.join("bc-5.trace.gz");
            std::fs::write(&path, packed(&champsim, program)).unwrap();
            assert_eq!(length(open(&path, 1, Persistent::All).unwrap()), 7_000, "{program}");
            std::fs::write(&path, packed(&casemate, program)).unwrap();
            assert!(refused(&path).contains(&format!("packed by {program}")), "{}", refused(&path));
        }
        let for_window = open_champsim(&casemate, 1, 10).err().unwrap().to_string();
        assert!(
            for_window.contains("`casemate record`") && for_window.contains("`casemate run --trace`"),
            "{for_window}"
        );
        let mapped = open(&champsim, 1, Persistent::Mapped).err().unwrap().to_string();
        assert!(mapped.contains("a trace of ChampSim"), "{mapped}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn bytes_of_other_formats_are_refused_by_their_kind_plain_and_packed() {
        let folder = folder("others");
        let text: Vec<u8> = (0..400).flat_map(|n| format!("{n:07} 11003072\n").into_bytes()).collect();
        let mut archive = vec![0; 10_240];
        archive[..5].copy_from_slice(b"trace");
        archive[257..262].copy_from_slice(b"ustar");
        let random: Vec<u8> = (0..6_400u64).map(|n| units::random::mix(n) as u8).collect();
        let cases: [(&str, Vec<u8>, &str); 8] = [
            ("text", text, "it is text of 6800 bytes, and begins '0000000 11003072'"),
            ("tar", archive, "a tar archive"),
            ("random", random, "no record of ChampSim's"),
            ("zeros", vec![0; 6_400], "the instruction's address is 0"),
            ("empty", Vec::new(), "it is empty"),
            ("short", records(7)[..63].to_vec(), "it has 63 bytes"),
            ("program", b"\x7fELF\x02\x01\x01\0".repeat(100), "a program"),
            ("zip", b"PK\x03\x04\x14\0\0\0".repeat(100), "a zip archive"),
        ];
        for (name, bytes, expected) in cases {
            let plain = folder.join(format!("{name}.champsimtrace"));
            std::fs::write(&plain, bytes).unwrap();
            assert!(refused(&plain).contains(expected), "{name}: {}", refused(&plain));
            for program in ["xz", "gzip", "bzip2", "zstd"] {
                let path = folder.join(format!("{name}.champsimtrace.xz"));
                std::fs::write(&path, packed(&plain, program)).unwrap();
                assert!(refused(&path).contains(expected), "{name} by {program}: {}", refused(&path));
                let twice = folder.join("twice");
                std::fs::write(&twice, packed(&path, "gzip")).unwrap();
                assert!(refused(&twice).contains("packed twice"), "{name} by {program}: {}", refused(&twice));
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_trace_with_the_96_byte_records_of_cloudsuite_is_refused_by_name() {
        let folder = folder("cloudsuite");
        let (plain, path) = (folder.join("plain"), folder.join("x.champsimtrace.xz"));
        let wide = |record: &InstructionRecord| {
            let (mut bytes, narrow) = ([0; 96], record.to_bytes());
            bytes[..12].copy_from_slice(&narrow[..12]);
            bytes[14..18].copy_from_slice(&narrow[12..16]);
            bytes[24..40].copy_from_slice(&narrow[16..32]);
            bytes[56..88].copy_from_slice(&narrow[32..]);
            bytes
        };
        for count in [2, 3, 7_000] {
            let records = Synthetic::new("mix", 7_000, 1).unwrap().take(count);
            std::fs::write(&plain, records.flat_map(|record| wide(&record)).collect::<Vec<u8>>()).unwrap();
            std::fs::write(&path, packed(&plain, "xz")).unwrap();
            for path in [&plain, &path] {
                assert!(refused(path).contains("CloudSuite's records of 96 bytes"), "{count}: {}", refused(path));
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_byte_order_mark_of_utf_8_is_no_part_of_a_request_and_other_encodings_are_refused_by_name() {
        let folder = folder("marks");
        let path = folder.join("x.trace");
        for text in ["\u{feff}0x40 R\n0x80 W\n", "\u{feff}# a comment\n0x40 R\n0x80 W\n", "\u{feff}\n0x40 R\n0x80 W"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(length(open(&path, 1, Persistent::All).unwrap()), 2, "{text}");
        }
        std::fs::write(&path, "0x40 R\n\u{feff}0x80 W\n").unwrap();
        assert!(refused(&path).contains("line 2"), "{}", refused(&path));
        for text in ["\u{feff}0x40 R\n", &format!("\u{feff}{}", "0x40 R\n".repeat(9_000))] {
            for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                std::fs::write(&path, text.encode_utf16().flat_map(to_bytes).collect::<Vec<u8>>()).unwrap();
                assert!(refused(&path).contains("it is text in UTF-16: convert it to UTF-8"), "{}", refused(&path));
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_record_near_the_beginning_is_refused_before_anything_runs() {
        let folder = folder("damaged");
        let path = folder.join("x");
        let mut bytes = records(7_000);
        bytes[500 * RECORD_BYTES..501 * RECORD_BYTES].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        assert!(refused(&path).contains("record 500"), "{}", refused(&path));
        std::fs::write(&path, &records(7_000)[..7_000 * RECORD_BYTES - 1]).unwrap();
        assert!(refused(&path).contains("447999 bytes"), "{}", refused(&path));
        std::fs::write(&path, packed(&path, "xz").split_at(200).0).unwrap();
        assert!(refused(&path).contains("xz cannot unpack"), "{}", refused(&path));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_request_trace_is_recognised_by_its_lines_and_checked_to_its_end() {
        let folder = folder("requests");
        let path = folder.join("x.champsimtrace");
        let cases = [
            ("0x40 R\n0x80 W\n", Form::RamulatorMemory),
            ("LD 0x40\nST 128\n", Form::RamulatorLoadStore),
            ("# a comment\n\n3 64\n5 128 192", Form::RamulatorCpu),
            ("0x40 READ 5\r\n0x80 WRITE 9\r\n", Form::Dramsim3),
        ];
        for (text, form) in cases {
            std::fs::write(&path, text).unwrap();
            let plain = path.clone();
            let twice = folder.join("y");
            std::fs::write(&twice, packed(&path, "zstd")).unwrap();
            for path in [plain, twice] {
                assert_eq!(recognise(&path).unwrap(), Format::Requests(form), "{text}");
                assert_eq!(length(open(&path, 1, Persistent::All).unwrap()), 2, "{text}");
                let for_window = open_champsim(&path, 1, 10).err().unwrap().to_string();
                assert!(for_window.contains(form.name()), "{for_window}");
            }
        }
        for (text, expected) in [
            ("0x40 R\n0x80 READ 5\n", "line 2"),
            ("1 64\n2\n", "line 2"),
            ("R 0,1,2,100,32\n", "depends on a mapping of addresses"),
            ("\n\n# nothing\n", "text of 12 bytes"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(refused(&path).contains(expected), "{text}: {}", refused(&path));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
