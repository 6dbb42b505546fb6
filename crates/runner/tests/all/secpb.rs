//! Stores that pass through a persist buffer on their way from a simulated core.

use crate::common::{kernel, machine_for};
use crate::threads::Threads;
use casemate_runner::explain::{Lines, Of, OnChipMetadata, Scenario, explain};
use casemate_runner::{Record, RunControl, RunError, RunOptions, run};
use catalogue::{Design, Machine};
use protection::design::{Fraction, Persistence, Step};
use protection::tree::ForestDesign;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The schemes, from the one without early steps to the one without late steps.
const SCHEMES: [&str; 6] = ["secpb-cobcm", "secpb-obcm", "secpb-bcm", "secpb-cm", "secpb-m", "secpb-nogap"];
const WORKLOADS: [&str; 4] = ["gups", "stream", "btree", "resident"];

fn changed(workload: &str, design: &str, change: impl Fn(&mut Design)) -> Record {
    let mut design = catalogue::design(design).unwrap();
    let machine = machine_for(&design.name);
    change(&mut design);
    let options = RunOptions { ledger: true, ..RunOptions::new(machine, design, 60_000) };
    run(&options, kernel(workload, &[], 1), |_| RunControl::GoOn).unwrap()
}

/// The run of a workload under an unchanged design. Several tests use the same run.
fn record(workload: &'static str, design: &'static str) -> Arc<Record> {
    type Runs = BTreeMap<(&'static str, &'static str), Arc<OnceLock<Arc<Record>>>>;
    static RUNS: Mutex<Runs> = Mutex::new(BTreeMap::new());
    let run = RUNS.lock().unwrap().entry((workload, design)).or_default().clone();
    run.get_or_init(|| Arc::new(changed(workload, design, |_| ()))).clone()
}

#[test]
fn runs_with_a_persist_buffer_read_right_and_reuse_no_pad() {
    for workload in WORKLOADS {
        for design in SCHEMES.into_iter().chain(["bbb", "bbb-gap"]) {
            let record = record(workload, design);
            assert!(record.checks.passed, "{workload} under {design}: {:?}", record.checks);
            let buffer = record.persist_buffer.unwrap();
            assert!(buffer.stores >= buffer.allocations && buffer.allocations >= buffer.drains, "{buffer:?}");
            assert!(buffer.stores > 200, "{workload} under {design} stores too little: {buffer:?}");
            assert_eq!(record.llc.writebacks, 0, "what the buffer has had is dropped by the last-level cache");
        }
    }
}

/// SecPB, section IV-A: more early steps make a run slower. Two schemes within a fiftieth count as equal.
#[test]
fn a_run_is_slower_the_more_steps_are_early() {
    for workload in WORKLOADS {
        let cycles = SCHEMES.map(|design| record(workload, design).cycles);
        let in_order = cycles.windows(2).all(|pair| pair[1] * 50 >= pair[0] * 49);
        let stores_often = ["gups", "stream"].contains(&workload);
        assert!(in_order && (!stores_often || cycles[5] > cycles[0]), "{workload}: {cycles:?}");
    }
}

#[test]
fn every_persist_buffer_scheme_accepts_equally_many_stores() {
    let stores = SCHEMES.map(|design| record("btree", design).persist_buffer.unwrap().stores);
    assert!(stores.iter().all(|one| *one == stores[0]), "{stores:?}");
}

/// SecPB, section IV-A: one update of the root serves all stores of a residency. A store or a few drains may be under way at the end.
#[test]
fn the_root_is_updated_once_per_persist_buffer_entry_early_or_at_the_drain() {
    for design in SCHEMES {
        let record = record("stream", design);
        let (roots, buffer) = (record.protection.root_updates, record.persist_buffer.unwrap());
        let early = catalogue::design(design).unwrap().parts.persistence.early;
        let (entries, under_way) = if early.has(Step::Root) { (buffer.allocations, 1) } else { (buffer.drains, 16) };
        assert!(roots <= entries && entries <= roots + under_way, "{design}: {roots} roots, {buffer:?}");
    }
}

#[test]
fn a_larger_persist_buffer_merges_more_stores_per_entry_with_store_locality() {
    let per_entry = |entries| {
        let buffer = changed("btree", "secpb-cm", |design| design.parts.persistence.entries = entries);
        let buffer = buffer.persist_buffer.unwrap();
        buffer.stores as f64 / buffer.allocations as f64
    };
    let found = [2, 8, 32].map(per_entry);
    assert!(found.is_sorted_by(|fewer, more| fewer < more), "{found:?}");
}

#[test]
fn a_lower_drain_watermark_causes_no_more_stalls_of_a_full_persist_buffer() {
    let waited = |from, to| {
        let record = changed("stream", "secpb-cobcm", |design| {
            let persistence = &mut design.parts.persistence;
            (persistence.drain_from, persistence.drain_to) = (Fraction::thousandths(from), Fraction::thousandths(to));
        });
        record.persist_buffer.unwrap().full_cycles
    };
    assert!(waited(500, 250) <= waited(1000, 950), "the later it begins, the fuller it is");
}

#[test]
fn stores_wait_for_persist_answers_exactly_in_schemes_with_early_steps() {
    for design in SCHEMES {
        let record = record("stream", design);
        let early = catalogue::design(design).unwrap().parts.persistence.early;
        let waited = record.persist_buffer.unwrap().answer_cycles;
        assert_eq!(waited > 0, early.has(Step::Counter), "{design}: {waited}");
    }
}

/// SecPB, section VI-B: the paper derives IPC from the rate of stores, the share of stores to an existing entry, and the time of a root and
/// a tag. The first store of an entry computes its tag in parallel with its root.
#[test]
fn the_run_time_of_a_store_bound_kernel_is_the_sum_of_its_store_latencies() {
    let machine = machine_for("secpb-cm");
    let cycle_fs = machine.node.clock_mhz.clock().period().as_fs();
    let scenario = Scenario { of: Of::Store, on_chip: OnChipMetadata::All, ..Scenario::default() };
    let lines = Lines::Sample { lines: 5, seed: 1, no_conflict: false };
    let first_store = |design: &str| {
        explain(&machine, &catalogue::design(design).unwrap(), scenario, lines).unwrap().latency_fs / cycle_fs
    };
    // A store takes two cycles into the buffer, and under NoGap a tag takes 40; the pad and the line's counter already exist.
    for (design, each) in [("secpb-cm", 2), ("secpb-nogap", 2 + 40)] {
        let first = first_store(design);
        for (rate, per_line) in [(474, 21), (388, 176)] {
            let settings = [("rate", rate.to_string()), ("per_line", per_line.to_string())];
            let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
            let run_of = |name: &str| {
                let options = RunOptions::new(machine.clone(), catalogue::design(name).unwrap(), 100_000);
                run(&options, kernel("stores", &settings, 1), |_| RunControl::GoOn).unwrap()
            };
            let (found, stores) = (run_of(design).cycles, 100_000 * rate / 10_000);
            let entries = stores * 10 / per_line;
            let expected = entries * first + (stores - entries) * each;
            // Stores hide the other instructions if they are the bottleneck; otherwise they hide only a part.
            let expected = expected.max(run_of("bbb").cycles);
            assert!(found.abs_diff(expected) * 100 <= expected * 15, "{design}, {rate}: {found} and {expected}");
        }
    }
}

/// SecPB, section VI-E, over 8 GB. The root of the tree is seven hashes above a counter, a height of eight in the paper. The nodes of the
/// lowest level that fits 4 KB are five hashes above it, and those of the second forest two. The third number counts the nodes to look up,
/// including a root with a slot.
const FORESTS: [(Option<ForestDesign>, u64, u64); 3] = [
    (Some(ForestDesign::Static { level: 1, entries: 32_768 }), 2, 2),
    (Some(ForestDesign::Static { level: 0, entries: 64 }), 5, 5),
    (None, 7, 6),
];

#[test]
fn a_store_is_faster_the_nearer_its_forest_root_is() {
    let machine = machine_for("secpb-cm");
    let over = |forest| {
        let mut design = catalogue::design("secpb-cm").unwrap();
        design.parts.tree.forest = forest;
        design
    };
    let cycle_fs = machine.node.clock_mhz.clock().period().as_fs();
    let scenario = Scenario { of: Of::Store, on_chip: OnChipMetadata::All, ..Scenario::default() };
    let lines = Lines::Sample { lines: 5, seed: 1, no_conflict: false };
    let first_store = |forest| explain(&machine, &over(forest), scenario, lines).unwrap().latency_fs / cycle_fs;
    let rest = FORESTS.map(|(forest, hashes, nodes)| first_store(forest) - 40 * hashes - 2 * nodes);
    assert!(rest.iter().all(|one| *one == rest[0]), "{rest:?}");
    // The store rate of gamess.
    let cycles = FORESTS.map(|(forest, ..)| {
        let options = RunOptions::new(machine.clone(), over(forest), 100_000);
        let settings = [("rate", "474"), ("per_line", "21")];
        run(&options, kernel("stores", &settings, 1), |_| RunControl::GoOn).unwrap().cycles
    });
    assert!(cycles[0] * 3 < cycles[1] * 2 && cycles[1] * 5 < cycles[2] * 4, "{cycles:?}");
}

#[test]
fn a_forest_makes_a_run_faster_than_a_single_tree() {
    for (workload, design) in [("gups", "secpb-cm-dbmf"), ("btree", "secpb-cm-dbmf"), ("stream", "secpb-cm-sbmf")] {
        let (record, plain) = (record(workload, design), record(workload, "secpb-cm"));
        assert!(record.checks.passed, "{workload} under {design}: {:?}", record.checks);
        assert!(record.cycles < plain.cycles, "{workload} under {design}: {} and {}", record.cycles, plain.cycles);
    }
}

#[test]
fn durable_caches_have_the_cycles_and_event_hash_of_volatile_caches() {
    for design in ["eadr", "secure-eadr"] {
        let durable = record("btree", design);
        let volatile = changed("btree", design, |design| design.parts.persistence = Persistence::default());
        assert!(durable.checks.passed, "{design}: {:?}", durable.checks);
        assert_eq!((durable.cycles, &durable.event_hash), (volatile.cycles, &volatile.event_hash), "{design}");
    }
}

#[test]
fn equal_runs_have_equal_event_hashes_and_cycles() {
    let (first, second) = (record("gups", "secpb-m"), changed("gups", "secpb-m", |_| ()));
    assert_eq!((&first.event_hash, first.cycles), (&second.event_hash, second.cycles));
}

/// Threads of one program, each on its core, which touch the same lines at almost the same time.
fn shared(workload: &str, settings: &[(&str, &str)], design: &str, cores: usize) -> Record {
    let machine = Machine { cores, ..machine_for(design) };
    let options = RunOptions { ledger: true, ..RunOptions::new(machine, catalogue::design(design).unwrap(), 60_000) };
    run(&options, Threads::of(workload, settings, cores), |_| RunControl::GoOn).unwrap()
}

/// SecPB, section IV-C: remote reads flush entries, and remote writes move them to the other core.
#[test]
fn cores_that_store_to_the_same_lines_read_every_store_right() {
    for (workload, settings) in [("gups", [("footprint", "64 KB")]), ("stores", [("footprint", "4 KB")])] {
        for (design, cores) in SCHEMES.into_iter().chain(["bbb"]).zip([2, 3, 2, 2, 4, 2, 2]) {
            let record = shared(workload, &settings, design, cores);
            assert!(record.checks.passed, "{workload} under {design}: {:?}", record.checks);
            let buffers = record.persist_buffer.unwrap();
            assert!(buffers.given_up > 0, "{workload} under {design}: {buffers:?}");
            assert_eq!(buffers.flushed > 0, workload == "gups", "{workload} under {design}: {buffers:?}");
        }
    }
}

/// A core that gives an entry to another core has room for a waiting store. This store may take over an entry of that
/// other core, which still has stores to make. Small buffers and few lines cause this case. After each step, the chip
/// checks that a line has only one entry.
#[test]
fn persist_buffer_entries_that_move_between_cores_keep_the_store_order() {
    for (workload, footprint, entries, cores) in
        [("gups", "4 KB", 32, 2), ("gups", "4 KB", 4, 4), ("gups", "64 KB", 16, 2), ("stores", "1 KB", 4, 4)]
    {
        let mut design = catalogue::design("secpb-cobcm").unwrap();
        design.parts.persistence.entries = entries;
        let options = RunOptions::new(Machine { cores, ..machine_for("secpb-cobcm") }, design, 60_000);
        let source = Threads::of(workload, &[("footprint", footprint)], cores);
        let record = run(&options, source, |_| RunControl::GoOn).unwrap();
        assert!(record.checks.passed, "{workload} {footprint}: {:?}", record.checks);
    }
}

/// An entry keeps the results of its early steps when it moves to another core's buffer.
#[test]
fn a_persist_buffer_entry_keeps_its_pad_when_it_moves_to_another_core() {
    let settings = [("footprint", "64 B")];
    let record = shared("stores", &settings, "secpb-bcm", 2);
    let buffers = record.persist_buffer.unwrap();
    assert!(buffers.given_up > 100 && buffers.drains + buffers.flushed < 10, "{buffers:?}");
    assert!(record.protection.aes_blocks < 20, "{:?}", record.protection);
}

#[test]
fn equal_multi_core_runs_with_persist_buffers_have_equal_event_hashes() {
    let of = || shared("gups", &[("footprint", "64 KB")], "secpb-m", 2);
    assert_eq!(of().event_hash, of().event_hash);
}

#[test]
fn a_machine_unsuitable_for_a_persist_buffer_is_refused_with_a_remedy() {
    let options = RunOptions::new(catalogue::machine("modern").unwrap(), catalogue::design("secpb-cm").unwrap(), 1_000);
    match run(&options, kernel("stream", &[], 1), |_| RunControl::GoOn) {
        Err(error @ RunError::Design { .. }) => assert!(error.to_string().contains("take 'secpb-pcm'"), "{error}"),
        other => panic!("{:?}", other.map(|record| record.cycles)),
    }
}
