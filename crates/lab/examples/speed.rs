//! Whole-run speed, as one JSON object: `speed KERNEL DESIGN MILLIONS [parameter=value ...]`.
//!
//! The share of real cryptography is what it costs here to do once, alone and in a warm cache, what the run did: every
//! pad, tag and hash that it counted, times the measured cost of one.

use casemate_lab::{Control, Record, RunOptions, run};
use crypto::{Cmac, Gmac, Key, Nonce, PadCipher};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;
use units::{LineAddr, ZERO_LINE};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, design, millions, parameters @ ..] = &arguments[..] else {
        return Err("usage: speed KERNEL DESIGN MILLIONS [parameter=value ...]".into());
    };
    let parameters: BTreeMap<String, String> =
        parameters.iter().filter_map(|text| text.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let source = workload::kernels::open(kernel, &parameters, 1)?;
    let options = RunOptions {
        machine: systems::machine("modern")?,
        design: systems::design(design)?,
        seed: 1,
        budget: millions.parse::<u64>()? * 1_000_000,
        ledger: false,
    };
    let record = run(&options, source, |_| Control::GoOn)?;
    let result = serde_json::json!({
        "workload": kernel,
        "design": design,
        "instructions": record.instructions,
        "instructions_per_second": record.host.instructions_per_second,
        "events_per_instruction": record.events as f64 / record.instructions as f64,
        "ipc": record.ipc,
        "llc_misses": record.llc.misses,
        "checks_passed": record.checks.passed,
        "crypto_share": crypto_seconds(&record) / record.host.seconds,
        "program_bytes": record.footprint.program_bytes,
        "peak_bytes": peak_bytes(),
    });
    println!("{result}");
    Ok(())
}

/// Seconds that the run's cryptography takes alone.
fn crypto_seconds(record: &Record) -> f64 {
    let key = Key([7; 16]);
    let (pad, gmac, cmac) = (PadCipher::new(&key), Gmac::new(&key), Cmac::new(&key));
    let nonce = |n| Nonce::new(LineAddr(n), n, 1);
    let per_pad = seconds_of(|n| u64::from(pad.pad(&nonce(n))[0]));
    let per_tag = seconds_of(|n| gmac.tag(&nonce(n), &ZERO_LINE, 56));
    let per_hash = seconds_of(|n| cmac.tag(&[n as u8; 16], &ZERO_LINE, 64));
    let protection = &record.protection;
    protection.aes_blocks as f64 / 4.0 * per_pad
        + protection.macs as f64 * per_tag
        + protection.hashes as f64 * per_hash
}

/// Seconds that one call takes.
fn seconds_of(work: impl Fn(u64) -> u64) -> f64 {
    const CALLS: u64 = 200_000;
    let started = Instant::now();
    for n in 0..CALLS {
        black_box(work(black_box(n)));
    }
    started.elapsed().as_secs_f64() / CALLS as f64
}

/// The most memory this process has had, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
