//! A run by interval: counting by interval changes no event, and the intervals add up to the run.

use crate::common::kernel;
use casemate_runner::sampling::{Detail, SamplingOptions};
use casemate_runner::{CoreTime, Interval, Record, RunControl, RunOptions, check_interval, run, run_together};
use proptest::prelude::*;

const BUDGET: u64 = 120_000;

fn options(machine: &str, design: &str, interval: Option<u64>) -> RunOptions {
    let (machine, design) = (catalogue::machine(machine).unwrap(), catalogue::design(design).unwrap());
    RunOptions { seed: 7, interval, ..RunOptions::new(machine, design, BUDGET) }
}

fn one(options: &RunOptions) -> Record {
    run(options, kernel("gups", &[("footprint", "8 MB")], 1), |_| RunControl::GoOn).unwrap()
}

/// Two copies on EMCC's machine after a warm-up; two of its four cores are idle.
fn two(interval: Option<u64>) -> Record {
    let options = RunOptions { warm_up: 30_000, ..options("emcc-4core", "emcc", interval) };
    let copies = (0..2).map(|_| kernel("gups", &[("footprint", "8 MB")], 1)).collect();
    run_together(&options, copies, |_| RunControl::GoOn).unwrap()
}

fn intervals(record: &Record) -> &[Interval] {
    record.intervals.as_ref().unwrap()
}

/// Checks that the sum over the intervals equals each sum in the record.
fn assert_adds_up(record: &Record) {
    let all = intervals(record);
    let sum = |of: fn(&Interval) -> u64| all.iter().map(of).sum::<u64>();
    assert_eq!(sum(|part| part.instructions), record.instructions);
    assert_eq!(sum(|part| part.cycles), record.cycles);
    assert_eq!(sum(|part| part.time_fs), record.time_fs);
    assert_eq!(sum(|part| part.dram_bytes), record.dram_bytes);
    assert_eq!(sum(|part| part.core_time.cycles), record.core_time.cycles);
    let nearly_sums = |of: &dyn Fn(&CoreTime) -> f64| {
        let (sum, whole) = (all.iter().map(|part| of(&part.core_time)).sum::<f64>(), of(&record.core_time));
        assert!((sum - whole).abs() < 1.0, "{sum} of {whole}");
    };
    nearly_sums(&|time| time.at_work_cycles);
    nearly_sums(&|time| time.idle_cycles);
    for part in record.core_time.waiting_cycles.iter().map(|(part, _)| part) {
        nearly_sums(&|time| time.waiting_cycles[part]);
    }
    let lines = |part: &Interval| part.reads.as_ref().map_or(0, |reads| reads.lines);
    assert_eq!(all.iter().map(lines).sum::<u64>(), record.reads.as_ref().unwrap().lines);
    let mut parts = all.iter();
    let mut total = parts.next().unwrap().clone();
    for part in parts {
        total.node += part.node;
        total.llc += part.llc;
        total.protection += part.protection;
        total.renewals += part.renewals;
        total.speculation = total.speculation.zip(part.speculation).map(|(mut sum, speculation)| {
            sum += speculation;
            sum
        });
        total.dram += part.dram;
        total.metadata_caches.iter_mut().zip(part.metadata_caches).for_each(|(sum, cache)| *sum += cache);
    }
    assert_eq!((total.node, total.llc), (record.node, record.llc));
    assert_eq!((total.protection, total.renewals), (record.protection, record.renewals));
    assert_eq!(total.speculation, record.speculation);
    assert_eq!((total.metadata_caches, total.dram), (record.metadata_caches, record.dram));
}

/// Checks that each interval begins at the end of the previous one, and has about the requested number of instructions.
fn assert_follow_each_other(record: &Record, length: u64, origin: u64) {
    let all = intervals(record);
    for pair in all.windows(2) {
        assert_eq!(pair[0].start + pair[0].instructions, pair[1].start);
        assert_eq!(pair[0].start_fs + pair[0].time_fs, pair[1].start_fs);
        // The end is due at a multiple of the length, regardless of the error of earlier ends.
        let (began, ended) = (pair[0].start - origin, pair[1].start - origin);
        assert!(ended / length > began / length, "{began} to {ended} by {length}");
    }
    assert!(all.iter().all(|part| part.instructions > 0));
}

fn without_intervals(record: Record, host: &Record) -> Record {
    Record { intervals: None, host: host.host.clone(), ..record }
}

#[test]
fn counting_a_run_by_interval_changes_no_event() {
    for (with, without) in [
        (one(&options("modern", "sc64-bmt", Some(10_000))), one(&options("modern", "sc64-bmt", None))),
        (one(&options("modern", "none", Some(20))), one(&options("modern", "none", None))),
        (two(Some(7_000)), two(None)),
    ] {
        assert_eq!(with.event_hash, without.event_hash);
        assert_eq!(with.configuration_hash, without.configuration_hash);
        assert!(intervals(&with).len() >= 10 && without.intervals.is_none());
        assert_eq!(without_intervals(with, &without), without);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn intervals_of_any_length_add_up_to_the_run(length in prop_oneof![12..2_000u64, 2_000..BUDGET + 10, Just(u64::MAX)]) {
        let record = one(&options("modern", "sc64-bmt", Some(length)));
        assert_adds_up(&record);
        assert_follow_each_other(&record, length, 0);
        prop_assert_eq!(intervals(&record)[0].start, 0);
        prop_assert!(intervals(&record).len() as u64 <= BUDGET.div_ceil(length));
    }
}

// Properties that need fewer lengths, because their runs take longer.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn intervals_of_a_design_that_speculates_add_up_to_the_run(length in 2_000..BUDGET + 10) {
        let record = one(&options("modern", "fvs-aes", Some(length)));
        prop_assert!(record.speculation.is_some_and(|counted| counted.chunks.misses > 0));
        assert_adds_up(&record);
    }

    #[test]
    fn intervals_of_several_programs_begin_after_the_warm_up(length in 1_000..400_000u64) {
        let record = two(Some(length));
        assert_adds_up(&record);
        assert_follow_each_other(&record, length, 60_000);
        let first = &intervals(&record)[0];
        prop_assert_eq!(first.start, record.feed.instructions - record.instructions);
        prop_assert!(first.start_fs > 0);
    }
}

#[test]
fn interval_lengths_differ_from_the_requested_one_by_at_most_the_lead_of_a_core() {
    let record = one(&options("modern", "none", Some(20_000)));
    let all = intervals(&record);
    assert_eq!(all.len(), 6);
    for part in all {
        // 500 ns of a core that retires six instructions in each cycle of a quarter of a nanosecond.
        assert!(part.instructions.abs_diff(20_000) <= 12_000, "{}", part.instructions);
    }
}

#[test]
fn a_single_interval_over_the_whole_run_has_the_figures_of_the_record() {
    let record = one(&options("modern", "sc64-bmt", Some(BUDGET)));
    let [all] = intervals(&record) else { panic!("{} intervals", intervals(&record).len()) };
    assert_eq!((all.ipc, all.read_latency_ns), (record.ipc, record.read_latency_ns));
    let (here, there) = (all.reads.as_ref().unwrap(), record.reads.as_ref().unwrap());
    assert_eq!((here.mean_ns, here.median_ns, here.p99_ns), (there.mean_ns, there.median_ns, there.p99_ns));
    assert_eq!(here.parts_ns, there.parts_ns);
}

#[test]
fn a_phase_without_misses_shows_in_its_intervals() {
    // All data is in L1 after the first updates.
    let source = kernel("gups", &[("footprint", "16 KB")], 1);
    let record = run(&options("modern", "sc64-bmt", Some(30_000)), source, |_| RunControl::GoOn).unwrap();
    let [first, .., last] = intervals(&record) else { panic!("one interval") };
    assert!(first.llc.misses > 100 && first.reads.is_some());
    assert!(last.llc.misses == 0 && last.reads.is_none() && last.ipc > first.ipc, "{last:?}");
}

#[test]
fn a_run_that_cannot_be_counted_by_interval_is_refused_with_the_reason() {
    let said = |options: &RunOptions| check_interval(options, 1).unwrap_err().to_string();
    assert!(said(&options("modern", "none", Some(0))).contains("expected 1 or more, as in 1M"));
    let detail = Detail::Sampled(SamplingOptions::default());
    let sampled = RunOptions { detail, ..options("modern", "none", Some(1_000)) };
    assert!(said(&sampled).contains("a sampled run cannot be counted by interval"));
    let many = RunOptions { budget: 10_001_000, ..options("modern", "none", Some(1_000)) };
    assert!(said(&many).contains("more than 10000 intervals of 1000 instructions"));
    assert!(check_interval(&RunOptions { warm_up: 1_000, ..many.clone() }, 1).is_ok());
    let fewer = RunOptions { budget: 10_000_999, ..many };
    assert!(check_interval(&fewer, 1).is_ok() && check_interval(&fewer, 2).is_err());
}

#[test]
fn a_run_of_unknown_length_ends_after_the_maximum_of_intervals() {
    let endless = RunOptions { budget: u64::MAX, ..options("modern", "none", Some(1)) };
    let source = kernel("gups", &[("footprint", "8 MB")], 1);
    let refused = run(&endless, source, |_| RunControl::GoOn).unwrap_err();
    assert!(refused.to_string().contains("more than 10000 intervals of 1 instructions"), "{refused}");
}

#[test]
fn a_run_with_too_many_intervals_fails_even_if_its_program_ends_by_itself() {
    let options = RunOptions { budget: u64::MAX, ..options("modern", "none", Some(1)) };
    let count = |steps: &str| {
        let source = kernel("chase", &[("footprint", "8 MB"), ("chains", "1"), ("work", "0"), ("steps", steps)], 1);
        run(&options, source, |_| RunControl::GoOn).map(|record| intervals(&record).len())
    };
    // About one interval for each step; the run checks their number every few hundred steps.
    let counts = ["9000", "10200", "10300"].map(count);
    assert!(counts[0].is_ok() && counts[1].is_err() && counts[2].is_err(), "{counts:?}");
}
