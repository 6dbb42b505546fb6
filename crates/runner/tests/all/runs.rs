//! Does a whole run have the right cost, repeat exactly, and check itself?

use crate::common::kernel;
use crate::common::swept::{an_eighth, share_of_tests, side_by_side, swept};
use casemate_runner::explain::{Lines, OnChipMetadata, RowState, Scenario, explain};
use casemate_runner::{Record, RunControl, RunError, RunOptions, run};
use protection::slot::Kind;
use sim::span::Verb;

fn options(design: &str, budget: u64) -> RunOptions {
    let design = catalogue::design(design).unwrap();
    // A design may need units that only some machines have.
    let admits = |machine: &catalogue::Machine| machine.admits(&design.parts).is_ok();
    let modern = Some(catalogue::machine("modern").unwrap()).filter(admits);
    let machine = modern.or_else(|| catalogue::machines().into_iter().find(admits)).unwrap();
    RunOptions { seed: 7, ledger: true, ..RunOptions::new(machine, design, budget) }
}

fn gups(design: &str) -> Record {
    let source = kernel("gups", &[("footprint", "32MB"), ("load_values", "yes")], 1);
    run(&options(design, 150_000), source, |_| RunControl::GoOn).unwrap()
}

#[test]
fn equal_runs_have_equal_event_hashes_and_cycles() {
    let (first, second) = (gups("sc64-bmt"), gups("sc64-bmt"));
    assert_eq!((&first.event_hash, first.cycles), (&second.event_hash, second.cycles));
    assert_eq!(Record { host: second.host.clone(), ..first }, second);
}

#[test]
fn every_design_returns_the_written_values_and_reuses_no_pad() {
    side_by_side(an_eighth(swept(), share_of_tests()), |design| {
        let record = gups(&design.name);
        assert!(record.checks.passed, "{}: {:?}", design.name, record.checks);
        assert!(record.checks.lines.lines_checked > 10_000, "{}", design.name);
        assert_eq!((record.feed.load_values_wrong, record.feed.load_values_checked > 10_000), (0, true));
    });
}

#[test]
fn the_host_memory_of_a_run_contains_the_simulated_memory_only_once() {
    for (design, metadata) in [("none", 1.0), ("sc64-bmt", 1.15)] {
        let options = RunOptions { ledger: false, ..options(design, 400_000) };
        let record = run(&options, kernel("gups", &[("footprint", "64MB")], 1), |_| RunControl::GoOn).unwrap();
        // In addition to the content: an eighth for fingerprints and placement, and the lines on the chip.
        let limit = record.footprint.program_bytes as f64 * (metadata + 0.125) + (32 << 20) as f64;
        let taken = record.host.simulated_memory_bytes as f64;
        assert!(record.footprint.program_bytes > 50 << 20 && taken < limit, "{design}: {taken} of {limit}");
    }
}

#[test]
fn protection_costs_time_and_traffic_in_the_order_of_its_strength() {
    let [none, ctr, bmt] = ["none", "ctr-only", "sc64-bmt"].map(gups);
    assert!(none.cycles < ctr.cycles && ctr.cycles < bmt.cycles);
    assert!(none.dram_bytes < ctr.dram_bytes && ctr.dram_bytes < bmt.dram_bytes);
    assert_eq!(none.protection.fetched.total(), none.protection.fetched[Kind::Data], "no protection, no metadata");
}

#[test]
fn a_stopped_run_has_no_record() {
    let stopped = run(&options("none", 10_000_000), kernel("gups", &[], 1), |_| RunControl::Stop);
    assert!(matches!(stopped, Err(RunError::Stopped)));
}

#[test]
fn a_program_larger_than_memory_is_refused_with_the_size() {
    let mut options = options("none", 10_000_000);
    options.machine.memory.size = units::Bytes(2 << 20);
    let error =
        run(&options, kernel("gups", &[("footprint", "32MB")], 1), |_| RunControl::GoOn).unwrap_err().to_string();
    assert!(error.contains("more memory than the machine's 2 MB"), "{error}");
}

/// Latency of an explained read in picoseconds, on a machine where only DRAM and AES take time.
fn explained(design: &str, on_chip: OnChipMetadata, row: RowState) -> u64 {
    let mut machine = catalogue::machine("modern").unwrap();
    for engine in [&mut machine.engines.mac, &mut machine.engines.hash, &mut machine.engines.metadata_cache] {
        engine.latency_ns = 0.0;
    }
    let design = catalogue::design(design).unwrap();
    let scenario = Scenario { on_chip, row, ..Scenario::default() };
    explain(&machine, &design, scenario, Lines::default()).unwrap().latency_fs / 1_000
}

#[test]
fn an_unprotected_read_takes_the_latency_of_its_dram_row() {
    for (row, clocks) in [(RowState::Hit, 26), (RowState::Closed, 48), (RowState::Conflict, 70)] {
        assert_eq!(explained("none", OnChipMetadata::Nothing, row), clocks * 625, "{row:?}");
    }
}

#[test]
fn an_on_chip_counter_hides_the_pad_latency_behind_the_fetch() {
    // The pad is complete after 14 ns, the fetch after at least 16.25 ns: the pad adds no time.
    assert_eq!(explained("ctr-only", OnChipMetadata::All, RowState::Hit), 26 * 625);
    // XTS computes its tweak meanwhile; its blocks, one for each of four pipelines, can only start when the data
    // arrives.
    assert_eq!(explained("xts", OnChipMetadata::All, RowState::Hit), 26 * 625 + 14_000);
}

#[test]
fn a_read_with_more_tree_levels_to_verify_takes_longer() {
    let times = [OnChipMetadata::All, OnChipMetadata::Counter, OnChipMetadata::Nothing]
        .map(|held| explained("sc64-bmt", held, RowState::Closed));
    assert!(times.is_sorted() && times[0] < times[2], "{times:?}");
}

#[test]
fn the_pad_is_computed_during_the_verification_of_its_counter() {
    let (machine, design) = (catalogue::machine("modern").unwrap(), catalogue::design("sc64-bmt").unwrap());
    let scenario = Scenario { on_chip: OnChipMetadata::Nothing, row: RowState::Closed, ..Scenario::default() };
    let spans = explain(&machine, &design, scenario, Lines::default()).unwrap().spans;
    let span = |verb, what| spans.iter().find(|span| span.verb == verb && span.what.starts_with(what)).unwrap();
    let verified = spans.iter().filter(|span| span.verb == Verb::Hash).map(|span| span.end).max().unwrap();
    assert_eq!(span(Verb::Pad, "5 blocks").start, span(Verb::Fetch, "counter").end);
    assert!(span(Verb::Pad, "5 blocks").start < verified && span(Verb::Release, "verified").start > verified);
}

#[test]
fn speculative_release_is_faster_and_the_record_has_the_unverified_window() {
    let [plain, speculative] = ["sc64-bmt", "sc64-bmt-speculative"].map(gups);
    assert!(
        speculative.checks.passed
            && speculative.read_latency_ns < plain.read_latency_ns
            && speculative.cycles < plain.cycles
    );
    let window = speculative.unverified_window.unwrap();
    // At the end of the run, verdicts of its last lines are still under way.
    let lines = speculative.checks.lines.lines_checked;
    assert!(plain.unverified_window.is_none() && lines - window.lines < 64, "{window:?} of {lines}");
    assert!(0.0 < window.mean_ns && window.mean_ns < window.longest_ns, "{window:?}");
}

#[test]
fn the_placement_of_tags_and_counters_changes_traffic_and_time() {
    let [plain, inline, four, llc] = ["sc64-bmt", "sc64-bmt-beside", "sc64-bmt-mac4", "sc64-bmt-llc"].map(gups);
    let fetched = |record: &Record| record.protection.fetched;
    // Each access to a line with its tag moves two lines over the channel.
    assert_eq!(fetched(&inline)[Kind::Tags], fetched(&inline)[Kind::Data]);
    assert!(
        fetched(&four)[Kind::Data] > 3 * fetched(&plain)[Kind::Data]
            && fetched(&four)[Kind::Tags] < fetched(&plain)[Kind::Tags]
    );
    assert!(four.cycles > plain.cycles);
    // All 8192 counter lines of 32 MB of data fit in the last-level cache, next to data.
    let found = llc.counters_in_llc.unwrap();
    assert_eq!(plain.counters_in_llc, None);
    assert!(found.hits > 0 && fetched(&llc)[Kind::Counters] < fetched(&plain)[Kind::Counters], "{found:?}");
    let [counters, ..] = llc.metadata_caches;
    let requests = found.hits + found.merged + found.misses;
    assert_eq!(requests, counters.merged + counters.misses, "what one cache does not have, the other is asked for");
}

#[test]
fn metadata_look_ups_of_lines_in_flight_are_merged_and_each_miss_fetches_a_line() {
    for workload in ["gups", "stream"] {
        let record =
            run(&options("sc64-bmt", 150_000), kernel(workload, &[("footprint", "32MB")], 1), |_| RunControl::GoOn);
        let record = record.unwrap();
        let ([counters, tags, nodes, _], fetched) = (record.metadata_caches, record.protection.fetched);
        assert_eq!(
            [counters, tags, nodes].map(|cache| cache.misses),
            [Kind::Counters, Kind::Tags, Kind::Nodes].map(|kind| fetched[kind])
        );
        assert!(counters.merged > 0 && nodes.misses > 0, "{workload}: {counters:?} {nodes:?}");
        // Eight consecutive lines share one tag line; random lines hardly ever share one.
        assert!(workload != "stream" || tags.merged > 1000, "{workload}: {tags:?}");
    }
}

#[test]
fn tree_nodes_are_cached_in_the_last_level_cache_only_if_configured() {
    let with = |nodes_in_llc| {
        let mut options = options("sc64-bmt-llc", 150_000);
        let caches = &mut options.design.parts.caches;
        (caches.nodes, caches.nodes_in_llc) = (Some(units::Bytes(1 << 10)), nodes_in_llc);
        run(&options, kernel("gups", &[("footprint", "32MB")], 1), |_| RunControl::GoOn).unwrap()
    };
    let (without, with) = (with(false), with(true));
    assert!(without.nodes_in_llc.is_none() && without.checks.passed && with.checks.passed);
    // The lowest level has 1024 nodes; the controller's cache holds 16 of them.
    let (found, [_, _, nodes, _]) = (with.nodes_in_llc.unwrap(), with.metadata_caches);
    assert!(
        found.hits > 0 && with.protection.fetched[Kind::Nodes] < without.protection.fetched[Kind::Nodes] / 2,
        "{found:?}"
    );
    assert_eq!(found.hits + found.misses, nodes.misses, "what one cache does not have, the other is asked for");
}
