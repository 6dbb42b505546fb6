//! Programs that order durability by flushes and fences, on the simulated machine.

use crate::common::{kernel, machine_for};
use crate::threads::Threads;
use casemate_runner::{Record, RunControl, RunOptions, run};
use catalogue::Machine;
use machine::node::FenceCounts;

fn on(machine: Machine, workload: &str, settings: &[(&str, &str)], design: &str) -> Record {
    let options = RunOptions::new(machine, catalogue::design(design).unwrap(), 100_000);
    run(&options, kernel(workload, settings, 1), |_| RunControl::GoOn).unwrap()
}

fn record(workload: &str, settings: &[(&str, &str)], design: &str) -> Record {
    on(catalogue::machine("secpb-pcm").unwrap(), workload, settings, design)
}

#[test]
fn fences_take_longer_under_designs_that_make_lines_durable_later() {
    let time = |design, order| record("log", &[("order", order)], design).cycles;
    let fenced = ["none", "sc64-bmt", "plp-coalesced"].map(|design| time(design, "record-first"));
    assert!(fenced.is_sorted_by(|less, more| less < more), "a tuple later than a write: {fenced:?}");
    assert!(time("plp-coalesced", "unfenced") * 4 < fenced[2], "without flushes nothing is awaited");
}

/// PLP, section III: strict persistency orders all stores, so a flush or a fence has no effect.
#[test]
fn under_strict_persistency_each_store_drains_and_flushes_and_fences_have_no_effect() {
    for design in ["plp-sp", "plp-pipelined"] {
        let [fenced, unfenced] = ["record-first", "unfenced"].map(|order| record("log", &[("order", order)], design));
        let through = fenced.persist_buffer.unwrap();
        assert!(fenced.checks.passed, "{design}: {:?}", fenced.checks);
        assert_eq!((fenced.epochs, fenced.llc.writebacks, unfenced.llc.writebacks), (None, 0, 0), "{design}");
        assert_eq!((through.allocations, through.drains), (through.stores, through.stores), "{design}: one store each");
        assert_eq!(through.stores, fenced.feed.persistent_stores, "{design}");
        assert!(fenced.cycles < unfenced.cycles * 11 / 10, "{design}: {} {}", fenced.cycles, unfenced.cycles);
    }
}

/// The controller's buffers limit the entries under way, and a line has one entry at a time, for stores of all cores.
#[test]
fn stores_of_several_cores_to_shared_lines_complete_under_strict_persistency() {
    for (design, cores) in [("plp-sp", 2), ("plp-pipelined", 4), ("plp-sp-dbmf", 2)] {
        for footprint in ["4 KB", "64 KB"] {
            let machine = Machine { cores, ..catalogue::machine("secpb-pcm").unwrap() };
            let options = RunOptions::new(machine, catalogue::design(design).unwrap(), 20_000);
            let options = RunOptions { ledger: true, ..options };
            let record =
                run(&options, Threads::of("gups", &[("footprint", footprint)], cores), |_| RunControl::GoOn).unwrap();
            assert!(record.checks.passed, "{design} {footprint}: {:?}", record.checks);
            assert_eq!(record.persist_buffer.unwrap().stores, record.feed.persistent_stores, "{design} {footprint}");
        }
    }
}

/// In strict order the design updates one root for each store, 40 cycles for each edge of the tree; in a pipeline, the updates are one
/// level apart. A second store to the same line waits for the whole tuple of the first. At most eight tuples are under way, so a level is
/// not the only limit.
#[test]
fn a_store_takes_a_tree_path_under_strict_persistency_and_a_level_if_pipelined() {
    let of = |design, per_line| {
        let record = record("stores", &[("rate", "474"), ("per_line", per_line)], design);
        record.cycles as f64 / record.persist_buffer.unwrap().stores as f64
    };
    let (path, level) = (7.0 * 40.0, 40.0);
    let found = [
        of("plp-sp", "10") / path,
        of("plp-sp", "21") / path,
        of("plp-pipelined", "10") / level,
        2.1 * of("plp-pipelined", "21") / (path + level),
    ];
    assert!(found.iter().all(|part| (1.0..1.4).contains(part)), "{found:?}");
    assert!(of("secpb-cm", "21") < 0.6 * of("plp-sp", "21"), "two stores share an entry");
}

/// SecPB, section II: a store that is durable at once needs neither flush nor fence.
#[test]
fn a_persist_buffer_ignores_flushes_and_fences() {
    let buffered = record("log", &[], "secpb-cobcm");
    assert_eq!((buffered.epochs, buffered.llc.writebacks), (None, 0));
    assert!(buffered.cycles < record("log", &[], "none").cycles, "{}: it waits for no write", buffered.cycles);
}

#[test]
fn durable_caches_ignore_flushes_and_fences() {
    for (durable, volatile) in [("eadr", "none"), ("secure-eadr", "sc64-bmt")] {
        let [flushed, unflushed] =
            ["record-first", "unfenced"].map(|order| record("log", &[("order", order)], durable));
        assert_eq!(flushed.epochs, None, "{durable}");
        assert!(flushed.cycles < 2 * unflushed.cycles, "{durable}: {} and {}", flushed.cycles, unflushed.cycles);
        assert!(flushed.cycles < record("log", &[], volatile).cycles, "{durable}: {volatile} waits for writes");
    }
}

#[test]
fn every_fence_waits_for_its_flushes_and_nearly_every_flush_writes_a_dirty_line() {
    for (workload, settings) in [("log", vec![]), ("btree", vec![("persistent", "yes")])] {
        let record = record(workload, &settings, "plp-coalesced");
        let FenceCounts { flushes, fences, fences_held } = record.epochs.unwrap();
        assert!(record.checks.passed && fences > 20, "{workload}: {:?}", record.checks);
        assert_eq!(fences_held, fences, "{workload}");
        let written = record.llc.writebacks;
        assert!(written <= flushes && flushes <= written * 11 / 10, "{workload}: {flushes} flushed, {written} written");
    }
}

/// The stores of this machine leave a write buffer when their miss has an MSHR.
#[test]
fn with_a_write_buffer_every_flush_writes_a_dirty_line() {
    for design in ["none", "plp-coalesced"] {
        let record = on(catalogue::machine("champsim-default").unwrap(), "log", &[], design);
        let (flushes, written) = (record.epochs.unwrap().flushes, record.llc.writebacks);
        assert!(record.checks.passed && written == flushes, "{design}: {flushes} flushed, {written} written");
    }
}

#[test]
fn a_line_that_is_flushed_stays_in_the_caches() {
    let misses = |design| record("log", &[], design).llc.misses;
    assert_eq!(misses("plp-coalesced"), misses("secpb-cobcm"), "which flushes nothing");
}

#[test]
fn fences_wait_longer_under_a_slower_durable_design() {
    let settings = [("persistent", "yes")];
    let fence = |record: &Record| record.core_time.waiting_cycles[protection::execution::ReadPart::Fence];
    let (none, slow) = (record("btree", &settings, "none"), record("btree", &settings, "plp-coalesced"));
    assert!(fence(&slow) > 2.0 * fence(&none) && fence(&none) > 0.0, "{} and {}", fence(&slow), fence(&none));
}

#[test]
fn a_persistent_program_runs_right_on_emcc_with_flushes_of_unverified_lines() {
    let record = on(machine_for("emcc"), "btree", &[("persistent", "yes")], "emcc");
    assert!(record.checks.passed && record.epochs.is_some(), "{:?}", record.checks);
}
