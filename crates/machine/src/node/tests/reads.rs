//! Loads that meet in the read queue or at L2, to the exact cycle.

use super::*;
use crate::lookups::LookUpLimit;

const MISS: u64 = 5 + 10 + MEMORY;

#[test]
fn two_loads_of_a_line_in_the_read_queue_count_as_one_l1d_access() {
    let both = [load(1, &[], 64, 0), load(2, &[], 64, 8)];
    let apart = NodeConfig { load_ports: 1, ..small() };
    let merging = NodeConfig { read_queue_ports: Some(2), ..apart.clone() };
    for (config, accesses) in [(apart, 2), (merging, 1)] {
        let mut bench = Bench::new(&config);
        assert_eq!(bench.cycles(&both), MISS);
        let l1d = bench.node.counts().l1d;
        assert_eq!(l1d.misses + l1d.merged, accesses);
        assert_eq!(bench.cycles(&both), 5 + accesses - 1, "a merged load takes no port");
    }
}

#[test]
fn a_load_after_the_look_up_of_its_line_is_a_separate_merged_access() {
    let config = NodeConfig { read_queue_ports: Some(2), ..small() };
    let mut bench = Bench::new(&config);
    bench.cycles(&[load(1, &[], 64, 0), alu(&[3], &[]), alu(&[3], &[3]), load(2, &[3], 64, 8)]);
    assert_eq!(bench.node.counts().l1d.merged, 1);
}

#[test]
fn an_l2_has_no_more_concurrent_look_ups_than_its_limit() {
    for cycles in [1, 2, 9] {
        let limit = LookUpLimit { per_cycle: 1, places: 1, cycles };
        let mut bench = Bench::warm(&NodeConfig { l2_lookups: Some(limit), ..small() }, &[64, 68, 72, 65, 69, 73]);
        assert_eq!(bench.cycles(&[load(1, &[], 64, 0), load(2, &[], 65, 0)]), 15 + cycles);
    }
}

#[test]
fn a_dirty_line_evicted_from_l1d_takes_a_look_up_in_l2() {
    const INSIDE: u64 = 20;
    let limit = LookUpLimit { per_cycle: 1, places: 1, cycles: INSIDE };
    let taken = |before: Op| {
        let lines = [72, 73, 64, 65, 68, 69];
        let mut bench = Bench::warm(&NodeConfig { l2_lookups: Some(limit), ..small() }, &lines);
        bench.run(&[before, op(Class::Serial, &[], &[]), load(3, &[], 68, 0)]);
        bench.cycles(&[load(1, &[], 72, 0), load(2, &[1], 73, 0), alu(&[40], &[2])])
    };
    assert_eq!(taken(store(0, 64, 0)), taken(load(3, &[], 64, 0)) + INSIDE, "72 evicts 64 from L1D");
}
