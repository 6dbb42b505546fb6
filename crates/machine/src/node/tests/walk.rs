//! Walks of page tables, to the exact cycle. A miss costs 5 cycles in L1D, 10 in L2 and `MEMORY` beyond.

use super::*;

const MISS: u64 = 5 + 10 + MEMORY;

/// A bench with tables of two levels for the code and for pages 4 and 5, which share the root's line only.
fn bench(layout: TableLayout, first_touch_cycles: u64) -> Bench {
    let mut config = small();
    config.walker = Some(WalkerConfig {
        levels: 2,
        layout,
        structure_caches: vec![4],
        outstanding: 1,
        latency_cycles: 0,
        step_cycles: 0,
        waiting_accesses: None,
        first_touch_cycles,
    });
    let mut bench = Bench::new(&config);
    let walker = bench.node.core.walker.as_mut().unwrap();
    for (page, lines) in [(CODE_LINE / 64, [9000, 9100]), (4, [9200, 9301]), (5, [9200, 9402])] {
        let lines = lines.map(LineAddr).into_iter().collect();
        walker.learn(&PageTables { page: PageKey(page), lines });
    }
    bench
}

fn load_of_page(page: u64) -> Op {
    load(1, &[], page * 64, 0)
}

#[test]
fn a_walk_reads_every_level_once_and_the_next_one_only_the_last() {
    let mut bench = bench(TableLayout::Radix, 0);
    assert_eq!(bench.cycles(&[load_of_page(4)]), 2 * MISS + MISS);
    assert_eq!(bench.cycles(&[load_of_page(5)]), MISS + MISS, "a structure cache knows the table");
    assert_eq!((bench.sent(9200, RequestKind::Read), bench.sent(9402, RequestKind::Read)), (0, 1));
    assert_eq!(bench.cycles(&[load_of_page(5)]), 5, "and now the TLB knows the page");
    assert_eq!(bench.node.counters().stlb.misses, 3, "one of them for the code");
}

#[test]
fn with_a_page_for_each_entry_a_level_is_read_once_more() {
    let mut bench = bench(TableLayout::PagePerEntry, 0);
    bench.cycles(&[load_of_page(4)]);
    assert_eq!(bench.cycles(&[load_of_page(5)]), 2 * MISS + MISS);
    assert_eq!(bench.sent(9301 / 64 * 64, RequestKind::Read), 1, "in the page of the entry read last");
}

#[test]
fn accesses_to_a_page_that_is_being_walked_wait_for_that_walk() {
    let mut bench = bench(TableLayout::Radix, 0);
    let both = [load_of_page(4), load(2, &[], 4 * 64, 8), store(3, 4 * 64 + 1, 0)];
    assert_eq!(bench.cycles(&both), 2 * MISS + MISS);
    assert_eq!(bench.sent(9301, RequestKind::Read), 1);
    assert_eq!(
        bench.sent(4 * 64 + 1, RequestKind::ReadForOwnership),
        1,
        "the store was translated when it was written"
    );
}

#[test]
fn walks_take_turns_when_no_more_may_be_under_way() {
    let mut bench = bench(TableLayout::Radix, 0);
    assert_eq!(bench.cycles(&[load_of_page(4), load_of_page(5)]), 2 * MISS + MISS + MISS);
}

#[test]
fn a_first_touch_costs_its_penalty_for_the_page_and_for_its_table() {
    let mut bench = bench(TableLayout::Radix, 40);
    assert_eq!(bench.cycles(&[load_of_page(4)]), 2 * MISS + MISS + 2 * 40);
}
