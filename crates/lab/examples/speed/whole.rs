//! One whole run.
//!
//! A workload is a built-in kernel, or `champsim/NAME` for one of the traces on which the machine is compared with
//! ChampSim. As in every run, the program is produced on a thread of its own. A machine of several cores runs it on each of
//! them, in memory of its own.
//!
//! The overhead in memory is what the process takes at its peak beyond the program, which is the built-in program's own data,
//! beyond its content in simulated memory, and beyond its metadata there.
//!
//! The share of real cryptography is what it costs here to do once, alone and in a warm cache, what the run did: every
//! pad, tag and hash that it counted, times the measured cost of one.

use crate::timed;
use casemate_lab::sampling::Detail;
use casemate_lab::{Control, Record, RunOptions, run_together};
use crypto::{Aes128, Cmac, CounterMode, Gmac, Key, LineMac, Nonce};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use units::{LineAddr, ZERO_LINE};
use workload::broadcast::broadcast;
use workload::{champsim, kernels};

/// Instructions of a trace, which then starts again: as many as the reference's files have.
const TRACE_INSTRUCTIONS: u64 = 4_000_000;

/// Runs `millions` of instructions and tells how fast that was.
pub fn measure(
    machine: &str,
    workload: &str,
    design: &str,
    millions: u64,
    parameters: &[&str],
) -> Result<Value, Box<dyn Error>> {
    let settings: BTreeMap<String, String> =
        parameters.iter().filter_map(|text| text.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let budget = millions * 1_000_000;
    let open = || match workload.strip_prefix("champsim/") {
        Some(trace) => champsim::synthetic(trace, TRACE_INSTRUCTIONS, 1, budget),
        None => kernels::open(workload, &settings, 1),
    };
    let options = RunOptions {
        machine: systems::machine(machine)?,
        design: systems::design(design)?,
        seed: 1,
        budget,
        warm_up: 0,
        ledger: false,
        detail: Detail::All,
    };
    let mut taps = Vec::new();
    for _ in 0..options.machine.cores {
        taps.extend(broadcast(open()?, 1));
    }
    let (seconds, record) = timed(|| run_together(&options, taps, |_| Control::GoOn));
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
        "checks_passed": record.checks.passed,
        "event_hash": record.event_hash,
        "crypto_share": crypto_seconds(&record) / seconds,
        "program_bytes": record.footprint.program_bytes,
        "peak_bytes": peak_bytes(),
        "overhead_bytes": peak_bytes().map(|peak| peak.saturating_sub(2 * data_bytes + metadata_bytes)),
    }))
}

/// Seconds that the run's cryptography takes alone.
fn crypto_seconds(record: &Record) -> f64 {
    let key = Key([7; 16]);
    let (mode, gmac, cmac) = (CounterMode::<Aes128>::new(&key), Gmac::<Aes128>::new(&key), Cmac::<Aes128>::new(&key));
    let nonce = |n| Nonce::new(LineAddr(n), n.into());
    let per_pad = seconds_of(|n| u64::from(mode.pad(&nonce(n))[0]));
    let per_tag = seconds_of(|n| gmac.tag(&nonce(n), &ZERO_LINE, 56));
    let per_hash = seconds_of(|n| cmac.tag(&nonce(n), &ZERO_LINE, 64));
    let protection = &record.protection;
    protection.aes_blocks as f64 / 4.0 * per_pad
        + protection.macs as f64 * per_tag
        + protection.hashes as f64 * per_hash
}

/// Seconds that one call takes.
fn seconds_of(work: impl Fn(u64) -> u64) -> f64 {
    const CALLS: u64 = 200_000;
    let (seconds, ()) = timed(|| {
        for n in 0..CALLS {
            black_box(work(black_box(n)));
        }
    });
    seconds / CALLS as f64
}

/// The most memory this process has had, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
