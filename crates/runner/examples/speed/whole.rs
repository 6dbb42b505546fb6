//! Measures the speed of one whole run.
//!
//! A workload is a built-in kernel, `champsim/NAME` for one of the traces on which the machine is compared with
//! ChampSim, or `trace:PATH` for a recorded program. A separate thread produces the program, like in any run. A machine
//! with several cores runs the program once on each core, in separate memory.
//!
//! The overhead in memory is the peak memory of the process minus three parts: all data of the built-in program, its
//! content in simulated memory, and its simulated metadata. For a trace of unknown program size, the pages that the run
//! touched replace the first part. Pages that a program has not written yet count as its data, although the host has
//! not allocated them. So the overhead is a lower bound if a program has many unwritten pages.
//!
//! The share of real cryptography is the time to repeat the cryptography of the run on this host, in a warm cache. It
//! is the number of encrypted or decrypted lines, of tags and of tree hashes, each multiplied by the measured time of
//! one operation in the design. The share includes lines with initial content, and excludes the cost of cold caches.

use crate::timed;
use casemate_runner::{Record, RunControl, RunError, RunOptions, run_together};
use crypto::{Key, PAGE_CHUNK_LINE_BYTES, PageChunkCipher, SHA1_BYTES, sha1_of_pair};
use protection::design::Parts;
use protection::layout::DataLines;
use protection::scheme::Computed;
use protection::verbs::Slot;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use units::{LINE_BYTES, Line, LineAddr, LineLength};
use workload::broadcast::{BroadcastTap, broadcast};
use workload::{Persistent, champsim, kernels, stored};

/// Instructions of a trace before it starts again, as in the trace files for ChampSim.
const TRACE_INSTRUCTIONS: u64 = 4_000_000;

/// Prefixes of parameters that change a key of the machine or of the design; all other parameters belong to the
/// workload.
const OF_MACHINE: &str = "machine.";
const OF_DESIGN: &str = "design.";

/// Runs `millions` of instructions, which may be a fraction, and returns the speed as JSON.
pub fn measure(
    machine: &str,
    workload: &str,
    design: &str,
    millions: f64,
    parameters: &[&str],
) -> Result<Value, Box<dyn Error>> {
    let pairs = parameters.iter().filter_map(|text| text.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned()));
    let mut settings: BTreeMap<String, String> = pairs.collect();
    let mut changes = |of: &str| -> Vec<(String, String)> {
        settings
            .extract_if(.., |key, _| key.starts_with(of))
            .map(|(key, value)| (key[of.len()..].to_owned(), value))
            .collect()
    };
    let (machine_changes, design_changes) = (changes(OF_MACHINE), changes(OF_DESIGN));
    let budget = (millions * 1e6).round() as u64;
    let open = || match (workload.strip_prefix("champsim/"), workload.strip_prefix("trace:")) {
        (Some(trace), _) => champsim::synthetic(trace, TRACE_INSTRUCTIONS, 1, budget),
        (None, Some(path)) => stored::open(Path::new(path), 1, Persistent::default()),
        (None, None) => kernels::open(workload, &settings, 1),
    };
    let changed = catalogue::design_with(design, &design_changes)?;
    let options = RunOptions::new(catalogue::machine_with(machine, &machine_changes)?, changed, budget);
    let parts = options.design.parts.clone();
    let mut taps = Vec::new();
    let mut own_bytes = None;
    for _ in 0..options.machine.cores {
        let program = open()?;
        own_bytes = program.footprint().map(|size| size.0 + own_bytes.unwrap_or(0));
        taps.extend(broadcast(program, 1));
    }
    let (seconds, record) = timed(|| simulate(&options, taps));
    let record = record?;
    let data_bytes = record.footprint.program_bytes;
    let metadata_bytes = (data_bytes as f64 * record.footprint.metadata_percent / 100.0) as u64;
    Ok(json!({
        "machine": machine,
        "workload": workload,
        "design": design,
        "instructions": record.instructions,
        "per_second": record.instructions as f64 / seconds,
        "per_second_of_wall_time": record.host.instructions_per_second,
        "events_per_instruction": record.events as f64 / record.instructions as f64,
        "ipc": record.ipc,
        "llc_misses": record.llc.misses,
        "memory_requests": record.dram.reads + record.dram.writes,
        "checks_passed": record.checks.passed,
        "fills_per_permutation": record.moving.map(|moving| moving.fills as f64 / moving.permutations.max(1) as f64),
        "event_hash": record.event_hash,
        "crypto_share": crypto_seconds(&record, &parts, options.machine.line_length())? / seconds,
        "program_bytes": record.footprint.program_bytes,
        "peak_bytes": peak_bytes(),
        "overhead_bytes": peak_bytes().map(|peak| peak.saturating_sub(own_bytes.unwrap_or(data_bytes) + data_bytes + metadata_bytes)),
    }))
}

/// Only the simulation, as a function that a profiler can find by its name; see scripts/bench_counts.py.
#[inline(never)]
fn simulate(options: &RunOptions, programs: Vec<BroadcastTap>) -> Result<Record, RunError> {
    run_together(options, programs, |_| RunControl::GoOn)
}

/// Returns the seconds of host time that the cryptography of the run takes with the ciphers and codes of the design.
fn crypto_seconds(record: &Record, parts: &Parts, length: LineLength) -> Result<f64, String> {
    let scheme = parts.build(DataLines { count: 1 << 20, length }, 1)?;
    let Some(scheme) = scheme.fixed() else { return Ok(moving_seconds(record.host.computed)) };
    let text = |n| [n as u8; LINE_BYTES];
    let Computed { lines, tags, tags_in_pairs, hashes } = record.host.computed;
    let seconds = [
        seconds_of(lines, |n| scheme.cryptography().seal(LineAddr(n), n, &text(n))),
        seconds_of(tags - tags_in_pairs, |n| scheme.cryptography().tag(LineAddr(n), n, &text(n))),
        seconds_of(tags_in_pairs / 2, |n| {
            scheme.cryptography().schedule(LineAddr(2 * n), n, &text(n));
            scheme.cryptography().tag(LineAddr(2 * n + 1), n, &text(n))
        }),
        seconds_of(hashes, |n| scheme.cryptography().compare(Slot((1 << 20) + n), &node(n))),
    ];
    Ok(seconds.iter().sum())
}

/// Returns the same seconds for a design that permutes lines.
fn moving_seconds(Computed { lines, tags, hashes, .. }: Computed) -> f64 {
    let cipher = PageChunkCipher::new(&Key([1; 16]), &Key([2; 16]));
    let text = |n| [n as u8; PAGE_CHUNK_LINE_BYTES];
    let seconds = [
        seconds_of(lines, |n| {
            let mut line = text(n);
            cipher.apply_pad(n.into(), n as u8, &mut line);
            line
        }),
        seconds_of(tags, |n| cipher.code(n.into(), n as u8, &text(n))),
        seconds_of(hashes, |n| sha1_of_pair(&[n as u8; SHA1_BYTES], &[1; SHA1_BYTES])),
    ];
    seconds.iter().sum()
}

/// Returns a node as in a tree with two children per node: its last bytes are blank. Other trees accept this node as
/// well.
fn node(n: u64) -> Line {
    let mut node = [n as u8 | 1; LINE_BYTES];
    node[3 * LINE_BYTES / 4..].fill(0);
    node
}

/// Seconds that `wanted` calls take, extrapolated from enough calls for an exact count of processor time.
fn seconds_of<T>(wanted: u64, work: impl Fn(u64) -> T) -> f64 {
    const AT_ONCE: u64 = 50_000;
    const ENOUGH_SECONDS: f64 = 0.2;
    if wanted == 0 {
        return 0.0;
    }
    let (mut calls, mut taken) = (0, 0.0);
    while taken < ENOUGH_SECONDS {
        let (seconds, ()) = timed(|| {
            for n in 0..AT_ONCE {
                black_box(work(black_box(n)));
            }
        });
        (calls, taken) = (calls + AT_ONCE, taken + seconds);
    }
    taken * wanted as f64 / calls as f64
}

/// Peak memory of this process, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
