//! The warm-up before counting begins: it changes no event of the run, and the figures exclude it.

use casemate_runner::sampling::{Detail, SamplingOptions};
use casemate_runner::{Record, RunControl, RunError, RunOptions, run, run_together};
use std::collections::BTreeMap;
use workload::{Source, kernels};

const BUDGET: u64 = 400_000;

fn options(machine: &str, design: &str, warm_up: u64, budget: u64) -> RunOptions {
    let (machine, design) = (catalogue::machine(machine).unwrap(), catalogue::design(design).unwrap());
    RunOptions { seed: 7, warm_up, ..RunOptions::new(machine, design, budget) }
}

fn gups(footprint: &str) -> Box<dyn Source> {
    let settings = BTreeMap::from([("footprint".to_owned(), footprint.to_owned())]);
    kernels::open("gups", &settings, 1).unwrap()
}

fn one(footprint: &str, warm_up: u64, budget: u64) -> Record {
    run(&options("modern", "sc64-bmt", warm_up, budget), gups(footprint), |_| RunControl::GoOn).unwrap()
}

/// Four copies on the four cores of EMCC's machine.
fn four(warm_up: u64, budget: u64) -> Result<Record, RunError> {
    let copies = (0..4).map(|_| gups("8 MB")).collect();
    run_together(&options("emcc-4core", "emcc", warm_up, budget), copies, |_| RunControl::GoOn)
}

fn words(refused: Result<Record, RunError>) -> String {
    refused.unwrap_err().to_string()
}

#[test]
fn statistics_after_a_warm_up_equal_the_difference_of_two_runs() {
    // All data is in L1 by then, so that no access is under way when counting begins.
    let counted = one("16 KB", 200_000, BUDGET);
    let whole = one("16 KB", 0, BUDGET);
    let head = one("16 KB", 0, BUDGET - counted.instructions);
    assert!((100_000..=200_000).contains(&counted.instructions), "{}", counted.instructions);
    assert_eq!(counted.node.instructions, counted.instructions);
    assert_eq!(counted.node, whole.node - head.node);
    assert_eq!(counted.cores, vec![counted.node]);
    assert_eq!((counted.llc, counted.protection), (whole.llc - head.llc, whole.protection - head.protection));
    assert_eq!((counted.cycles, counted.time_fs), (whole.cycles - head.cycles, whole.time_fs - head.time_fs));
    assert_eq!(counted.dram_bytes, whole.dram_bytes - head.dram_bytes);
    assert!(head.llc.misses > 0 && counted.llc.misses == 0, "what fills the caches is not counted");
    assert_eq!(counted.ipc, counted.instructions as f64 / counted.cycles as f64);
}

#[test]
fn frequent_value_tables_count_only_the_lines_after_the_warm_up() {
    let watched = |warm_up| {
        let options = RunOptions { tables: vec![8], ..options("modern", "sc64-bmt", warm_up, BUDGET) };
        run(&options, gups("8 MB"), |_| RunControl::GoOn).unwrap()
    };
    let (counted, whole) = (watched(200_000), watched(0));
    assert_eq!(whole.predicted[0].predictable.lines, whole.checks.lines.lines_checked);
    assert_eq!(counted.checks.lines, whole.checks.lines);
    let (after, all) = (counted.predicted[0].predictable.lines, whole.predicted[0].predictable.lines);
    assert!((all / 3..all).contains(&after), "{after} of {all}");
}

#[test]
fn waits_within_the_warm_up_do_not_count_as_waiting_cycles() {
    // The cores wait only for the first fills; afterwards all data is in L1.
    let (counted, whole) = (one("16 KB", 200_000, BUDGET), one("16 KB", 0, BUDGET));
    let waited = |record: &Record| record.core_time.waiting_cycles.values().sum::<f64>();
    assert!(waited(&whole) > 1_000.0 && waited(&counted) == 0.0, "{} of {}", waited(&counted), waited(&whole));
    for record in [counted, four(30_000, 60_000).unwrap()] {
        assert_eq!(record.core_time.cycles, record.cores.iter().map(|core| core.cycles).sum::<u64>());
    }
}

#[test]
fn statistics_after_a_warm_up_are_exact_up_to_the_lines_in_flight() {
    let (counted, whole) = (one("32 MB", 200_000, BUDGET), one("32 MB", 0, BUDGET));
    let head = one("32 MB", 0, BUDGET - counted.instructions);
    assert_eq!((counted.node.loads, counted.node.stores), {
        let node = whole.node - head.node;
        (node.loads, node.stores)
    });
    // At most as many lines as L2 has MSHRs are under way; the core's lead over the clock adds no more.
    let misses = whole.llc.misses - head.llc.misses;
    assert!(counted.llc.misses.abs_diff(misses) <= 64 && misses > 10_000, "{} of {misses}", counted.llc.misses);
    let cycles = whole.cycles - head.cycles;
    assert!(counted.cycles.abs_diff(cycles) < cycles / 100, "{} of {cycles}", counted.cycles);
}

#[test]
fn a_warm_up_changes_no_event_and_no_check() {
    let (counted, whole) = (four(30_000, 60_000).unwrap(), four(0, 60_000).unwrap());
    assert_eq!((&counted.event_hash, &counted.checks), (&whole.event_hash, &whole.checks));
    assert_eq!(counted.feed, whole.feed);
    assert_ne!(counted.configuration_hash, whole.configuration_hash);
}

#[test]
fn the_warm_up_of_several_programs_ends_when_their_total_instructions_reach_it() {
    let counted = four(30_000, 60_000).unwrap();
    assert!(counted.instructions <= 120_000 && counted.instructions > 119_000, "{}", counted.instructions);
    assert_eq!(counted.cores.iter().map(|core| core.instructions).sum::<u64>(), counted.instructions);
    assert_eq!(counted.node.instructions, counted.instructions);
}

#[test]
fn a_warm_up_that_leaves_no_instruction_to_count_is_refused() {
    assert!(words(four(60_000, 60_000)).contains("60000 of 60000 instructions: expected fewer"));
    let settings = BTreeMap::from([("scale".to_owned(), "4".to_owned())]);
    let short = kernels::open("bfs", &settings, 1).unwrap();
    let refused = run(&options("modern", "none", 50_000_000, 90_000_000), short, |_| RunControl::GoOn);
    assert!(words(refused).contains("expected more than the warm-up's 50000000"));
    // The core executes the last instruction before the clock reaches the begin of counting.
    let refused = words(run(&options("modern", "none", 99_999, 100_000), gups("8 MB"), |_| RunControl::GoOn));
    assert!(
        refused.contains("'gups' had no instructions left to count when its warm-up of 99999 instructions ended"),
        "{refused}"
    );
    assert!(refused.contains("it had executed all 100000") && !refused.contains("expected more than"), "{refused}");
}

#[test]
fn a_sampled_run_has_no_warm_up() {
    let detail = Detail::Sampled(SamplingOptions::default());
    let sampled = RunOptions { detail, ..options("modern", "none", 1_000, BUDGET) };
    assert!(words(run(&sampled, gups("1 MB"), |_| RunControl::GoOn)).contains("a sampled run has no warm-up"));
}
