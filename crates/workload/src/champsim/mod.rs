//! Traces of ChampSim, the trace-driven simulator with which we compare this machine: read from files, or generated
//! here.
//!
//! | file | part |
//! |---|---|
//! | `record.rs`, `file.rs` | a record of a trace, and files of records |
//! | `source.rs` | conversion of records into the stream that the machine reads |
//! | `synthetic.rs`, `numpy.rs` | traces of the comparison, reproduced bit for bit |

mod file;
mod numpy;
pub(crate) mod record;
mod source;
pub(crate) mod synthetic;

pub(crate) use record::are_of_cloudsuite;
pub use record::{InstructionRecord, RECORD_BYTES, RecordFault};
pub use source::{ChampsimSource, Trace};
pub use synthetic::{NAMES, Synthetic, UnknownTrace};

use crate::error::WorkloadError;
use crate::source::{Finish, Medium, Origin, Persistent, Source, Values};
use file::RecordFile;
use std::path::Path;

/// Opens a plain or packed trace file as a program. Its stored words and its memory content are drawn from `seed`. With
/// a `limit` the trace restarts at its end, as in ChampSim, and stops after `limit` records.
///
/// # Errors
/// [`WorkloadError::Io`] if the operating system cannot open the file; [`WorkloadError::NoUnpacker`] if it cannot start
/// the unpacker; [`WorkloadError::ChampsimLength`] if a plain file is empty or not a whole number of records. Defects
/// of a packed file or of a record are reported when the source reads them.
pub fn open(path: &Path, seed: u64, limit: Option<u64>) -> Result<Box<dyn Source>, WorkloadError> {
    let records = RecordFile::open(path, limit)?;
    if !records.is_packed() {
        let bytes = path.metadata().map_err(WorkloadError::io("measuring", path))?.len();
        if bytes == 0 || !bytes.is_multiple_of(RECORD_BYTES as u64) {
            return Err(WorkloadError::ChampsimLength { path: path.to_owned(), bytes });
        }
    }
    let origin = Origin { limit, ..origin(path.display().to_string(), Medium::Stored, seed, Vec::new()) };
    Ok(Box::new(ChampsimSource::new(records, origin, seed)))
}

/// Returns the trace `name` of the comparison, with about `instructions` records, under the seed of the script. The
/// trace repeats, because ChampSim restarts a trace at its end. The source stops after `limit` records.
///
/// # Errors
/// [`WorkloadError::Champsim`] if the comparison has no trace of this name.
pub fn synthetic(name: &str, instructions: u64, seed: u32, limit: u64) -> Result<Box<dyn Source>, WorkloadError> {
    let trace = Synthetic::new(name, instructions, seed)?;
    let again = Rounds { round: trace.clone(), trace, left: limit, restarts: 0 };
    let conditions = vec![("instructions".to_owned(), instructions.to_string())];
    let origin = Origin { limit: Some(limit), ..origin(name.to_owned(), Medium::BuiltIn, seed.into(), conditions) };
    Ok(Box::new(ChampsimSource::new(again, origin, seed.into())))
}

/// A trace of the comparison that repeats.
struct Rounds {
    trace: Synthetic,
    round: Synthetic,
    /// Records left until the limit.
    left: u64,
    restarts: u64,
}

impl Iterator for Rounds {
    type Item = Result<InstructionRecord, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = self.round.next().or_else(|| {
            self.restarts += 1;
            self.round = self.trace.clone();
            self.round.next()
        });
        record.map(Ok)
    }
}

impl Trace for Rounds {
    fn restarts(&self) -> u64 {
        self.restarts
    }
}

fn origin(program: String, medium: Medium, seed: u64, conditions: Vec<(String, String)>) -> Origin {
    Origin {
        program: vec![program],
        skip: 0,
        limit: None,
        values: Values::Seeded(seed),
        load_values: false,
        medium,
        conditions,
        persistent: Persistent::All,
        requests: None,
        restarts: 0,
        finish: Finish::Running,
        suspects: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::AccessKind;
    use crate::walker::Walker;
    use isa::Flow;
    use std::path::PathBuf;

    fn file(name: &str, bytes: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("casemate-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Address of an instruction, address of the next one, its accesses, and true for a branch.
    type Executed = (u64, Option<u64>, Vec<(AccessKind, u64)>, bool);

    fn steps(source: Box<dyn Source>) -> Vec<Executed> {
        let mut walker = Walker::new(source);
        let mut steps = Vec::new();
        while let Some(step) = walker.next_step(|_| {}).unwrap() {
            let accesses = step.accesses.iter().map(|access| (access.kind, access.addr.0)).collect();
            let next = step.next.map(|next| next.0);
            steps.push((step.instruction.pc.0, next, accesses, step.instruction.flow != Flow::Next));
        }
        steps
    }

    #[test]
    fn a_champsim_file_is_the_same_program_as_its_records() {
        let records: Vec<InstructionRecord> = Synthetic::new("mix", 7_000, 1).unwrap().collect();
        let path = file("mix", &records.iter().flat_map(InstructionRecord::to_bytes).collect::<Vec<u8>>());
        let stored = steps(open(&path, 1, None).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(stored, steps(synthetic("mix", 7_000, 1, 7_000).unwrap()));
        for (index, (record, step)) in records.iter().zip(&stored).enumerate() {
            assert_eq!((record.pc, record.branch), (step.0, step.3));
            assert_eq!(step.1, records.get(index + 1).map(|next| next.pc));
            let loads = record.loads.iter().filter(|address| **address != 0).map(|&at| (AccessKind::Load, at));
            let stores = record.stores.iter().filter(|address| **address != 0).map(|&at| (AccessKind::Store, at));
            assert_eq!(step.2, loads.chain(stores).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_champsim_trace_restarts_at_its_end() {
        let twice = steps(synthetic("stream", 50, 1, 100).unwrap());
        assert_eq!(twice.len(), 100);
        assert_eq!(twice[0].2, twice[50].2);
    }

    #[test]
    fn a_champsim_source_counts_the_restarts_of_its_trace() {
        let records: Vec<InstructionRecord> = Synthetic::new("stream", 50, 1).unwrap().collect();
        let path = file("restarts", &records.iter().flat_map(InstructionRecord::to_bytes).collect::<Vec<u8>>());
        let restarts = |mut source: Box<dyn Source>| {
            while source.next_batch().unwrap().is_some() {}
            source.origin().restarts
        };
        for (limit, expected) in [(49, 0), (50, 0), (51, 1), (100, 1), (101, 2)] {
            assert_eq!(restarts(open(&path, 1, Some(limit)).unwrap()), expected, "{limit} of 50 records");
            assert_eq!(restarts(synthetic("stream", 50, 1, limit).unwrap()), expected, "{limit} of 50 records");
        }
        assert_eq!(restarts(open(&path, 1, None).unwrap()), 0);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_invalid_record_in_mid_trace_is_refused_with_its_number() {
        let mut bytes: Vec<u8> =
            Synthetic::new("mix", 7_000, 1).unwrap().flat_map(|record| record.to_bytes()).collect();
        bytes[5_000 * RECORD_BYTES + 8] = b'x';
        let path = file("damaged", &bytes);
        let mut walker = Walker::new(open(&path, 1, None).unwrap());
        let refused = loop {
            match walker.next_step(|_| {}) {
                Ok(step) => assert!(step.is_some(), "the damaged record is not the program's end"),
                Err(error) => break error.to_string(),
            }
        };
        std::fs::remove_file(&path).unwrap();
        assert!(refused.contains("record 5000") && refused.contains("is_branch is 120"), "{refused}");
    }

    #[test]
    fn repeated_records_of_one_instruction_in_a_champsim_trace_are_each_executed() {
        let record = InstructionRecord { pc: 0x1000, loads: [0x5000, 0, 0, 0], ..InstructionRecord::default() };
        let path = file("repeated", &record.to_bytes().repeat(5));
        let repeated = steps(open(&path, 1, None).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(repeated.len(), 5);
    }

    #[test]
    fn a_compressed_champsim_file_is_the_same_program_and_a_truncated_one_is_refused() {
        let records: Vec<InstructionRecord> = Synthetic::new("mix", 7_000, 1).unwrap().collect();
        let plain = file("plain", &records.iter().flat_map(InstructionRecord::to_bytes).collect::<Vec<u8>>());
        let packed = std::process::Command::new("gzip").arg("-c").arg(&plain).output().unwrap().stdout;
        let whole = file("whole", &packed);
        let cut = file("cut", &packed[..packed.len() / 2]);
        assert_eq!(steps(open(&whole, 1, None).unwrap()), steps(open(&plain, 1, None).unwrap()));
        assert_eq!(steps(open(&whole, 1, Some(7_100)).unwrap()).len(), 7_100, "it starts again at its end");
        let mut walker = Walker::new(open(&cut, 1, None).unwrap());
        let refused = loop {
            match walker.next_step(|_| {}) {
                Ok(step) => assert!(step.is_some(), "the end of half a file is not the program's"),
                Err(error) => break error.to_string(),
            }
        };
        for path in [plain, whole, cut] {
            std::fs::remove_file(path).unwrap();
        }
        assert!(refused.contains("gzip") && refused.contains("cut"), "{refused}");
    }

    #[test]
    fn a_file_of_a_wrong_length_is_refused_with_its_name_and_length() {
        for bytes in [0, 100] {
            let path = file("short", &vec![1; bytes]);
            let refused = open(&path, 1, None).err().unwrap().to_string();
            std::fs::remove_file(&path).unwrap();
            assert!(refused.contains("short") && refused.contains(&format!("{bytes} bytes")), "{refused}");
        }
    }
}
