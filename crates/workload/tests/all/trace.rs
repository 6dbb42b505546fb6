//! Tests of stored traces, complete and damaged.

use crate::common::{Listed, block, origin};
use casemate_workload::stream::Batch;
use casemate_workload::trace::{TraceReader, TraceWriter, record};
use casemate_workload::{Finish, Source, WorkloadError};
use std::path::{Path, PathBuf};
use wire::word;

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("casemate-trace-{name}-{}", std::process::id()))
}

fn batches() -> Vec<Batch> {
    let first = vec![block(0, 0x100, &[&[0x48, 0x8b, 0x03], &[0xc3]])];
    let words = |n: u64| vec![word::block(0, 2), word::access(false, 3, false, 0, 0x8000 + 64 * n)];
    (0..3)
        .map(|n| Batch { new_blocks: if n == 0 { first.clone() } else { vec![] }, words: words(n), ..Batch::default() })
        .collect()
}

fn read_all(path: &Path) -> Result<(Vec<Batch>, Finish), WorkloadError> {
    let mut reader = TraceReader::open(path)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push((*batch).clone());
    }
    Ok((batches, reader.origin().finish))
}

/// Returns the error of reading a trace after `change` was applied to its bytes.
fn complaint(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let path = scratch(name);
    record(Listed::new(batches()), &path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    let error = read_all(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains(path.to_str().unwrap()), "{error}");
    error
}

#[test]
fn a_trace_reads_back_as_written_with_its_origin() {
    let path = scratch("whole");
    let totals = record(Listed::new(batches()), &path).unwrap();
    assert_eq!((totals.chunks, totals.instructions, totals.loads), (3, 6, 3));
    assert_eq!(read_all(&path).unwrap(), (batches(), Finish::Exited(0)));
    assert_eq!(TraceReader::open(&path).unwrap().origin().program, origin().program);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_device_is_not_replaced_by_a_trace() {
    let refused = TraceWriter::create(std::path::Path::new("/dev/null"), &origin()).err().unwrap().to_string();
    assert!(refused.contains("/dev/null") && refused.contains("a trace is a file"), "{refused}");
}

#[test]
fn a_trace_file_appears_under_its_name_only_when_complete() {
    let path = scratch("partial");
    let mut writer = TraceWriter::create(&path, &origin()).unwrap();
    writer.write(&batches()[0]).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert!(!path.exists() && !path.with_extension("partial").exists());
}

#[test]
fn a_truncated_trace_is_refused_with_its_file_name() {
    for cut in [1, 40, 100] {
        let said = complaint("truncated", |bytes| bytes.truncate(bytes.len() - cut));
        assert!(said.contains("is truncated"), "{said}");
    }
}

#[test]
fn a_trace_with_bytes_after_its_end_record_is_refused() {
    for garbage in [&b"x"[..], &[0; 100], b"{\"totals\"}"] {
        let said = complaint("longer", |bytes| bytes.extend_from_slice(garbage));
        assert!(said.contains("the file continues after the end record"), "{said}");
    }
}

#[test]
fn a_corrupted_byte_of_a_trace_is_reported_with_the_first_batch_of_its_record() {
    let mut end = 0;
    // The end record is JSON, and the byte before its header is the last byte of the record with all batches.
    let said = complaint("changed", |bytes| {
        end = bytes.windows(9).rposition(|part| part == b"{\"totals\"").unwrap();
        bytes[end - 14] ^= 1;
    });
    assert!(said.contains("damaged at batch 0: its checksum does not match"), "{said}");
}

#[test]
fn a_foreign_file_and_another_version_are_refused() {
    assert!(complaint("foreign", |bytes| bytes[0] = b'X').contains("is not a Casemate trace"));
    let said = complaint("version", |bytes| bytes[8] = 9);
    assert!(said.contains("version 9; this Casemate reads versions up to 3"), "{said}");
}

#[test]
fn the_trace_of_the_repository_is_whole() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/gzip.trace"));
    let (_, finish) = read_all(&path).unwrap();
    assert_eq!(finish, Finish::LimitReached);
}
