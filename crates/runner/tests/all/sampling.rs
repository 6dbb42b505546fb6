//! Does a sampled run cover the whole program, check every line, contain the true result in its confidence interval,
//! and repeat exactly?

use crate::common::swept::{an_eighth, share_of_tests, side_by_side, swept};
use casemate_runner::sampling::{Aim, Detail, SamplingOptions, ratio};
use casemate_runner::{Record, RunControl, RunError, RunOptions, run};
use catalogue::Machine;
use machine::llc::Inclusion;
use std::collections::BTreeMap;
use units::Bytes;
use workload::kernels;

const SAMPLING: SamplingOptions =
    SamplingOptions { unit: 1_000, lead_in: 2_000, period: 10_000, aim: Aim::Ipc, error: 0.03, start: None };

fn options(machine: Machine, design: &str, budget: u64, detail: Detail) -> RunOptions {
    RunOptions { seed: 3, ledger: true, detail, ..RunOptions::new(machine, catalogue::design(design).unwrap(), budget) }
}

fn record(kernel: &str, settings: &[(&str, &str)], design: &str, detail: Detail) -> Record {
    record_of(600_000, kernel, settings, design, detail)
}

fn record_of(budget: u64, kernel: &str, settings: &[(&str, &str)], design: &str, detail: Detail) -> Record {
    let settings: BTreeMap<String, String> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let source = kernels::open(kernel, &settings, 1).unwrap();
    run(&options(catalogue::machine("modern").unwrap(), design, budget, detail), source, |_| RunControl::GoOn).unwrap()
}

/// Checks that the waiting of cores covers only the units, and has the same share of their cycles as in the whole run.
fn assert_units_wait_as_the_run_does(sampled: &Record, full: &Record) {
    let name = format!("{} {}", sampled.configuration.workload.program.join(" "), sampled.configuration.design.name);
    // Units begin and end at entries into the window, but the time of cores counts from retirement to retirement.
    let cycles = sampled.core_time.cycles as f64 / sampled.node.cycles as f64;
    assert!((cycles - 1.0).abs() < 0.01, "{name}: {cycles}");
    let waiting =
        |record: &Record| record.core_time.waiting_cycles.values().sum::<f64>() / record.core_time.cycles as f64;
    assert!((waiting(sampled) - waiting(full)).abs() < 0.03, "{name}: {} and {}", waiting(sampled), waiting(full));
}

#[test]
fn confidence_intervals_of_sampled_runs_contain_the_figures_of_detailed_runs() {
    for (kernel, design) in [("btree", "none"), ("btree", "sc64-bmt"), ("gups", "sc64-bmt"), ("stream", "none")] {
        let full = record(kernel, &[], design, Detail::All);
        let sampled = record(kernel, &[], design, Detail::Sampled(SAMPLING));
        let sample = sampled.sampling.as_ref().unwrap();
        assert_eq!(sampled.instructions, full.instructions, "{kernel} {design}");
        assert_eq!(sample.detailed + sample.warmed, sampled.instructions);
        assert!(sample.detailed < sampled.instructions / 3, "{kernel} {design}: {}", sample.detailed);
        let held = sample.ipc.low <= full.ipc && full.ipc <= sample.ipc.high;
        assert!(held, "{kernel} {design}: {} is not in {:?}", full.ipc, sample.ipc);
        assert_units_wait_as_the_run_does(&sampled, &full);
    }
}

#[test]
fn lines_read_in_functional_warming_are_checked_too() {
    // Designs that need several cores are not sampled.
    let modern = catalogue::machine("modern").unwrap();
    let designs =
        an_eighth(swept(), share_of_tests()).into_iter().filter(|design| modern.admits(&design.parts).is_ok());
    side_by_side(designs.collect(), |design| {
        let record = record_of(200_000, "gups", &[("footprint", "32MB")], &design.name, Detail::Sampled(SAMPLING));
        assert!(record.checks.passed, "{}: {:?}", design.name, record.checks);
        let in_units = record.llc.misses;
        assert!(record.checks.lines.lines_checked > 5 * in_units, "{}: warmed lines count as well", design.name);
    });
}

/// A core behind a persist buffer: in detail and in warming, the buffer accepts every store in order, with its bytes.
#[test]
fn a_sampled_persist_buffer_accepts_every_store_in_warming_and_in_detail() {
    let of = |design: &str, kernel: &str, detail| {
        let settings = BTreeMap::from([("load_values".to_owned(), "yes".to_owned())]);
        let source = kernels::open(kernel, &settings, 1).unwrap();
        let machine = catalogue::machine("secpb-pcm").unwrap();
        run(&options(machine, design, 200_000, detail), source, |_| RunControl::GoOn).unwrap()
    };
    for (design, kernel) in [("bbb", "gups"), ("secpb-nogap", "btree")] {
        let [full, sampled] = [Detail::All, Detail::Sampled(SAMPLING)].map(|detail| of(design, kernel, detail));
        assert!(sampled.checks.passed, "{design}: {:?}", sampled.checks);
        assert_eq!(sampled.feed, full.feed, "{design}: whatever the detail, the program is the same");
        let in_units = sampled.persist_buffer.unwrap().stores;
        assert!(sampled.feed.persistent_stores > 5 * in_units && in_units > 200, "{design}: {in_units}");
        let ipc = sampled.sampling.unwrap().ipc;
        assert!(ipc.low <= full.ipc && full.ipc <= ipc.high, "{design}: {} is not in {ipc:?}", full.ipc);
    }
}

#[test]
fn loads_of_a_sampled_run_return_values_stored_in_warming_and_in_detail() {
    let settings = [("footprint", "4MB"), ("load_values", "yes")];
    let record = record("gups", &settings, "sc64-bmt", Detail::Sampled(SAMPLING));
    assert_eq!((record.feed.load_values_wrong, record.feed.load_values_checked > 50_000), (0, true));
}

#[test]
fn equal_sampled_runs_have_equal_records() {
    let once = || record("hashjoin", &[], "sc64-bmt", Detail::Sampled(SAMPLING));
    let (first, second) = (once(), once());
    assert_eq!(Record { host: second.host.clone(), ..first }, second);
}

#[test]
fn sampled_designs_share_their_units_so_that_the_slowdown_has_a_narrow_interval() {
    let [none, bmt] = ["none", "sc64-bmt"].map(|design| record("btree", &[], design, Detail::Sampled(SAMPLING)));
    let [none, bmt] = [none, bmt].map(|record| record.sampling.unwrap());
    assert_eq!(none.series.start, bmt.series.start);
    let times = |series: &[u64]| series.iter().map(|time| *time as f64).collect::<Vec<_>>();
    let slowdown = ratio(&times(&bmt.series.time_fs), &times(&none.series.time_fs)).unwrap();
    assert!(slowdown.value > 1.0, "{slowdown:?}");
    let unmatched = none.ipc.relative_error() + bmt.ipc.relative_error();
    assert!(slowdown.relative_error() < unmatched, "{slowdown:?} against {unmatched}");
}

#[test]
fn every_machine_of_one_core_can_be_sampled_unless_its_last_level_cache_is_inclusive() {
    for machine in catalogue::machines().into_iter().filter(|machine| machine.cores == 1) {
        let is_inclusive = machine.llc.inclusion == Inclusion::Inclusive;
        let name = machine.name.clone();
        let source = kernels::open("gups", &BTreeMap::from([("footprint".to_owned(), "8 MB".to_owned())]), 1).unwrap();
        let options = options(machine, "sc64-bmt", 100_000, Detail::Sampled(SAMPLING));
        let record = match run(&options, source, |_| RunControl::GoOn) {
            Err(RunError::Sampling(rule)) if is_inclusive => {
                assert!(rule.contains("inclusive last-level cache"), "{name}: {rule}");
                continue;
            }
            record => record.unwrap(),
        };
        assert!(record.checks.passed && !is_inclusive, "{name}: {:?}", record.checks);
        assert_eq!(record.sampling.unwrap().units, 10, "{name}");
    }
}

#[test]
fn functional_warming_fills_l2s_with_counter_copies() {
    let mut machine = catalogue::machine("emcc-4core").unwrap();
    machine.cores = 1;
    machine.noc.as_mut().unwrap().core_tiles.truncate(1);
    (machine.llc.size, machine.node.l2.size) = (Bytes(512 << 10), Bytes(128 << 10));
    let run = |detail| {
        let source = kernels::open("gups", &BTreeMap::from([("footprint".to_owned(), "8 MB".to_owned())]), 1).unwrap();
        let record = run(&options(machine.clone(), "emcc", 100_000, detail), source, |_| RunControl::GoOn).unwrap();
        assert!(record.checks.passed, "{:?}", record.checks);
        record
    };
    let [full, sampled] = [Detail::All, Detail::Sampled(SAMPLING)].map(run);
    let found = |record: &Record| {
        let copies = record.counters_in_l2.unwrap();
        copies.hits as f64 / (copies.hits + copies.misses) as f64
    };
    assert!((found(&full) - found(&sampled)).abs() < 0.05, "{} {}", found(&full), found(&sampled));
}

#[test]
fn machines_with_several_cores_or_an_inclusive_cache_are_not_sampled() {
    let inclusive = {
        let mut machine = catalogue::machine("modern").unwrap();
        machine.llc.inclusion = Inclusion::Inclusive;
        machine
    };
    for (machine, why) in [(catalogue::machine("emcc-4core").unwrap(), "has 4 cores"), (inclusive, "an inclusive")] {
        let source = kernels::open("gups", &BTreeMap::new(), 1).unwrap();
        let options = options(machine, "none", 100_000, Detail::Sampled(SAMPLING));
        let refused = run(&options, source, |_| RunControl::GoOn).unwrap_err().to_string();
        assert!(refused.contains(why) && refused.contains("in full detail"), "{refused}");
    }
}

#[test]
fn a_program_too_short_for_two_units_is_refused_with_its_length() {
    let source = kernels::open("gups", &BTreeMap::new(), 1).unwrap();
    let options = options(catalogue::machine("modern").unwrap(), "none", 9_000, Detail::Sampled(SAMPLING));
    let error = run(&options, source, |_| RunControl::GoOn).unwrap_err();
    assert!(matches!(error, RunError::TooShort { .. }), "{error}");
    assert!(error.to_string().contains("executed 9000 instructions"), "{error}");
}

#[test]
fn sampling_periods_too_short_for_warming_are_refused_with_the_minimum() {
    let crowded = SamplingOptions { period: 4_000, ..SAMPLING };
    assert!(crowded.check().unwrap_err().contains("at least 7096"));
    assert!(SamplingOptions { unit: 0, ..SAMPLING }.check().unwrap_err().contains("unit has 0"));
    assert!(SamplingOptions { error: 1.0, ..SAMPLING }.check().unwrap_err().contains("error is 1"));
    assert_eq!(SamplingOptions::default().check(), Ok(()));
}

#[test]
fn a_sample_counts_as_accurate_if_the_relative_error_of_the_target_figure_is_small_enough() {
    let aimed_at = |aim, error| {
        let detail = Detail::Sampled(SamplingOptions { aim, error, ..SAMPLING });
        let sample = record_of(200_000, "gups", &[("footprint", "32MB")], "sc64-bmt", detail).sampling.unwrap();
        let found = match aim {
            Aim::Ipc => sample.ipc,
            Aim::Traffic => sample.dram_bytes,
            Aim::Latency => sample.read_latency_ns.unwrap(),
        };
        (found.relative_error(), sample.accurate)
    };
    let reached = [Aim::Ipc, Aim::Traffic, Aim::Latency].map(|aim| aimed_at(aim, 0.5).0);
    assert!(reached[0] != reached[1] && reached[1] != reached[2], "{reached:?}");
    for (aim, reached) in [Aim::Ipc, Aim::Traffic, Aim::Latency].into_iter().zip(reached) {
        assert!(!aimed_at(aim, 0.99 * reached).1, "{aim:?}");
        assert!(aimed_at(aim, 1.01 * reached).1, "{aim:?}");
    }
}
