//! Runs that begin with ordered memory: as if the chip had written all of memory by the values of a first pass.

use crate::common::kernel;
use casemate_runner::{Record, RunControl, RunOptions, StartState, run};
use catalogue::Design;

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

#[test]
fn an_ordered_start_fetches_a_line_of_bitmaps_no_less_often_and_decrypts_it_from_the_first_time() {
    let start = start("pagerank");
    let new = run_of("pagerank", options("fvs-aes"), StartState::default());
    let ordered = run_of("pagerank", options("fvs-aes"), start);
    let misses = |record: &Record| record.metadata_caches.iter().map(|cache| cache.misses).sum::<u64>();
    assert!(100 * misses(&ordered) >= 99 * misses(&new), "{} and {}", misses(&ordered), misses(&new));
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

/// Under a tiny cache of bitmaps, lines of bitmaps leave while the lines that they describe still boot.
#[test]
fn an_ordered_start_loses_no_bitmap_in_the_smallest_cache() {
    let start = start("pagerank");
    for design in ["fvs-aes", "fvs-aes-loose"] {
        let tiny = changed(design, |design| design.parts.caches.bitmaps = Some("512 B".parse().unwrap()));
        let record = run_of("pagerank", tiny, start.clone());
        let possible = record.speculation.unwrap().predictable.reordered_pairs;
        assert!(100 * found(&record) >= 95 * possible, "{design}: {} of {possible}", found(&record));
    }
}

/// A table that does not learn keeps its values, and memory is ordered by these.
#[test]
fn an_ordered_start_keeps_a_fixed_table() {
    let start = start("anneal");
    let fixed = changed("fvs-aes", |design| {
        design.parts.speculation.tracking = protection::speculation::Tracking::Fixed;
        design.parts.speculation.list = vec![0x5dee_ce66];
    });
    let record = run_of("anneal", fixed, start);
    assert_eq!(record.speculation.unwrap().predictable.words, 0);
}
