//! Runs that begin with ordered memory: as if the chip had written all of memory by the values of a first pass.

use crate::common::kernel;
use casemate_runner::{Record, RunControl, RunOptions, StartState, run, run_together};
use catalogue::Design;
use protection::scheme::Release;
use protection::slot::MetadataCacheKind;
use protection::speculation::{Target, Tracking};
use units::Bytes;

const BUDGET: u64 = 60_000;

/// Words that are frequent in the program's lines, from a run without protection.
fn start(workload: &str) -> StartState {
    let mut first = options("none");
    first.tables = vec![8];
    let record = run(&first, kernel(workload, &[], 1), |_| RunControl::GoOn).unwrap();
    assert!(record.frequent_words.is_sorted_by(|one, next| one.count >= next.count));
    StartState { values: record.frequent_words, ..StartState::default() }
}

fn options(design: &str) -> RunOptions {
    changed(design, |_| ())
}

fn changed(design: &str, change: impl Fn(&mut Design)) -> RunOptions {
    let mut design = catalogue::design(design).unwrap();
    change(&mut design);
    RunOptions { ledger: true, ..RunOptions::new(catalogue::machine("simplescalar-2005").unwrap(), design, BUDGET) }
}

fn run_of(workload: &str, options: RunOptions, start: StartState) -> Record {
    let options = RunOptions { start, ..options };
    let record = run(&options, kernel(workload, &[], 1), |_| RunControl::GoOn).unwrap();
    assert!(record.checks.passed, "{} of {workload}: {:?}", options.design.name, record.checks);
    assert!(record.checks.lines.lines_checked > 1_000, "{:?}", record.checks.lines);
    record
}

/// Blocks of two words that equal a candidate.
fn found(record: &Record) -> u64 {
    let chunks = record.speculation.unwrap().chunks;
    chunks.hits + chunks.late_hits + chunks.squashed
}

/// A block in program order is predictable only if its two words are neighbours by chance; in an ordered memory half of
/// the frequent words of a line share a block with another one, whatever their positions.
#[test]
fn memory_that_begins_ordered_has_more_predictable_blocks() {
    for workload in ["anneal", "pagerank"] {
        let start = start(workload);
        for design in ["fvs-aes", "fvs-aes-loose"] {
            let new = run_of(workload, options(design), StartState::default());
            let ordered = run_of(workload, options(design), start.clone());
            let possible = ordered.speculation.unwrap().predictable.reordered_pairs;
            assert!(found(&ordered) > found(&new), "{design} of {workload}: {} and {}", found(&ordered), found(&new));
            assert!(
                100 * found(&ordered) >= 95 * possible,
                "{design} of {workload}: {} of {possible}",
                found(&ordered)
            );
        }
    }
}

/// Bitmap lines that were fetched.
fn bitmaps_fetched(record: &Record) -> u64 {
    record.metadata_caches[MetadataCacheKind::Bitmaps as usize].misses
}

#[test]
fn an_ordered_start_fetches_a_bitmap_line_no_less_often() {
    let start = start("pagerank");
    let new = run_of("pagerank", options("fvs-aes"), StartState::default());
    let ordered = run_of("pagerank", options("fvs-aes"), start);
    let (ordered, new) = (bitmaps_fetched(&ordered), bitmaps_fetched(&new));
    assert!(new > 100 && 100 * ordered >= 99 * new, "{ordered} and {new}");
}

#[test]
fn an_ordered_start_changes_no_design_without_a_table_of_frequent_values() {
    let start = start("anneal");
    for design in ["none", "ocb-aes", "sc64-bmt"] {
        let (new, ordered) = (
            run_of("anneal", options(design), StartState::default()),
            run_of("anneal", options(design), start.clone()),
        );
        assert_eq!(new.event_hash, ordered.event_hash, "{design}");
        assert_ne!(new.configuration_hash, ordered.configuration_hash, "{design}");
    }
}

#[test]
fn an_ordered_start_re_orders_no_line_of_a_design_that_does_not_re_order() {
    let start = start("anneal");
    let plain = run_of("anneal", options("fvs-aes-plain"), start.clone());
    let counted = plain.speculation.unwrap().predictable;
    assert!(counted.reordered_pairs > counted.pairs, "{counted:?}");
    assert_eq!(found(&plain), counted.pairs);
}

/// Under a tiny bitmap cache, bitmap lines leave while the lines that they describe still boot.
#[test]
fn an_ordered_start_loses_no_bitmap_in_the_smallest_cache() {
    let start = start("pagerank");
    for design in ["fvs-aes", "fvs-aes-loose"] {
        let sized = |bytes| changed(design, |design| design.parts.caches.bitmaps = Some(Bytes(bytes)));
        let [record, roomy] = [512, 1 << 20].map(|bytes| run_of("pagerank", sized(bytes), start.clone()));
        // A cache with room for all bitmap lines fetches each once; a further fetch follows an eviction.
        let (fetched, lines) = (bitmaps_fetched(&record), bitmaps_fetched(&roomy));
        assert!(10 * fetched > 11 * lines, "{design}: {fetched} fetches of {lines} bitmap lines");
        let possible = record.speculation.unwrap().predictable.reordered_pairs;
        assert!(100 * found(&record) >= 95 * possible, "{design}: {} of {possible}", found(&record));
    }
}

/// A table that does not learn keeps its values, and memory is ordered by these.
#[test]
fn an_ordered_start_keeps_a_fixed_table() {
    let start = start("anneal");
    let common = start.values[0].word.0;
    let fixed = |values: &[u64]| {
        let list: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
        changed("fvs-aes", |design| {
            (design.parts.speculation.tracking, design.parts.speculation.list) = (Tracking::Fixed, list.clone());
        })
    };
    let rare = run_of("anneal", fixed(&[0x5dee_ce66]), start.clone());
    assert_eq!(rare.speculation.unwrap().predictable.words, 0);
    // The table has one word before and after: the same words of memory are in it, in another order.
    let new = run_of("anneal", fixed(&[common]), StartState::default());
    let ordered = run_of("anneal", fixed(&[common]), start.clone());
    let [of_new, of_ordered] = [&new, &ordered].map(|record| record.speculation.unwrap().predictable);
    assert!(of_new.words > 1_000, "{of_new:?}");
    assert_eq!(of_ordered.words, of_new.words);
    assert!(found(&ordered) > found(&new), "{} and {}", found(&ordered), found(&new));
    assert!(100 * found(&ordered) >= 95 * of_ordered.reordered_pairs, "{} of {of_ordered:?}", found(&ordered));
}

/// Four copies of a kernel, each on a separate core.
fn four_of(workload: &str, options: &RunOptions) -> Record {
    let copies = (0..4).map(|copy| kernel(workload, &[], copy)).collect();
    run_together(options, copies, |_| RunControl::GoOn).unwrap()
}

#[test]
fn four_cores_that_begin_ordered_read_right_if_lines_are_released_with_or_before_their_verdict() {
    let on_four = |design: Design| {
        let machine = catalogue::machine("emcc-4core").unwrap();
        RunOptions { ledger: true, ..RunOptions::new(machine, design, BUDGET) }
    };
    let none = catalogue::design("none").unwrap();
    let first = four_of("anneal", &RunOptions { tables: vec![8], ..on_four(none) });
    let start = StartState { values: first.frequent_words, ..StartState::default() };
    for release in [Release::Verified, Release::Speculative] {
        let mut design = catalogue::design("fvs-aes").unwrap();
        design.parts.release = release;
        if release == Release::Speculative {
            design.parts.speculation.of = vec![Target::Ciphertext];
        }
        let [new, ordered] = [StartState::default(), start.clone()]
            .map(|start| four_of("anneal", &RunOptions { start, ..on_four(design.clone()) }));
        for record in [&new, &ordered] {
            assert!(record.checks.passed, "{release:?}: {:?}", record.checks);
            assert!(record.checks.lines.lines_checked > 1_000, "{:?}", record.checks.lines);
        }
        assert!(found(&ordered) > found(&new), "{release:?}: {} and {}", found(&ordered), found(&new));
    }
}
