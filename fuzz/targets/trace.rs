//! Reads any bytes as a trace: the reader reaches the end, or refuses the trace with a reason. Checksums cover every
//! byte of a trace, and random bytes never satisfy them. Most inputs are therefore put into a frame with correct
//! checksums, as an attacker would do.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use workload::Source;
use workload::trace::TraceReader;

const ORIGIN: &str = r#"{"program":["any"],"skip":0,"limit":null,"values":"exact","load_values":true,"medium":"live",
"conditions":[],"finish":"running"}"#;
const KIND_BATCH: u8 = 1;
const KIND_END: u8 = 2;

/// Path of a file that only this process uses, in shared memory if the system has it.
fn path() -> PathBuf {
    let shared_memory = PathBuf::from("/dev/shm");
    let folder = if shared_memory.is_dir() { shared_memory } else { std::env::temp_dir() };
    folder.join(format!("casemate-fuzz-{}.trace", std::process::id()))
}

/// Puts a frame around an origin and batches, each with its checksum.
fn framed(origin: &[u8], batches: &[u8]) -> Vec<u8> {
    let mut file = b"CASEMTRC".to_vec();
    for number in [1, origin.len() as u32, crc32fast::hash(origin)] {
        file.extend(number.to_le_bytes());
    }
    file.extend(origin);
    let mut rest = batches;
    while let [kind, low, high, tail @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (content, next) = tail.split_at(length);
        rest = next;
        let is_end = *kind % 8 == 0;
        let stored =
            if is_end { content.to_vec() } else { zstd::bulk::compress(content, 1).expect("any bytes can be packed") };
        file.push(if is_end { KIND_END } else { KIND_BATCH });
        for number in [stored.len() as u32, content.len() as u32, crc32fast::hash(&stored)] {
            file.extend(number.to_le_bytes());
        }
        file.extend(stored);
    }
    file
}

fuzz_target!(|bytes: &[u8]| {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let file = match how % 4 {
        0 => bytes.to_vec(),
        1 => {
            let (origin, batches) = bytes.split_at(bytes.len() / 2);
            framed(origin, batches)
        }
        _ => framed(ORIGIN.as_bytes(), bytes),
    };
    let path = path();
    std::fs::write(&path, file).expect("a file of this process");
    match TraceReader::open(&path) {
        Ok(mut reader) => while let Ok(Some(_)) = reader.next_batch() {},
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
