//! Does a program that is larger than the machine's memory fail with both sizes: before it runs if its size is known,
//! otherwise when memory is full?

use casemate_runner::{RunControl, RunOptions, run};
use std::collections::BTreeMap;
use std::path::PathBuf;
use units::Bytes;
use workload::trace::{TraceReader, record};
use workload::{Source, champsim, kernels};

/// `modern` with this much memory.
fn options(megabytes: u64) -> RunOptions {
    let mut machine = catalogue::machine("modern").unwrap();
    machine.memory.size = Bytes(megabytes << 20);
    RunOptions::new(machine, catalogue::design("none").unwrap(), 2_000_000)
}

fn kernel(settings: &[(&str, &str)]) -> Box<dyn Source> {
    let settings: BTreeMap<_, _> = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    kernels::open("stream", &settings, 1).unwrap()
}

fn refusal(megabytes: u64, source: Box<dyn Source>) -> String {
    let mut looks = 0;
    let refused = run(&options(megabytes), source, |_| {
        looks += 1;
        RunControl::GoOn
    });
    assert_eq!(looks, 0, "it was simulated");
    refused.unwrap_err().to_string()
}

#[test]
fn a_kernel_that_is_too_large_is_refused_before_it_runs() {
    let said = refusal(64, kernel(&[("footprint", "32 GB")]));
    assert_eq!(said, "the program needs more memory than the machine's 64 MB: it touches 32769 MB");
}

#[test]
fn a_kernel_that_just_fits_runs() {
    let source = kernel(&[("footprint", "1 MB"), ("passes", "2")]);
    assert!(source.footprint() >= Some(Bytes(1 << 20)) && source.footprint() < Some(Bytes(4 << 20)));
    assert!(run(&options(4), source, |_| RunControl::GoOn).unwrap().checks.passed);
}

#[test]
fn a_trace_that_is_too_large_is_refused_before_it_runs() {
    let path: PathBuf = std::env::temp_dir().join(format!("casemate-footprint-{}.trace", std::process::id()));
    let totals = record(kernel(&[("footprint", "4 MB"), ("passes", "1")]), &path).unwrap();
    let touched = Bytes(totals.pages * 4096);
    assert!(touched >= Bytes(4 << 20) && touched < Bytes(5 << 20), "{touched}");
    let opened = || Box::new(TraceReader::open(&path).unwrap());
    assert_eq!(opened().footprint(), Some(touched));
    let said = refusal(4, opened());
    assert_eq!(said, "the program needs more memory than the machine's 4 MB: it touches 5 MB");
    let record = run(&options(8), opened(), |_| RunControl::GoOn).unwrap();
    assert!(record.checks.passed);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_program_of_unknown_size_fails_when_memory_is_full() {
    let source = champsim::synthetic("stream", 4_000_000, 1, 4_000_000).unwrap();
    assert_eq!(source.footprint(), None);
    let said = run(&options(2), source, |_| RunControl::GoOn).unwrap_err().to_string();
    assert_eq!(said, "the program needs more memory than the machine's 2 MB: all pages of 4 KB are in use");
}
