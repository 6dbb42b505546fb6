//! Reads that L2s decrypt and verify, in runs of four cores: the bytes are correct, and the component that the design
//! names verifies each line once.

use crate::common::kernel;
use casemate_runner::{Record, RunControl, RunOptions, StartingAge, run_together};
use catalogue::{Machine, OffBelow};
use machine::miss_prediction::MissPrediction;
use protection::slot::Kind;
use units::Bytes;

/// EMCC's machine with caches so small that little work fills them.
fn machine() -> Machine {
    let mut machine = catalogue::machine("emcc-4core").unwrap();
    (machine.llc.size, machine.node.l2.size) = (Bytes(512 << 10), Bytes(128 << 10));
    machine
}

/// Four copies of a kernel that reads and writes all over a memory, each on a separate core.
fn four(machine: Machine, design: &str) -> Record {
    four_of("8 MB", 30_000, machine, design)
}

fn four_of(footprint: &str, budget: u64, machine: Machine, design: &str) -> Record {
    aged_four_of(StartingAge::New, footprint, budget, machine, design)
}

fn aged_four_of(age: StartingAge, footprint: &str, budget: u64, machine: Machine, design: &str) -> Record {
    let design = catalogue::design(design).unwrap();
    let options = RunOptions { seed: 7, start: age.into(), ledger: true, ..RunOptions::new(machine, design, budget) };
    let copies = (0..4).map(|copy| kernel("gups", &[("footprint", footprint)], copy)).collect();
    run_together(&options, copies, |_| RunControl::GoOn).unwrap()
}

#[test]
fn every_line_from_memory_is_verified_once_in_an_l2_or_at_the_controller() {
    let record = four(machine(), "emcc");
    let work = record.protection;
    assert!(record.checks.passed, "{:?}", record.checks);
    assert_eq!(record.checks.lines.lines_checked, record.llc.misses);
    assert_eq!(work.released_unverified, 0);
    assert!(work.released_in_l2 > record.llc.misses / 10 && work.released_in_l2 < record.llc.misses, "{work:?}");
    // An L2 computes pads in vain if a write-back invalidates the encryption counters before the line arrives.
    assert!(work.aes_blocks_in_l2 >= 5 * work.released_in_l2 && work.aes_blocks_in_l2 < 6 * work.released_in_l2);
}

#[test]
fn aged_counters_overflow_in_runs_without_overflows_of_new_ones() {
    let mut small = machine();
    (small.llc.size, small.node.l2.size) = (Bytes(128 << 10), Bytes(32 << 10));
    let run = |age| aged_four_of(age, "4 MB", 20_000, small.clone(), "emcc");
    let [new, aged] = [StartingAge::New, StartingAge::Steady].map(run);
    for record in [&new, &aged] {
        assert!(record.checks.passed, "{:?}", record.checks);
        assert_eq!(record.protection.released_unverified, 0);
    }
    assert_eq!(new.renewals.groups, 0);
    // After three writes per line on average, one of a half's 64 minors overflows while another is still zero: 192 writes.
    let (groups, written) = (aged.renewals.groups, aged.protection.stored[Kind::Data] - aged.renewals.lines);
    assert!(groups > written / 384 && groups < written / 96, "{:?} after {written} writes", aged.renewals);
    assert!(aged.renewals.lines >= 63 * groups && aged.cycles > new.cycles, "{:?}", aged.renewals);
    assert_ne!(new.configuration_hash, aged.configuration_hash);
}

#[test]
fn writes_invalidate_l2_counter_copies_that_cores_use() {
    let copies = four(machine(), "emcc").counters_in_l2.unwrap();
    assert!(copies.invalidated > 100 && copies.invalidated <= copies.entered, "{copies:?}");
    assert!(copies.hits > 0 && copies.last_level_hits > 0, "{copies:?}");
}

#[test]
fn counter_copies_and_data_evict_each_other_in_l2s() {
    let [eager, serial] = ["emcc", "morphable-llc"].map(|design| four(machine(), design));
    let copies = eager.counters_in_l2.unwrap();
    assert!(copies.displaced > 1_000 && copies.displaced + copies.invalidated < copies.entered, "{copies:?}");
    // Dirty lines leave earlier if data has fewer entries.
    let [eager, serial] = [eager, serial].map(|record| record.node.l2.writebacks);
    assert!(eager > serial + serial / 10, "{eager} {serial}");
}

#[test]
fn an_l2_with_a_shorter_maximum_aes_wait_leaves_more_reads_to_the_controller() {
    let with = |patience_ns| {
        let mut machine = machine();
        machine.at_l2.as_mut().unwrap().patience_ns = Some(patience_ns);
        let record = four(machine, "emcc");
        assert!(record.checks.passed, "{:?}", record.checks);
        record.protection.released_in_l2
    };
    let [none, some, much] = [0.0, 6.0, 1e5].map(with);
    assert!(none < some && some < much, "{none} {some} {much}");
}

#[test]
fn l2s_that_see_the_load_of_the_controller_leave_it_other_reads() {
    let with = |sees_controller| {
        let mut machine = machine();
        machine.at_l2.as_mut().unwrap().sees_controller = sees_controller;
        let record = four(machine, "emcc");
        assert!(record.checks.passed, "{:?}", record.checks);
        record
    };
    let [blind, seeing] = [false, true].map(with);
    let in_l2s = [&blind, &seeing].map(|record| record.protection.released_in_l2);
    assert!(in_l2s[0] != in_l2s[1] && blind.event_hash != seeing.event_hash, "{in_l2s:?} lines of L2s");
    assert_ne!(blind.cycles, seeing.cycles);
}

#[test]
fn llc_hits_cause_no_aes_operations_in_l2s() {
    // All data fits in the last-level cache: L2s compute pads only for first reads, which memory serves.
    let mut machine = machine();
    (machine.llc.size, machine.node.l2.size) = (Bytes(8 << 20), Bytes(64 << 10));
    let record = four_of("256 KB", 150_000, machine, "emcc");
    assert!(record.llc.hits > record.llc.misses, "{:?}", record.llc);
    assert!(record.protection.aes_blocks_in_l2 <= 5 * record.llc.misses);
}

/// Numbers of lines from memory by the place of their counters, with the record.
fn found(design: &str) -> ([u64; 4], Record) {
    let record = four(machine(), design);
    let found = record.counters_found.unwrap();
    ([found.in_l2, found.at_controller, found.in_last_level, found.in_memory], record)
}

#[test]
fn statistics_count_each_line_from_memory_once_by_the_source_of_its_counters() {
    for (design, places) in [
        ("emcc", [true; 4]),
        ("morphable-llc", [false, true, true, true]),
        ("morphable-ecc", [false, true, false, true]),
    ] {
        let (found, record) = found(design);
        assert_eq!(found.iter().sum::<u64>(), record.checks.lines.lines_checked, "{design}: {found:?}");
        assert_eq!(found.map(|lines| lines > 0), places, "{design}: {found:?}");
    }
    assert_eq!(four(machine(), "none").counters_found, None);
}

#[test]
fn l2s_request_counters_early_and_a_controller_only_after_its_cache_misses() {
    let (_, eager) = found("emcc");
    let copies = eager.counters_in_l2.unwrap();
    let requests = eager.counters_found.unwrap().looked_up_in_last_level;
    assert!(requests >= copies.misses && requests < eager.node.l2.misses, "{requests}, {copies:?}");
    assert!(copies.useless > 0 && copies.useless < copies.misses, "{copies:?}");
    // A controller with serial look-ups asks the last-level cache only for counters that it does not hold.
    let ([_, _, in_last_level, in_memory], serial) = found("morphable-llc");
    assert_eq!(serial.counters_found.unwrap().looked_up_in_last_level, in_last_level + in_memory);
}

#[test]
fn l2_miss_latency_is_lowest_unprotected_and_lower_with_decryption_in_l2s() {
    // In an L2 of 128 KB, copies of counters occupy a quarter of the entries, which costs more time than the copies
    // save.
    let mut machine = machine();
    machine.node.l2.size = Bytes(512 << 10);
    let [none, eager, serial] = ["none", "emcc", "morphable-llc"].map(|design| {
        let record = four(machine.clone(), design);
        let waited = record.node.l2_data_misses;
        let each = |core: &machine::node::NodeCounts| core.l2_data_misses.lines;
        assert_eq!(record.cores.iter().map(each).sum::<u64>(), waited.lines);
        assert!(waited.lines > 10_000 && waited.lines <= record.node.l2.misses, "{waited:?}");
        waited.cycles as f64 / waited.lines as f64
    });
    assert!(none < eager && eager < serial, "{none} {eager} {serial} cycles");
}

#[test]
fn lines_decrypted_in_l2s_are_at_most_those_with_counters_in_an_l2_or_the_llc() {
    let ([in_l2, _, in_last_level, _], record) = found("emcc");
    let released = record.protection.released_in_l2;
    assert!(released > 0 && released <= in_l2 + in_last_level, "{released} of {in_l2} and {in_last_level}");
}

#[test]
fn llc_miss_prediction_shortens_reads_and_wrong_predictions_are_dropped() {
    for design in ["none", "sc64-bmt-speculative", "morphable-llc", "emcc"] {
        // A last-level cache that holds a large part of the data.
        let with = |miss_prediction| {
            let mut machine = machine();
            machine.llc.size = Bytes(4 << 20);
            machine.llc.miss_prediction = miss_prediction;
            let record = four_of("1536 KB", 60_000, machine, design);
            assert!(record.checks.passed, "{design}: {:?}", record.checks);
            assert_eq!(record.checks.lines.lines_checked, record.llc.misses, "{design}");
            record
        };
        let [without, xpt] = [None, Some(MissPrediction::Xpt)].map(with);
        assert_eq!((without.llc.predicted, without.llc.predicted_wrongly), (0, 0));
        let (llc, fetched) = (xpt.llc, xpt.protection.fetched[Kind::Data]);
        assert!(llc.predicted > llc.misses / 2 && llc.predicted_wrongly > 100, "{design}: {llc:?}");
        assert!(fetched > llc.misses && fetched <= llc.misses + llc.predicted, "{design}: {fetched} lines, {llc:?}");
        let latency = |record: &Record| record.llc.miss_latency_fs / record.llc.misses;
        assert!(latency(&xpt) < latency(&without), "{design}: {} fs, not {}", latency(&xpt), latency(&without));
    }
}

#[test]
fn an_l2_whose_misses_rarely_reach_memory_leaves_most_reads_to_the_controller() {
    // All data fits in the last-level cache: memory serves only first reads, and later almost no request.
    let with = |off_below, footprint: &str| {
        let mut machine = machine();
        (machine.llc.size, machine.node.l2.size) = (Bytes(8 << 20), Bytes(64 << 10));
        machine.at_l2.as_mut().unwrap().off_below = off_below;
        let record = four_of(footprint, 150_000, machine, "emcc");
        assert!(record.checks.passed, "{:?}", record.checks);
        record
    };
    let requests = |record: &Record| {
        let copies = record.counters_in_l2.unwrap();
        copies.hits + copies.misses
    };
    let threshold = Some(OffBelow { per_thousand_requests: 300, sample: 500 });
    let [always, seldom] = [None, threshold].map(|off_below| with(off_below, "128 KB"));
    assert!(
        requests(&seldom) < requests(&always) / 2,
        "{} of {} looks for counters",
        requests(&seldom),
        requests(&always)
    );
    // If memory serves most requests, the threshold changes no event.
    let [always, busy] = [None, threshold].map(|off_below| with(off_below, "64 MB"));
    assert_eq!((requests(&busy), busy.event_hash), (requests(&always), always.event_hash));
}

#[test]
fn equal_emcc_runs_have_equal_event_hashes() {
    assert_eq!(four(machine(), "emcc").event_hash, four(machine(), "emcc").event_hash);
}

#[test]
fn designs_that_verify_at_the_controller_use_no_copies_and_no_aes_of_l2s() {
    let record = four(machine(), "morphable-llc");
    assert!(record.checks.passed, "{:?}", record.checks);
    assert_eq!((record.protection.released_in_l2, record.protection.aes_blocks_in_l2), (0, 0));
    assert_eq!(record.counters_in_l2, None);
}

#[test]
fn a_predicted_fetch_begins_when_its_prediction_arrives_however_long_the_l2_look_up_takes() {
    let cycle_ns = machine().node.clock_mhz.clock().period().as_ns_f64();
    // The fetch from memory ends after the request has arrived, so that it decides the time of a predicted read.
    let cycles_by = |ns: f64, miss_prediction| {
        let mut machine = machine();
        machine.llc.miss_prediction = miss_prediction;
        machine.node.l2.latency_cycles = (ns / cycle_ns).round() as u64;
        let options = RunOptions { seed: 7, ..RunOptions::new(machine, catalogue::design("none").unwrap(), 60_000) };
        let chase = kernel("chase", &[("footprint", "64 MB")], 0);
        let record = run_together(&options, vec![chase], |_| RunControl::GoOn).unwrap();
        assert!(record.llc.misses > 2_500, "{:?}", record.llc);
        record.cycles as f64 / record.llc.misses as f64 * cycle_ns
    };
    let slower = |miss_prediction| cycles_by(17.5, miss_prediction) - cycles_by(7.5, miss_prediction);
    let (unpredicted, predicted) = (slower(None), slower(Some(MissPrediction::Xpt)));
    assert!(unpredicted > 9.0, "{unpredicted} ns");
    assert!(predicted < 2.0, "{predicted} ns");
}
