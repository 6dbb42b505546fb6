//! Flushes and fences: effects of a fence, and a core with fences against a naive one that steps cycle by cycle.

use super::ticking::{Progress, sources_of, start};
use super::*;
use proptest::prelude::*;

/// A core on which flushes and fences take effect.
fn durable() -> NodeConfig {
    NodeConfig { flushes: true, ..small() }
}

/// Flushes the lines of a list.
fn flush(lines: &[u64]) -> Op {
    let flushes = lines.iter().map(|line| LineAddr(*line)).collect();
    Op { orders: Some(Orders { flushes, ..Orders::default() }), ..op(Class::Nop, &[], &[]) }
}

fn fence() -> Op {
    Op { orders: Some(Orders { fence: true, ..Orders::default() }), ..op(Class::Nop, &[], &[]) }
}

/// Runs a program on a warm core. Memory answers reads after [`MEMORY`] cycles, and flush N after `answer(N)` cycles. Returns the
/// cycles after the start at which each flush left and the last instruction retired, and the cycles for which fences held up
/// retirement.
fn run(config: &NodeConfig, ops: &[Op], answer: impl Fn(usize) -> u64) -> (Vec<u64>, u64, u64) {
    let mut bench = Bench::warm(config, &[]);
    bench.run(&[op(Class::Serial, &[], &[])]);
    let (start, clock) = (bench.clock(), bench.node.clock);
    let (mut out, mut under_way, mut left, mut held) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut feed = Script { ops: ops.iter() };
    loop {
        let Ok(pause) = bench.node.run(&mut feed, Time::NEVER, &mut out);
        for Request { at, line, kind, .. } in out.drain(..).filter(|request| request.kind != RequestKind::WriteBack) {
            let takes = if kind == RequestKind::Flush { answer(left.len()) } else { MEMORY };
            under_way.push((at + clock.span(Cycles(takes)), line, kind));
            if kind == RequestKind::Flush {
                left.push(clock.cycle_at_or_after(at).0 - start);
            }
        }
        let Some(first) = (0..under_way.len()).min_by_key(|&index| under_way[index].0) else {
            assert_eq!((pause, bench.node.outstanding()), (Pause::Finished, 0));
            return (left, bench.clock() - start, held);
        };
        let (at, line, kind) = under_way.remove(first);
        if kind == RequestKind::Flush {
            held += bench.node.flushed(line, at, &mut out).as_fs() / clock.period().as_fs();
        } else {
            bench.node.filled(line, at, &mut out);
        }
    }
}

#[test]
fn a_flush_is_sent_only_after_earlier_stores_are_in_the_cache() {
    let (left, _, _) = run(&durable(), &[store(0, 64, 0), flush(&[64])], |_| 1);
    let (alone, _, _) = run(&durable(), &[alu(&[1], &[0]), flush(&[64])], |_| 1);
    assert!(left[0] > MEMORY && alone[0] < 10, "the store missed: {left:?}, {alone:?}");
}

#[test]
fn a_flush_is_sent_as_soon_as_its_store_is_in_the_cache_despite_later_instructions() {
    let behind = (0..400).map(|_| alu(&[1], &[1]));
    let ops: Vec<Op> = [store(0, 64, 0), flush(&[64])].into_iter().chain(behind).collect();
    let (left, ..) = run(&durable(), &ops, |_| 1);
    assert!((MEMORY..MEMORY + 40).contains(&left[0]), "{left:?}");
}

#[test]
fn with_a_write_buffer_a_flush_waits_for_the_line_of_its_store() {
    let config = NodeConfig { write_buffer: Some(8), ..durable() };
    let (left, ..) = run(&config, &[store(0, 64, 0), flush(&[64])], |_| 1);
    assert!((MEMORY..MEMORY + 40).contains(&left[0]), "{left:?}");
}

/// One answer may take longer than another, and the node then gets the other one first.
#[test]
fn a_fence_waits_for_the_latest_flush_acknowledgement_in_any_order_of_their_reports() {
    let retired = |known_before: bool| {
        let mut bench = Bench::warm(&durable(), &[]);
        bench.run(&[op(Class::Serial, &[], &[])]);
        let (start, clock) = (bench.clock(), bench.node.clock);
        let work = (0..15).map(|_| alu(&[1], &[1]));
        let ops: Vec<Op> =
            [flush(&[64]), flush(&[65])].into_iter().chain(work).chain([fence(), alu(&[2], &[])]).collect();
        let (first, rest) = ops.split_at(if known_before { 2 } else { ops.len() });
        let mut out = Vec::new();
        let Ok(_) = bench.node.run(&mut Script { ops: first.iter() }, Time::NEVER, &mut out);
        for (line, cycle) in [(64, 500), (65, 420)] {
            bench.node.flushed(LineAddr(line), clock.start_of(Cycles(start + cycle)), &mut out);
        }
        let Ok(_) = bench.node.run(&mut Script { ops: rest.iter() }, Time::NEVER, &mut out);
        assert_eq!(bench.node.fence_counts().unwrap().fences_held, 1);
        clock.cycle_at_or_after(bench.node.retired_at()).0 - start
    };
    assert_eq!((retired(true), retired(false)), (501, 501));
}

#[test]
fn a_fence_whose_flushes_are_already_acknowledged_does_not_count_as_stalled() {
    let behind = (0..300).map(|_| alu(&[1], &[1]));
    let ops: Vec<Op> = [flush(&[64])].into_iter().chain(behind).chain([fence()]).collect();
    let mut bench = Bench::warm(&durable(), &[]);
    let (start, clock) = (bench.clock(), bench.node.clock);
    let mut out = Vec::new();
    let Ok(_) = bench.node.run(&mut Script { ops: ops.iter() }, Time::NEVER, &mut out);
    bench.node.flushed(LineAddr(64), clock.start_of(Cycles(start + 100)), &mut out);
    assert_eq!(bench.node.fence_counts().unwrap().fences_held, 0);
}

#[test]
fn a_fence_stalls_retirement_until_every_earlier_flush_is_acknowledged() {
    let ops = [flush(&[64]), flush(&[65]), fence(), alu(&[1], &[0])];
    let of = |first, second| run(&durable(), &ops, |number| [first, second][number]);
    let (one, other) = (of(500, 100), of(100, 500));
    assert_eq!(one, (vec![one.0[0]; 2], other.1, one.2));
    assert!(one.1 > 500 && one.1 < 510 && one.2 > 490, "{one:?}");
    let (_, without, held) = run(&durable(), &[flush(&[64]), flush(&[65]), alu(&[1], &[0])], |_| 500);
    assert!(without < 10 && held == 0, "nothing waits for flushes but fences");
}

#[test]
fn no_store_after_a_fence_is_written_before_earlier_flushes_are_acknowledged() {
    let ops = [flush(&[64]), fence(), store(0, 128, 0), flush(&[128])];
    let (left, ..) = run(&durable(), &ops, |_| 700);
    assert!(left[0] < 10 && left[1] > 700, "{left:?}");
}

#[test]
fn a_fence_does_not_wait_for_flushes_of_the_same_instruction() {
    let both = Op {
        orders: Some(Orders { flushes: vec![LineAddr(65)], fence: true, ..Orders::default() }),
        ..op(Class::Nop, &[], &[])
    };
    let (left, cycles, _) = run(&durable(), &[flush(&[64]), both], |number| [300, 900][number]);
    assert!(left[1] > 300 && cycles < 320, "{left:?}, {cycles}");
}

#[test]
fn a_core_without_flush_support_executes_flushes_and_fences_as_nops() {
    let ops = [flush(&[64]), fence(), flush(&[64]), fence()];
    let plain: Vec<Op> = ops.iter().map(|_| op(Class::Nop, &[], &[])).collect();
    let (left, cycles, _) = run(&small(), &ops, |_| 300);
    assert_eq!((left.len(), cycles), (0, run(&small(), &plain, |_| 300).1));
}

fn flushes_of(op: &Op) -> bool {
    op.orders.as_ref().is_some_and(|orders| !orders.flushes.is_empty())
}

/// Returns the cycles at which each flush leaves and the last instruction retires, from a search of everything in every cycle.
/// The program must have no stores.
fn ticking(config: &NodeConfig, ops: &[Op], answer: impl Fn(usize) -> u64) -> (Vec<u64>, u64) {
    let sources = sources_of(ops);
    let mut progress = vec![Progress { started: false, done: u64::MAX }; ops.len()];
    let (mut retired, mut entered) = (0, 0);
    // Instruction that sent each flush, the cycle at which it left, and the cycle of its answer.
    let mut flushes: Vec<(usize, u64, u64)> = Vec::new();
    for cycle in 0.. {
        let mut width = config.retire_width;
        while width > 0 && retired < entered && progress[retired].done <= cycle {
            if flushes_of(&ops[retired]) {
                flushes.push((retired, cycle, cycle + answer(flushes.len())));
            }
            (width, retired) = (width - 1, retired + 1);
        }
        if retired == ops.len() {
            return (flushes.into_iter().map(|(_, left, _)| left).collect(), cycle);
        }
        let room = (config.rob as usize).saturating_sub(entered - retired);
        entered = ops.len().min(entered + room.min(config.dispatch_width.into()));
        let is_answered = |number: usize| {
            !flushes_of(&ops[number]) || flushes.iter().any(|(owner, _, at)| *owner == number && *at <= cycle)
        };
        let fences = |op: &Op| op.orders.as_ref().is_some_and(|orders| orders.fence);
        let may_start = |number: usize| !fences(&ops[number]) || (0..number).all(is_answered);
        start(config, ops, &sources, &mut progress, (retired..entered, cycle), may_start);
    }
    unreachable!("cycles do not end")
}

fn some_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => super::ticking::some_work(),
        2 => (64..70u64).prop_map(|line| flush(&[line])),
        1 => Just(fence()),
    ]
}

proptest! {
    #[test]
    fn flushes_and_fences_take_the_cycles_of_a_cycle_by_cycle_model(
        (dispatch, retire, rob) in (1..7u8, 1..7u8, 1..50u32),
        ops in proptest::collection::vec(some_op(), 1..120),
        answers in proptest::collection::vec(1..200u64, 120),
    ) {
        let mut config = durable();
        (config.dispatch_width, config.retire_width, config.rob) = (dispatch, retire, rob);
        let (left, cycles, _) = run(&config, &ops, |number| answers[number]);
        prop_assert_eq!((left, cycles), ticking(&config, &ops, |number| answers[number]));
    }
}
