//! Programs that order what becomes durable by flushes and fences, on the simulated machine.

use crate::common::{kernel, machine_for};
use casemate_runner::{Control, Record, RunOptions, run};
use catalogue::Machine;
use machine::node::EpochCounters;

fn on(machine: Machine, workload: &str, settings: &[(&str, &str)], design: &str) -> Record {
    let options = RunOptions::new(machine, catalogue::design(design).unwrap(), 100_000);
    run(&options, kernel(workload, settings, 1), |_| Control::GoOn).unwrap()
}

fn record(workload: &str, settings: &[(&str, &str)], design: &str) -> Record {
    on(catalogue::machine("secpb-pcm").unwrap(), workload, settings, design)
}

#[test]
fn fences_cost_most_where_memory_has_a_line_latest() {
    let time = |design, order| record("log", &[("order", order)], design).cycles;
    let fenced = ["none", "sc64-bmt", "plp-coalesced", "plp-sp"].map(|design| time(design, "record-first"));
    assert!(
        fenced.is_sorted_by(|less, more| less < more),
        "a tuple later than a write, strict order later: {fenced:?}"
    );
    assert!(time("plp-sp", "unfenced") * 4 < fenced[3], "without flushes nothing is awaited");
}

/// SecPB, section II: what is durable as soon as the core has stored it needs no flush and no fence.
#[test]
fn behind_a_persist_buffer_flushes_and_fences_do_nothing() {
    let buffered = record("log", &[], "secpb-cobcm");
    assert_eq!((buffered.epochs, buffered.llc.writebacks), (None, 0));
    assert!(buffered.cycles < record("log", &[], "none").cycles, "{}: it waits for no write", buffered.cycles);
}

#[test]
fn in_durable_caches_flushes_and_fences_do_nothing() {
    for (durable, volatile) in [("eadr", "none"), ("secure-eadr", "sc64-bmt")] {
        let [flushed, unflushed] =
            ["record-first", "unfenced"].map(|order| record("log", &[("order", order)], durable));
        assert_eq!(flushed.epochs, None, "{durable}");
        assert!(flushed.cycles < 2 * unflushed.cycles, "{durable}: {} and {}", flushed.cycles, unflushed.cycles);
        assert!(flushed.cycles < record("log", &[], volatile).cycles, "{durable}: {volatile} waits for writes");
    }
}

#[test]
fn every_fence_of_a_program_is_held_by_what_it_flushed_and_every_flush_finds_its_line_dirty() {
    for (workload, settings) in [("log", vec![]), ("btree", vec![("persistent", "yes")])] {
        let record = record(workload, &settings, "plp-pipelined");
        let EpochCounters { flushes, fences, fences_held } = record.epochs.unwrap();
        assert!(record.checks.passed && fences > 20, "{workload}: {:?}", record.checks);
        assert_eq!(fences_held, fences, "{workload}");
        let written = record.llc.writebacks;
        assert!(written <= flushes && flushes <= written * 11 / 10, "{workload}: {flushes} flushed, {written} written");
    }
}

/// That machine's stores leave a write buffer when their miss has a register.
#[test]
fn behind_a_write_buffer_every_flush_finds_its_line_dirty_too() {
    for design in ["none", "plp-sp"] {
        let record = on(catalogue::machine("champsim-default").unwrap(), "log", &[], design);
        let (flushes, written) = (record.epochs.unwrap().flushes, record.llc.writebacks);
        assert!(record.checks.passed && written == flushes, "{design}: {flushes} flushed, {written} written");
    }
}

#[test]
fn a_line_that_is_flushed_stays_in_the_caches() {
    let misses = |design| record("log", &[], design).llc.misses;
    assert_eq!(misses("plp-sp"), misses("secpb-cobcm"), "which flushes nothing");
}

#[test]
fn what_fences_waited_for_is_what_a_slower_memory_lengthens() {
    let settings = [("persistent", "yes")];
    let fence = |record: &Record| record.core_time.waiting_cycles[protection::execution::ReadPart::Fence];
    let (none, slow) = (record("btree", &settings, "none"), record("btree", &settings, "plp-sp"));
    assert!(fence(&slow) > 2.0 * fence(&none) && fence(&none) > 0.0, "{} and {}", fence(&slow), fence(&none));
}

#[test]
fn emccs_l2s_flush_lines_that_the_last_level_cache_has_unverified() {
    let record = on(machine_for("emcc"), "btree", &[("persistent", "yes")], "emcc");
    assert!(record.checks.passed && record.epochs.is_some(), "{:?}", record.checks);
}
