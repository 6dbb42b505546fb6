//! The untimed start of a run: instructions without time leave the chip as the same instructions in detail do.
//!
//! The two differ in the order of accesses: a core in detail executes accesses out of order, and lines are locked while
//! a permutation takes its time. Both change which page chunk is permuted first.

use crate::common::{kernel, machine_for};
use casemate_runner::sampling::{Detail, SamplingOptions};
use casemate_runner::{Record, RunControl, RunOptions, StartState, check_untimed, run, run_together};
use catalogue::{Design, Machine, design};
use machine::llc::Inclusion;
use protection::moving::PermutationTime;
use units::Bytes;

const COUNTED: u64 = 10_000;
const BEFORE: u64 = 20_000;

fn options(machine: Machine, design: Design, untimed: u64, warm_up: u64) -> RunOptions {
    let start = StartState { untimed, ..StartState::default() };
    let budget = untimed + warm_up + COUNTED;
    RunOptions { seed: 7, start, warm_up, ledger: true, ..RunOptions::new(machine, design, budget) }
}

fn ran(options: &RunOptions, workload: &str) -> Record {
    let settings: &[_] = match workload {
        "gups" | "chase" => &[("footprint", "4MB")],
        "btree" => &[("preload", "60000")],
        "resident" => &[("footprint", "32KB")],
        _ => &[],
    };
    let record = run(options, kernel(workload, settings, 1), |_| RunControl::GoOn).unwrap();
    assert!(record.checks.passed, "{workload}: {:?}", record.checks);
    assert_eq!(record.checks.pad_reused, Some(false), "{workload}");
    record
}

/// Runs of `cryptopage` in which the same instructions come first: without time, but for the last `last`, and in detail.
fn both(workload: &str, time: PermutationTime, last: u64, change: impl Fn(&mut Machine)) -> [Record; 2] {
    [(BEFORE - last, last), (0, BEFORE)].map(|(untimed, warm_up)| {
        let mut machine = machine_for("cryptopage");
        change(&mut machine);
        let mut design = design("cryptopage").unwrap();
        design.parts.permutation.as_mut().unwrap().time = time;
        ran(&options(machine, design, untimed, warm_up), workload)
    })
}

/// Requires that two numbers differ by at most `percent` of the second, and by no more than `few` if that is more.
fn near(one: f64, other: f64, percent: f64, few: f64, what: &str) {
    assert!((one - other).abs() <= (other * percent / 100.0).max(few), "{what}: {one} against {other}");
}

/// Smaller than the machine's, so that permutations begin early.
fn small_llc(machine: &mut Machine) {
    machine.llc.size = Bytes(64 << 10);
}

#[test]
fn an_untimed_start_leaves_the_locks_records_and_figures_of_a_start_in_detail() {
    for workload in ["btree", "chase"] {
        let [untimed, detailed] = both(workload, PermutationTime::Charged, 0, small_llc);
        let (start, expected) = (untimed.footprint.at_start.unwrap(), detailed.footprint.at_start.unwrap());
        near(start.llc_lines as f64, expected.llc_lines as f64, 1.0, 8.0, workload);
        near(start.llc_locked as f64, expected.llc_locked as f64, 8.0, 8.0, workload);
        near(start.tlb_pages as f64, expected.tlb_pages as f64, 1.0, 1.0, workload);
        assert_eq!(start.records, start.tlb_pages, "a page chunk is a page, and each page in a TLB has its record");
        near(start.merkle_entries as f64, expected.merkle_entries as f64, 1.0, 4.0, workload);
        let permutations = |record: &Record| record.moving.unwrap().permutations as f64;
        near(untimed.ipc, detailed.ipc, 10.0, 0.0, workload);
        near(permutations(&untimed), permutations(&detailed), 10.0, 4.0, workload);
        near(untimed.llc.misses as f64, detailed.llc.misses as f64, 2.0, 8.0, workload);
        assert!(permutations(&detailed) > 0.0, "{workload}");
    }
}

/// In detail, permutations in idle bus time end late, so more lines are locked than after an untimed start. The last instructions before
/// the counted ones, in detail, remove the difference.
#[test]
fn a_short_warm_up_after_an_untimed_start_locks_the_lines_that_late_permutations_leave_locked() {
    for workload in ["btree", "chase"] {
        let [untimed, detailed] = both(workload, PermutationTime::IdleBus, BEFORE / 2, small_llc);
        let (start, expected) = (untimed.footprint.at_start.unwrap(), detailed.footprint.at_start.unwrap());
        near(start.llc_locked as f64, expected.llc_locked as f64, 10.0, 8.0, workload);
        near(untimed.ipc, detailed.ipc, 10.0, 0.0, workload);
    }
}

#[test]
fn an_inclusive_cache_removes_lines_from_private_caches_in_an_untimed_start() {
    // The last-level cache is no larger than the private caches together, so it evicts lines that they use.
    let tiny = |machine: &mut Machine| machine.llc.size = Bytes(16 << 10);
    for workload in ["btree", "resident"] {
        let [untimed, detailed] = both(workload, PermutationTime::default(), 0, tiny);
        near(untimed.llc.misses as f64, detailed.llc.misses as f64, 4.0, 8.0, workload);
        let options = |untimed, warm_up| {
            let mut machine = machine_for("cryptopage");
            tiny(&mut machine);
            options(machine, design("none").unwrap(), untimed, warm_up)
        };
        let [plain, expected] = [(BEFORE, 0), (0, BEFORE)].map(|(first, then)| ran(&options(first, then), workload));
        near(plain.llc.misses as f64, expected.llc.misses as f64, 2.0, 8.0, workload);
        near(plain.ipc, expected.ipc, 3.0, 0.0, workload);
        let lines = |record: &Record| record.footprint.at_start.unwrap().llc_lines as f64;
        near(lines(&plain), lines(&expected), 2.0, 2.0, workload);
    }
}

#[test]
fn the_budget_includes_an_untimed_start_and_its_statistics_are_not_counted() {
    let machine = machine_for("cryptopage");
    let record = ran(&options(machine.clone(), design("cryptopage").unwrap(), BEFORE, 10_000), "btree");
    assert_eq!(record.feed.instructions, BEFORE + 10_000 + COUNTED);
    assert!((COUNTED - 2_000..=COUNTED).contains(&record.instructions), "{}", record.instructions);
    assert_eq!((record.node.instructions, record.cores[0]), (record.instructions, record.node));
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!(json["configuration"]["untimed"], BEFORE);
    // Without a design, the caches of this program are full of its lines by then.
    let resident = |untimed| ran(&options(machine.clone(), design("none").unwrap(), untimed, 0), "btree").llc.misses;
    assert!(resident(BEFORE) < resident(0));
}

#[test]
fn intervals_after_an_untimed_start_begin_at_its_end_and_add_up() {
    let options = options(machine_for("cryptopage"), design("cryptopage").unwrap(), BEFORE, 0);
    let record = ran(&RunOptions { interval: Some(10_000), ..options }, "btree");
    let intervals = record.intervals.unwrap();
    assert_eq!(intervals.iter().map(|interval| interval.instructions).sum::<u64>(), record.instructions);
    assert!((BEFORE..BEFORE + 2_000).contains(&intervals[0].start), "{}", intervals[0].start);
}

#[test]
fn two_runs_with_the_same_untimed_start_are_equal() {
    let options = options(machine_for("cryptopage"), design("cryptopage").unwrap(), BEFORE, 0);
    let [one, other] = [(); 2].map(|()| ran(&options, "btree"));
    assert_eq!((one.event_hash, one.moving, one.cycles), (other.event_hash, other.moving, other.cycles));
}

#[test]
fn an_untimed_start_is_right_under_every_kind_of_design() {
    let mut by_system = design("cryptopage-os").unwrap();
    by_system.parts.permutation.as_mut().unwrap().contexts = None;
    let mut inclusive = machine_for("sc64-bmt");
    inclusive.llc.inclusion = Inclusion::Inclusive;
    inclusive.llc.size = Bytes(2 << 20);
    for (machine, design) in [
        (machine_for("cryptopage"), by_system),
        (machine_for("cryptopage"), design("hide").unwrap()),
        (machine_for("cryptopage"), design("cryptopage-fixed").unwrap()),
        (machine_for("sc64-bmt"), design("sc64-bmt").unwrap()),
        (inclusive, design("sc64-bmt").unwrap()),
        (machine_for("secpb-cobcm"), design("secpb-cobcm").unwrap()),
    ] {
        let name = design.name.clone();
        let [untimed, detailed] = [(BEFORE, 0), (0, BEFORE)]
            .map(|(first, then)| ran(&options(machine.clone(), design.clone(), first, then), "btree"));
        near(untimed.ipc, detailed.ipc, 10.0, 0.0, &name);
        near(untimed.llc.misses as f64, detailed.llc.misses as f64, 10.0, 8.0, &name);
    }
}

#[test]
fn an_untimed_start_is_refused_with_the_rule_that_it_breaks() {
    let usual = options(machine_for("cryptopage"), design("cryptopage").unwrap(), BEFORE, 0);
    let refused = |options: &RunOptions, programs| check_untimed(options, programs).unwrap_err().to_string();
    assert!(check_untimed(&usual, 1).is_ok());
    let many = RunOptions { machine: machine_for("emcc"), design: design("emcc").unwrap(), ..usual.clone() };
    assert!(refused(&many, 1).contains("'emcc-4core' has 4 cores"));
    assert!(run_together(&many, vec![kernel("gups", &[], 1)], |_| RunControl::GoOn).is_err());
    let sampled = RunOptions { detail: Detail::Sampled(SamplingOptions::default()), ..usual.clone() };
    assert!(refused(&sampled, 1).contains("executes most instructions without time already"));
    let long = RunOptions { budget: BEFORE + 5, warm_up: 5, ..usual.clone() };
    assert!(refused(&long, 1).contains("20000 instructions without time and 5 of warm-up are 20005 of 20005"));
    let contexts = RunOptions { design: design("cryptopage-os").unwrap(), ..usual };
    let words = contexts.check_design().unwrap_err().to_string();
    assert!(words.contains("cryptopage-os has contexts of processes"), "{words}");
}

#[test]
fn a_program_that_ends_in_its_untimed_start_has_nothing_to_count() {
    let usual = options(machine_for("cryptopage"), design("none").unwrap(), 50_000_000, 0);
    let short = kernel("bfs", &[("scale", "4")], 1);
    let words = run(&usual, short, |_| RunControl::GoOn).unwrap_err().to_string();
    assert!(words.contains("expected more than the 50000000 without time and the warm-up's 0"), "{words}");
}
