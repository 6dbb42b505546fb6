//! Concurrent accesses to a metadata line that is being fetched: one access fetches the line, and the look-ups of
//! the other accesses are merged with this fetch. The statistics distinguish misses, merged look-ups and hits.

use crate::common::{Machine, cases, with_caches};
use proptest::prelude::*;
use protection::design::Parts;
use protection::execution::{Receiver, Timed};
use protection::on_chip::MetadataCacheCounts;
use protection::slot::Kind;
use protection::verbs::{Fault, Plaintext};
use std::cell::Cell;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, ZERO_LINE};

struct Core;

impl Receiver for Core {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        panic!("nobody tampers: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// Kinds of metadata that designs without owners look up.
const KINDS: [Kind; 3] = [Kind::Counters, Kind::Tags, Kind::Nodes];

/// Runs reads of these lines at once under a design, round by round; returns hits, merges and misses of counters, tags
/// and nodes.
fn read(design: &str, rounds: &[&[u64]]) -> [(u64, u64, u64); 3] {
    let machine = read_with(&catalogue::design(design).unwrap().parts, rounds);
    KINDS.map(|kind| {
        let MetadataCacheCounts { hits, merged, misses, .. } =
            machine.scheme.fixed().unwrap().on_chip(|chip| chip.caches.seen)[kind];
        (hits, merged, misses)
    })
}

/// Returns the machine after reads of these lines at once, round by round.
fn read_with(parts: &Parts, rounds: &[impl AsRef<[u64]>]) -> Machine<Core> {
    let mut machine = Machine::new(parts, 1, Core);
    for round in rounds.iter().map(AsRef::as_ref) {
        let finished = Rc::new(Cell::new(0));
        for line in round {
            let (scheme, memory, finished) = (machine.scheme.clone(), machine.memory.clone(), finished.clone());
            let line = LineAddr(*line);
            machine.executor.clock().spawn(async move {
                scheme.read(&Timed::new(&memory), line).await;
                finished.set(finished.get() + 1);
            });
        }
        assert!(machine.run(Duration::from_ns(1_000_000), || finished.get() == round.len()), "not all reads finish");
    }
    machine
}

#[test]
fn two_reads_that_share_a_counter_line_count_one_miss_and_one_merge() {
    let [counters, tags, nodes] = read("sc64-bmt", &[&[0, 1]]);
    // A merged look-up does not need the nodes above.
    assert_eq!((counters, tags), ((0, 1, 1), (0, 1, 1)));
    assert_eq!((nodes.0, nodes.1), (0, 0));
    // A later read finds the line on the chip.
    let [counters, tags, again] = read("sc64-bmt", &[&[0, 1], &[2]]);
    assert_eq!((counters, tags, again), ((1, 1, 1), (1, 1, 1), nodes));
}

#[test]
fn concurrent_tree_walks_count_one_miss_of_a_shared_node_and_a_later_walk_hits() {
    // Lines 0 and 64 have neighbouring counter lines, hence one lowest node.
    let [_, _, one] = read("sc64-bmt", &[&[0]]);
    let [counters, _, both] = read("sc64-bmt", &[&[0, 64]]);
    assert_eq!(counters, (0, 0, 2));
    assert_eq!(both, (0, 1, one.2));
    let [_, _, third] = read("sc64-bmt", &[&[0, 64], &[128]]);
    assert_eq!(third, (1, 1, one.2));
}

#[test]
fn eight_concurrent_reads_that_share_a_counter_line_count_one_miss_and_seven_merges() {
    let crowd: Vec<u64> = (0..8).collect();
    for design in ["ctr-mac", "morphable", "sc64-bmt-llc", "sc64-bmt-speculative", "mono-tree"] {
        let [counters, ..] = read(design, &[&crowd]);
        assert_eq!(counters, (0, 7, 1), "{design}");
    }
}

fn some_rounds() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let near = (0..crate::common::DATA_LINES / 256, 0..32u64).prop_map(|(page, line)| page * 256 + line);
    proptest::collection::vec(proptest::collection::vec(near, 1..12), 1..6)
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn metadata_cache_misses_equal_the_fetched_lines_for_every_kind_of_metadata(rounds in some_rounds(), which in 0..3u64) {
        for design in ["ctr-mac", "sc64-bmt", "sc64-bmt-speculative", "morphable", "mono-tree", "merkle-full"] {
            let parts = with_caches(&catalogue::design(design).unwrap().parts, which);
            let machine = read_with(&parts, &rounds);
            let fetched = machine.memory.counts().fetched;
            let misses = KINDS.map(|kind| machine.scheme.fixed().unwrap().on_chip(|chip| chip.caches.seen)[kind].misses);
            prop_assert_eq!(misses, KINDS.map(|kind| fetched[kind]), "{}", design);
        }
    }
}
