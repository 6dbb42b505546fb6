//! Walks of page tables, to the exact cycle. A miss costs 5 cycles in L1D, 10 in L2 and `MEMORY` beyond.

use super::stalls::run_in;
use super::*;

const MISS: u64 = 5 + 10 + MEMORY;

/// A bench with tables of two levels for the code and for pages 4 and 5, which share only the root's line.
fn bench(layout: TableLayout, first_touch_cycles: u64) -> Bench {
    limited_bench(layout, first_touch_cycles, None)
}

fn limited_bench(layout: TableLayout, first_touch_cycles: u64, waiting_accesses: Option<usize>) -> Bench {
    let mut config = NodeConfig { read_queue_ports: Some(2), ..small() };
    config.walker = Some(WalkerConfig {
        levels: 2,
        layout,
        structure_caches: vec![4],
        outstanding: 1,
        latency_cycles: 0,
        step_cycles: 0,
        waiting_accesses,
        first_touch_cycles,
    });
    let mut bench = Bench::new(&config);
    let walker = bench.node.core.translation.walker_mut().unwrap();
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
fn a_page_walk_reads_every_level_once_and_the_next_walk_only_the_last() {
    let mut bench = bench(TableLayout::Radix, 0);
    assert_eq!(bench.cycles(&[load_of_page(4)]), 2 * MISS + MISS);
    assert_eq!(bench.cycles(&[load_of_page(5)]), MISS + MISS, "a structure cache knows the table");
    assert_eq!((bench.sent(9200, RequestKind::Read), bench.sent(9402, RequestKind::Read)), (0, 1));
    assert_eq!(bench.cycles(&[load_of_page(5)]), 5, "and now the TLB knows the page");
    assert_eq!(bench.node.counts().stlb.misses, 3, "one of them for the code");
}

#[test]
fn with_one_table_page_per_entry_a_page_walk_reads_an_additional_level() {
    let mut bench = bench(TableLayout::PagePerEntry, 0);
    bench.cycles(&[load_of_page(4)]);
    assert_eq!(bench.cycles(&[load_of_page(5)]), 2 * MISS + MISS);
    assert_eq!(bench.sent(9301 / 64 * 64, RequestKind::Read), 1, "in the page of the entry read last");
}

#[test]
fn accesses_to_a_page_with_a_pending_page_walk_wait_for_it() {
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
fn page_walks_beyond_the_limit_wait_for_earlier_walks() {
    let mut bench = bench(TableLayout::Radix, 0);
    assert_eq!(bench.cycles(&[load_of_page(4), load_of_page(5)]), 2 * MISS + MISS + MISS);
}

#[test]
fn a_first_access_takes_the_allocation_penalty_for_the_page_and_for_its_table() {
    let mut bench = bench(TableLayout::Radix, 40);
    assert_eq!(bench.cycles(&[load_of_page(4)]), 2 * MISS + MISS + 2 * 40);
}

#[test]
fn no_access_enters_l1d_while_the_maximum_number_of_accesses_awaits_translations() {
    let divisions = std::iter::repeat_n(op(Class::IntDiv, &[2], &[2]), 14);
    let ops: Vec<Op> = [load_of_page(4), load(2, &[], 5 * 64, 0)].into_iter().chain(divisions).collect();
    let [free, limited] = [2, 1].map(|limit| {
        let mut bench = limited_bench(TableLayout::Radix, 0, Some(limit));
        bench.cycles(&[load_of_page(5)]);
        bench.cycles(&ops)
    });
    assert_eq!(free, MISS + MISS + 3, "the divisions are done by then and retire four a cycle");
    assert_eq!(limited, MISS + 5 + 14 * 15, "they wait for a load that begins when the walk has ended");
}

#[test]
fn accesses_delayed_by_the_translation_limit_send_one_request_each() {
    let mut bench = limited_bench(TableLayout::Radix, 0, Some(1));
    let ops = [load_of_page(4), store(3, 5 * 64, 0), load(1, &[], 4 * 64 + 9, 0), load(2, &[], 4 * 64 + 9, 8)];
    bench.cycles(&ops);
    let sent = [4 * 64, 4 * 64 + 9].map(|line| bench.sent(line, RequestKind::Read));
    assert_eq!((sent, bench.sent(5 * 64, RequestKind::ReadForOwnership)), ([1, 1], 1));
}

/// Returns the cycles for which each line held up a core that had used page 5, in the order of arrival.
fn held_up(ops: &[Op], memory: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    let mut bench = bench(TableLayout::Radix, 0);
    bench.cycles(&[load_of_page(5)]);
    let (_, lost) = run_in(bench, ops, |line| memory(line.0));
    lost.iter().map(|(line, _, lost)| (line.0, *lost)).collect()
}

#[test]
fn the_page_walk_of_the_oldest_load_is_charged_stall_cycles_until_its_line_arrives() {
    let lost = held_up(&[load_of_page(4)], |line| if line == 9301 { 300 } else { MEMORY });
    let [(9301, table), (256, data)] = lost[..] else { panic!("{lost:?}") };
    // The first wait starts at the previous retirement, when the load was looked up; the second one starts at the end
    // of the first.
    assert_eq!((table >= 300, data), (true, MISS), "{lost:?}");
}

#[test]
fn the_page_walk_of_an_instruction_fetch_is_charged_stall_cycles_until_its_line_arrives() {
    let code = Op { code: 4 * 64 + 7, ..op(Class::Nop, &[], &[]) };
    let lost = held_up(&[code], |line| if line == 9301 { 300 } else { MEMORY });
    let [(9301, 300..), (263, MEMORY..)] = lost[..] else { panic!("{lost:?}") };
}

#[test]
fn the_page_walk_of_a_younger_load_is_charged_no_stall_while_an_older_load_waits() {
    let older = 5 * 64 + 3;
    let lost = held_up(&[load(2, &[], older, 0), load_of_page(4)], |line| if line == older { 400 } else { MEMORY });
    let [(9301, 0), (256, 0), (last, 400..)] = lost[..] else { panic!("{lost:?}") };
    assert_eq!(last, older);
}
