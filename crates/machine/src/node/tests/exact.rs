//! Times to the exact cycle, worked out by hand. A miss costs 5 cycles in L1D, 10 in L2 and `MEMORY` beyond.

use super::*;
use crate::cache::Replacement;

const MISS: u64 = 5 + 10 + MEMORY;

#[test]
fn a_chain_of_alu_operations_takes_a_cycle_each() {
    let mut bench = Bench::new(&small());
    for length in 1..40 {
        assert_eq!(bench.cycles(&vec![alu(&[1], &[1]); length]), length as u64);
    }
}

#[test]
fn independent_operations_are_bound_by_the_width() {
    let mut bench = Bench::new(&small());
    for count in 1..40u64 {
        assert_eq!(bench.cycles(&vec![alu(&[1], &[]); count as usize]), count.div_ceil(4));
    }
}

#[test]
fn a_result_is_ready_exactly_after_its_latency() {
    let mut bench = Bench::new(&small());
    let chain = |class| [op(class, &[1], &[]), alu(&[2], &[1])];
    assert_eq!(bench.cycles(&chain(Class::IntDiv)), 15 + 1);
    assert_eq!(bench.cycles(&chain(Class::IntMul)), 3 + 1);
    assert_eq!(bench.cycles(&chain(Class::FpMul)), 4 + 1);
}

#[test]
fn a_pipelined_unit_starts_an_operation_per_cycle_and_another_only_when_idle() {
    let mut bench = Bench::new(&small());
    assert_eq!(bench.cycles(&vec![op(Class::IntMul, &[1], &[]); 3]), 3 + 2);
    assert_eq!(bench.cycles(&vec![op(Class::IntDiv, &[1], &[]); 3]), 15 * 3);
}

#[test]
fn a_younger_ready_operation_uses_a_unit_before_an_older_one_with_late_operands() {
    let mut bench = Bench::new(&small());
    let ops = [op(Class::IntDiv, &[1], &[]), op(Class::IntMul, &[2], &[1]), op(Class::IntMul, &[3], &[])];
    assert_eq!(bench.cycles(&ops), 15 + 3);
    let ops = [ops.as_slice(), &[op(Class::IntDiv, &[4], &[3])]].concat();
    assert_eq!(bench.cycles(&ops), 15 + 15, "the second division starts when the first is done, at 15");
}

#[test]
fn a_full_window_holds_up_the_next_instruction_until_its_head_retires() {
    let mut config = small();
    config.retire_width = 64;
    let mut ops = vec![load(1, &[], 64, 0)];
    ops.resize(17, op(Class::Nop, &[], &[]));
    assert_eq!(Bench::new(&config).cycles(&ops), MISS + 1, "the seventeenth enters when the load retires");
    config.rob = 17;
    assert_eq!(Bench::new(&config).cycles(&ops), MISS);
}

#[test]
fn a_full_load_queue_holds_up_the_next_load() {
    let mut config = small();
    config.load_queue = 1;
    let mut bench = Bench::warm(&config, &[64]);
    assert_eq!(bench.cycles(&[load(1, &[], 128, 0), load(2, &[], 64, 0)]), MISS + 5);
}

#[test]
fn cache_misses_overlap_up_to_the_number_of_mshrs() {
    let mut bench = Bench::new(&small());
    let loads: Vec<Op> = (0..5).map(|n| load(n, &[], 64 + u64::from(n), 0)).collect();
    assert_eq!(bench.cycles(&loads[..4]), 1 + MISS, "two loads start per cycle");
    let mut bench = Bench::new(&small());
    assert_eq!(bench.cycles(&loads), MISS + MISS, "the fifth starts when the first line arrives");
    let mut config = small();
    (config.l1d.mshrs, config.l2.mshrs) = (8, 4);
    let mut bench = Bench::new(&config);
    assert_eq!(bench.cycles(&loads), MISS + MISS, "the same if it is L2 that lacks them");
}

#[test]
fn cache_hits_take_the_latency_of_their_level() {
    let mut bench = Bench::warm(&small(), &[64]);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), 5);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0), load(1, &[1], 64, 0), alu(&[1], &[1])]), 5 + 5 + 1);
    let mut bench = Bench::warm(&small(), &[64, 68, 72]);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), 5 + 10, "the third line displaced the first from L1D only");
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), 5);
}

#[test]
fn each_level_replaces_by_its_configured_policy() {
    let after = |before: &[u64], change: fn(&mut NodeConfig)| {
        let mut config = small();
        change(&mut config);
        Bench::warm(&config, before).cycles(&[load(1, &[], 64, 0)])
    };
    let l1d = [64, 64, 68, 72];
    assert_eq!(after(&l1d, |_| {}), 5 + 10);
    assert_eq!(after(&l1d, |config| config.l1d.replacement = Replacement::Srrip), 5);
    let l2 = [64, 68, 72, 64, 76, 80, 84, 88];
    assert_eq!(after(&l2, |_| {}), MISS);
    assert_eq!(after(&l2, |config| config.l2.replacement = Replacement::Srrip), 5 + 10);
}

#[test]
fn a_load_of_a_line_in_flight_from_l2_waits_for_it_and_is_merged() {
    let mut bench = Bench::warm(&small(), &[64, 68, 72]);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0), load(2, &[], 64, 8), alu(&[2], &[2])]), 15 + 1);
    let l1d = bench.node.counts().l1d;
    assert_eq!((l1d.hits, l1d.merged), (0, 1));
}

#[test]
fn a_load_does_not_wait_for_an_older_load_of_its_line_with_a_late_address() {
    let mut bench = Bench::warm(&small(), &[64, 68, 72]);
    let mut ops = vec![op(Class::IntDiv, &[1], &[]), load(2, &[1], 64, 0), load(3, &[], 64, 0)];
    ops.resize(ops.len() + 6, op(Class::IntMul, &[3], &[3]));
    assert_eq!(bench.cycles(&ops), 15 + 6 * 3, "the line is in L2 and comes in 15 cycles for whoever asks first");
}

#[test]
fn misses_of_one_line_make_one_request() {
    let mut bench = Bench::new(&small());
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0), load(2, &[], 64, 8)]), MISS);
    assert_eq!((bench.requests.len(), bench.sent(64, RequestKind::Read)), (1, 1));
    assert_eq!(bench.node.counts().l1d.merged, 1);
    let mut bench = Bench::new(&small());
    assert_eq!(bench.cycles(&[store(1, 64, 8), load(2, &[], 64, 0)]), 1 + MISS, "it joins the store, a cycle later");
    assert_eq!((bench.requests.len(), bench.sent(64, RequestKind::ReadForOwnership)), (1, 1));
    assert_eq!(bench.node.caches().dirty_lines(), [LineAddr(64)]);
}

#[test]
fn a_load_after_the_arrival_of_its_line_still_has_the_l1d_latency() {
    let mut config = small();
    (config.rob, config.retire_width) = (512, 255);
    for work in [MISS - 6, MISS - 5, MISS - 4, MISS, MISS + 20] {
        let mut ops = vec![load(1, &[], 64, 0)];
        ops.resize(1 + work as usize, alu(&[2], &[2]));
        ops.push(load(3, &[2], 64, 8));
        assert_eq!(Bench::new(&config).cycles(&ops), MISS.max(work + 5), "{work} cycles later");
    }
}

#[test]
fn store_to_load_forwarding_is_faster_than_an_l1d_hit() {
    let mut bench = Bench::warm(&small(), &[64]);
    assert_eq!(bench.cycles(&[store(1, 64, 8), load(2, &[], 64, 8)]), 1 + 2);
    assert_eq!(bench.cycles(&[store(1, 64, 8), load(2, &[], 64, 16)]), 5, "other bytes of the line");
    assert_eq!(bench.cycles(&[store(1, 64, 8), load(2, &[], 64, 12)]), 1 + 2 + 12, "half of the bytes");
    let ops = [op(Class::IntDiv, &[1], &[]), store(1, 64, 8), load(2, &[], 64, 8)];
    assert_eq!(bench.cycles(&ops), 15 + 2, "the data comes from a division");
    assert_eq!(bench.node.counts().forwarded, 3);
}

#[test]
fn a_load_that_covers_two_stores_waits_for_the_data_of_both() {
    let wide = |first: Op, second: Op| {
        let mut both = load(3, &[], 64, 8);
        both.touches[0].bytes = 16;
        let mut bench = Bench::warm(&small(), &[64]);
        bench.cycles(&[op(Class::IntDiv, &[1], &[]), first, second, both, alu(&[3], &[3])])
    };
    let partial = 2 + 12;
    assert_eq!(wide(store(2, 64, 8), store(1, 64, 16)), 15 + partial + 1);
    assert_eq!(wide(store(2, 64, 16), store(1, 64, 8)), 15 + partial + 1);
}

#[test]
fn store_to_load_forwarding_waits_for_the_data_of_the_store() {
    let mut bench = Bench::warm(&small(), &[64]);
    let ops = [load(1, &[], 128, 0), store(1, 64, 8), load(2, &[], 64, 8), alu(&[2], &[2])];
    assert_eq!(bench.cycles(&ops), MISS + 2 + 1);
}

#[test]
fn a_store_that_misses_does_not_delay_retirement_unless_the_queue_is_full() {
    let stores: Vec<Op> = (0..5).map(|n| store(1, 64 + n, 0)).collect();
    let mut bench = Bench::new(&small());
    assert_eq!(bench.cycles(&stores[..4]), 2, "two addresses per cycle");
    assert_eq!(bench.requests.iter().filter(|r| r.kind == RequestKind::ReadForOwnership).count(), 4);
    let mut bench = Bench::new(&small());
    assert_eq!(bench.cycles(&stores), 1 + MISS + 1, "the fifth enters when the first was written");
}

#[test]
fn a_retired_store_moves_from_the_store_queue_to_the_write_buffer() {
    let stores: Vec<Op> = (0..5).map(|n| store(1, 64 + n, 0)).collect();
    let config = NodeConfig { write_buffer: Some(1), ..small() };
    let cycles = Bench::warm(&config, &[]).cycles(&stores);
    assert!(cycles < MEMORY, "four misses have registers, the fifth store has the buffer: {cycles}");
    let stores: Vec<Op> = (0..10).map(|n| store(1, 64 + n, 0)).collect();
    let cycles = Bench::warm(&config, &[]).cycles(&stores);
    assert!(cycles > MEMORY, "a tenth waits for a register, a place in the buffer and one in the queue: {cycles}");
}

#[test]
fn an_access_without_an_mshr_delays_later_hits_in_an_in_order_l1d() {
    let misses = (0..5).map(|n| load(1, &[], 64 + n, 0));
    let divisions = std::iter::repeat_n(op(Class::IntDiv, &[2], &[2]), 9);
    let ops: Vec<Op> = misses.chain([load(2, &[], 128, 0)]).chain(divisions).collect();
    let free = Bench::warm(&small(), &[128]).cycles(&ops);
    let config = NodeConfig { l1d_in_order: true, ..small() };
    let ordered = Bench::warm(&config, &[128]).cycles(&ops);
    assert!(ordered > free, "{ordered} {free}");
}

#[test]
fn a_branch_misprediction_takes_its_resolution_and_the_refill_penalty() {
    let penalty = small().predictor.refill_penalty_cycles;
    let (taken, not_taken) = (0x1100, 0x1004);
    let cycles = |next, source: &[Op]| {
        let mut bench = Bench::warm(&small(), &[64]);
        bench.cycles(&[source, &[branch(Flow::Conditional, &[1], next), alu(&[2], &[])]].concat())
    };
    assert_eq!(cycles(not_taken, &[]), 1);
    assert_eq!(cycles(taken, &[]), 1 + penalty + 1);
    assert_eq!(cycles(taken, &[load(1, &[], 64, 0)]), 5 + 1 + penalty + 1);
    assert_eq!(cycles(taken, &[load(1, &[], 128, 0)]), MISS + 1 + penalty + 1);
}

#[test]
fn an_unknown_direct_branch_target_takes_the_misfetch_penalty() {
    let mut bench = Bench::new(&small());
    let ops = [branch(Flow::Jump, &[], 0x1100), alu(&[1], &[])];
    assert_eq!(bench.cycles(&ops), small().predictor.misfetch_penalty_cycles + 1);
    assert_eq!(bench.cycles(&ops), 1);
}

#[test]
fn retirement_is_in_order() {
    let mut bench = Bench::new(&small());
    let mut ops = vec![op(Class::IntDiv, &[1], &[])];
    ops.resize(9, alu(&[2], &[]));
    assert_eq!(bench.cycles(&ops), 15 + 2, "nine retire four per cycle from when the division is done");
}

#[test]
fn a_serialising_instruction_waits_for_all_before_it_and_holds_all_after_it() {
    let latency = small().serial_latency_cycles;
    let mut bench = Bench::warm(&small(), &[64]);
    let ops = [op(Class::IntDiv, &[1], &[]), op(Class::Serial, &[], &[]), alu(&[2], &[])];
    assert_eq!(bench.cycles(&ops), 15 + latency + 1);
    let ops = [store(1, 128, 0), op(Class::Serial, &[], &[]), alu(&[2], &[])];
    assert_eq!(bench.cycles(&ops), 1 + MISS + latency + 1, "stores are written first");
}

#[test]
fn pushes_do_not_wait_for_each_other_via_the_stack_pointer() {
    let push = |data| {
        let mut op = store(data, 64, data * 8);
        op.instruction.address_sources = registers(&[4]);
        op.instruction.destinations = registers(&[4]);
        op
    };
    let mut bench = Bench::warm(&small(), &[64]);
    assert_eq!(bench.cycles(&[op(Class::IntDiv, &[1], &[]), push(1), alu(&[2], &[4])]), 15);
    assert_eq!(bench.cycles(&[push(0), push(1), push(2), push(3)]), 2, "two addresses per cycle");
}

#[test]
fn an_instruction_that_loads_and_computes_takes_both_latencies() {
    let mut bench = Bench::warm(&small(), &[64]);
    let mut add = load(1, &[], 64, 0);
    add.instruction.sources = registers(&[1]);
    assert_eq!(bench.cycles(&[add]), 5 + 1);
}

#[test]
fn code_that_misses_holds_up_the_front_end() {
    let mut bench = Bench::new(&small());
    bench.run(&[op(Class::Nop, &[], &[])]);
    assert_eq!(bench.sent(CODE_LINE, RequestKind::Instruction), 1);
    assert_eq!(bench.clock(), 4 + 10 + MEMORY + 1);
    assert_eq!(bench.node.counts().lost_cycles.fetch, 4 + 10 + MEMORY);
}

#[test]
fn a_translation_costs_the_latency_of_its_level() {
    let mut config = small();
    (config.stlb.latency_cycles, config.walk_latency_cycles) = (7, 30);
    config.dtlb = TlbConfig { entries: 1, ways: 1, latency_cycles: 0 };
    let mut bench = Bench::warm(&config, &[64]);
    let other_page = |destination| {
        let mut op = load(destination, &[], 64, 0);
        op.touches[0].page = PageKey(77);
        op
    };
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), 5);
    let ops = [other_page(1), other_page(2), alu(&[2], &[2])];
    assert_eq!(bench.cycles(&ops), 7 + 30 + 5 + 1, "the second waits for the same walk");
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), 7 + 5);
}

#[test]
fn a_dirty_line_is_written_back_exactly_once() {
    let mut bench = Bench::new(&small());
    bench.cycles(&[store(1, 64, 0)]);
    assert_eq!(bench.node.caches().dirty_lines(), [LineAddr(64)]);
    let stream: Vec<Op> = (1..200).map(|n| load(2, &[2], 64 + n, 0)).collect();
    bench.cycles(&stream);
    assert_eq!(bench.sent(64, RequestKind::WriteBack), 1);
    assert_eq!(bench.requests.iter().filter(|r| r.kind == RequestKind::WriteBack).count(), 1);
    assert!(bench.node.caches().dirty_lines().is_empty());
}

#[test]
fn an_invalidation_removes_the_line_and_returns_whether_it_was_dirty() {
    let mut bench = Bench::warm(&small(), &[64]);
    bench.cycles(&[store(1, 64, 0)]);
    assert_eq!(bench.node.caches_mut().invalidate(LineAddr(64)), Some(true));
    assert_eq!(bench.node.caches_mut().invalidate(LineAddr(64)), None);
    assert!(bench.node.caches().dirty_lines().is_empty());
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), MISS);
}

#[test]
fn a_core_stops_at_the_given_time_and_resumes_from_that_cycle() {
    let mut bench = Bench::warm(&small(), &[]);
    let start = bench.node.retired_at();
    let ops = vec![alu(&[1], &[1]); 400];
    let mut feed = Script { ops: ops.iter() };
    let until = start + bench.node.clock.span(Cycles(50));
    let mut out = Vec::new();
    assert_eq!(bench.node.run(&mut feed, until, &mut out), Ok(Pause::Reached));
    assert!(bench.node.now() > until && bench.node.now() < until + bench.node.clock.span(Cycles(10)));
    assert_eq!(bench.node.run(&mut feed, Time::NEVER, &mut out), Ok(Pause::Finished));
    assert_eq!(bench.node.retired_at(), start + bench.node.clock.span(Cycles(400)));
}

#[test]
fn no_memory_request_is_sent_before_the_time_of_the_latest_reported_fill() {
    let mut bench = Bench::warm(&small(), &[]);
    let ops = [load(1, &[], 64, 0), load(2, &[], 65, 0)];
    let mut out = Vec::new();
    assert_eq!(bench.node.run(&mut Script { ops: ops[..1].iter() }, Time::NEVER, &mut out), Ok(Pause::Finished));
    let late = out[0].at + ::units::Duration::from_ns(500);
    bench.node.filled(LineAddr(64), late, &mut out);
    assert_eq!(bench.node.run(&mut Script { ops: ops[1..].iter() }, Time::NEVER, &mut out), Ok(Pause::Finished));
    assert_eq!(out[1].line, LineAddr(65));
    assert!(out[1].at >= late);
}

#[test]
fn a_store_to_a_shared_line_sends_an_upgrade_and_a_load_sends_no_request() {
    let mut bench = Bench::warm(&small(), &[64]);
    assert_eq!(bench.node.caches_mut().downgrade(LineAddr(64)), Some(false));
    assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), 5);
    assert!(bench.requests.is_empty());
    bench.cycles(&[store(1, 64, 0), store(2, 64, 8)]);
    assert_eq!((bench.requests.len(), bench.sent(64, RequestKind::Upgrade)), (1, 1));
    assert_eq!(bench.node.caches().permission(LineAddr(64)), Some(Permission::Exclusive));
    assert_eq!((bench.node.caches().dirty_lines(), bench.node.counts().upgrades), (vec![LineAddr(64)], 1));
    bench.cycles(&[store(1, 64, 0)]);
    assert!(bench.requests.is_empty(), "it may write the line now");
}

#[test]
fn a_store_merged_with_a_read_sends_an_upgrade_if_the_line_arrives_shared() {
    let mut bench = Bench::warm(&small(), &[]);
    let mut out = Vec::new();
    for op in [load(1, &[], 64, 0), store(2, 64, 8)] {
        assert!(bench.node.core.enter(&step(&op)));
        bench.node.caches_mut().outgoing.move_to(&mut out);
    }
    let read = out.remove(0);
    assert_eq!((read.kind, out.len(), bench.node.outstanding()), (RequestKind::Read, 0, 1));
    bench.node.answered(LineAddr(64), read.at, Permission::Shared, &mut out);
    assert_eq!((out.len(), out[0].kind, bench.node.outstanding()), (1, RequestKind::Upgrade, 1));
    assert!(bench.node.caches().dirty_lines().is_empty());
    let at = out.remove(0).at;
    bench.node.answered(LineAddr(64), at, Permission::Exclusive, &mut out);
    assert_eq!((bench.node.caches().dirty_lines(), bench.node.outstanding()), (vec![LineAddr(64)], 0));
}

#[test]
fn a_coherence_downgrade_cleans_the_line_and_reports_once_that_it_was_dirty() {
    let mut bench = Bench::new(&small());
    bench.cycles(&[store(1, 64, 0)]);
    assert_eq!(bench.node.caches_mut().downgrade(LineAddr(64)), Some(true));
    assert_eq!(bench.node.caches_mut().downgrade(LineAddr(64)), Some(false));
    assert_eq!(
        (bench.node.caches().dirty_lines(), bench.node.caches().permission(LineAddr(64))),
        (vec![], Some(Permission::Shared))
    );
    assert_eq!(bench.node.caches_mut().downgrade(LineAddr(65)), None);
}

#[test]
fn no_instruction_enters_the_reorder_buffer_before_the_core_resumes() {
    for cycle in [1_000, 1_001] {
        let mut bench = Bench::warm(&small(), &[]);
        let before = bench.node.now();
        bench.node.resume(Time::ZERO + bench.node.clock.span(Cycles(cycle)));
        bench.run(&[alu(&[1], &[])]);
        assert_eq!(bench.node.now(), bench.node.clock.start_of(Cycles(cycle)));
        assert_eq!(bench.node.counts().lost_cycles.idle, cycle - bench.node.clock.cycle_at_or_after(before).0);
    }
}
