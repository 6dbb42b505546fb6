//! Measures the speed of the built-in kernels: `cargo run --release -p casemate-workload --example kernel_speed`. With
//! a name and settings it measures one kernel: `... --example kernel_speed chase footprint=1MB chains=4`.
//!
//! A kernel must be faster than any simulation of it; otherwise it limits the speed of the simulator. The consumer in
//! this example does the least possible work: it counts instructions.

use casemate_workload::kernels;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;
use wire::word::{TraceWord, parse, record_words};

const INSTRUCTIONS: u64 = 200_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    println!("{:<10} {:>9} {:>14} {:>12}", "kernel", "start/ms", "instructions", "million/s");
    let Some(name) = arguments.next() else {
        return kernels::list().iter().try_for_each(|kernel| measure(kernel.name, &BTreeMap::new()));
    };
    let setting = |argument: String| argument.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings: Option<_> = arguments.map(setting).collect();
    measure(&name, &settings.ok_or("expected settings as name=value")?)
}

fn measure(name: &str, settings: &BTreeMap<String, String>) -> Result<(), Box<dyn Error>> {
    let opened = Instant::now();
    let mut source = kernels::open(name, settings, 1)?;
    let mut batch = source.next_batch()?;
    let started = Instant::now();
    let mut instructions = 0;
    while let Some(current) = batch.filter(|_| instructions < INSTRUCTIONS) {
        instructions += count(&current.words);
        batch = source.next_batch()?;
    }
    let speed = instructions as f64 / started.elapsed().as_secs_f64() / 1e6;
    let start_ms = (started - opened).as_millis();
    println!("{name:<10} {start_ms:>9} {instructions:>14} {speed:>12.0}");
    Ok(())
}

/// Counts the instructions of all blocks that the batch enters.
fn count(words: &[u64]) -> u64 {
    let mut rest = words;
    let mut instructions = 0;
    while let Some(record) = record_words(rest) {
        if let TraceWord::Block { instructions: count, .. } = parse(rest[0]) {
            instructions += u64::from(count);
        }
        rest = &rest[record..];
    }
    instructions
}
