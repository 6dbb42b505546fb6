//! Stores past the caches: the lines that leave, when they leave, and the reads that they cause.

use super::*;
use crate::persist::PersistBufferConfig;
use RequestKind::{Flush, PastCaches, ReadForOwnership};
use proptest::prelude::*;

/// Stores bytes of a line past the caches.
fn past(line: u64, offset: u8, bytes: u8) -> Op {
    let mut op = alu(&[], &[0]);
    op.touches.push(Touch { past_caches: true, ..touch(line, offset, bytes, true) });
    op
}

/// Stores a whole line past the caches.
fn whole(line: u64) -> [Op; 2] {
    [past(line, 0, 32), past(line, 32, 32)]
}

fn serial() -> Op {
    op(Class::Serial, &[], &[])
}

/// Requests that left the core, in order, without write-backs.
type Sent = Vec<(RequestKind, u64)>;

/// Runs a program on a warm core. Its memory accepts lines stored past the caches after `takes` cycles, and returns lines
/// after [`MEMORY`]. Returns the requests of the core, the cycles until the last instruction retired, and the dirty lines.
fn run(config: &NodeConfig, ops: &[Op], takes: u64) -> (Sent, u64, Vec<LineAddr>) {
    let mut bench = Bench::warm(config, &[]);
    bench.run(&[serial()]);
    let (start, clock) = (bench.clock(), bench.node.clock);
    let (mut out, mut under_way, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    let mut feed = Script { ops: ops.iter() };
    loop {
        let Ok(pause) = bench.node.run(&mut feed, Time::NEVER, &mut out);
        for Request { at, line, kind, .. } in out.drain(..).filter(|request| request.kind != RequestKind::WriteBack) {
            sent.push((kind, line.0));
            let takes = if kind == RequestKind::PastCaches { takes } else { MEMORY };
            under_way.push((at + clock.span(Cycles(takes)), line, kind));
        }
        let Some(first) = (0..under_way.len()).min_by_key(|&index| under_way[index].0) else {
            assert_eq!((pause, bench.node.outstanding()), (Pause::Finished, 0));
            return (sent, bench.clock() - start, bench.node.caches().dirty_lines());
        };
        let (at, line, kind) = under_way.remove(first);
        match kind {
            RequestKind::PastCaches => bench.node.taken_past_caches(at, &mut out),
            RequestKind::Flush => drop(bench.node.flushed(line, at, &mut out)),
            _ => drop(bench.node.filled(line, at, &mut out)),
        }
    }
}

#[test]
fn a_line_fully_covered_by_non_temporal_stores_is_sent_once_and_never_read() {
    let (sent, _, dirty) = run(&small(), &whole(70), 1);
    assert_eq!((sent, dirty), (vec![(PastCaches, 70)], vec![]));
}

#[test]
fn a_line_partly_covered_by_non_temporal_stores_is_fetched_and_is_dirty_in_the_caches() {
    for ops in [vec![past(70, 0, 32)], vec![past(70, 8, 8), serial()]] {
        let (sent, _, dirty) = run(&small(), &ops, 1);
        assert_eq!((sent, dirty), (vec![(ReadForOwnership, 70)], vec![LineAddr(70)]));
    }
}

/// The battery of durable caches takes these lines: no other part of the core has the stores.
#[test]
fn an_incomplete_line_is_combining_until_the_caches_have_read_its_missing_bytes() {
    let mut bench = Bench::warm(&small(), &[]);
    let mut out = Vec::new();
    let Ok(_) = bench.node.run(&mut Script { ops: [past(70, 8, 8)].iter() }, Time::NEVER, &mut out);
    let Request { at, line, kind, .. } = out.pop().unwrap();
    assert_eq!((line, kind, bench.node.caches().dirty_lines()), (LineAddr(70), ReadForOwnership, vec![]));
    assert_eq!(bench.node.combining_lines(), [LineAddr(70)], "its missing bytes are on their way");
    bench.node.filled(line, at, &mut out);
    assert_eq!((bench.node.combining_lines(), bench.node.caches().dirty_lines()), (vec![], vec![LineAddr(70)]));
}

#[test]
fn write_combining_serves_as_many_lines_in_parallel_as_there_are_buffers() {
    let halves = |lines: u64| -> Vec<Op> {
        let of = |offset| (0..lines).map(move |line| past(70 + line, offset, 32));
        of(0).chain(of(32)).collect()
    };
    let (sent, _, _) = run(&small(), &halves(10), 1);
    assert_eq!(sent, (70..80).map(|line| (PastCaches, line)).collect::<Vec<_>>());
    let (sent, _, _) = run(&small(), &halves(11), 1);
    assert_eq!(sent[0], (ReadForOwnership, 70), "the oldest has left for the eleventh: {sent:?}");
}

#[test]
fn non_temporal_stores_wait_for_memory_if_all_write_combining_buffers_are_in_flight() {
    let ops: Vec<Op> = (0..40).flat_map(|line| whole(70 + line)).chain([serial()]).collect();
    let (_, fast, _) = run(&small(), &ops, 1);
    let (sent, slow, _) = run(&small(), &ops, 1000);
    assert_eq!(sent.len(), 40);
    assert!(fast < 200 && (3000..3200).contains(&slow), "four times ten lines: {fast}, {slow}");
}

#[test]
fn any_ordinary_access_to_a_line_closes_its_write_combining_buffer() {
    let flush =
        Op { orders: Some(Orders { flushes: vec![LineAddr(70)], ..Orders::default() }), ..op(Class::Nop, &[], &[]) };
    let durable = NodeConfig { flushes: true, ..small() };
    let (sent, _, dirty) = run(&durable, &[past(70, 0, 32), flush.clone(), past(70, 32, 32)], 1);
    assert_eq!(sent[..2], [(ReadForOwnership, 70), (Flush, 70)], "{sent:?}");
    assert_eq!(dirty, [LineAddr(70)]);
    let [first, second] = whole(70);
    assert_eq!(run(&durable, &[first, second, flush], 1).0, [(PastCaches, 70), (Flush, 70)]);
    for other in [store(0, 70, 8), load(1, &[], 70, 40)] {
        let wait = (0..40).map(|_| alu(&[1], &[1]));
        let ops: Vec<Op> = [past(70, 0, 32)].into_iter().chain(wait).chain([other, past(70, 32, 32)]).collect();
        let (sent, ..) = run(&small(), &ops, 1);
        assert!(!sent.contains(&(PastCaches, 70)), "{sent:?}");
    }
}

#[test]
fn with_a_persist_buffer_non_temporal_stores_are_ordinary_stores() {
    let buffer = PersistBufferConfig { entries: 8, drain_from: 6, drain_to: 4 };
    let persist = PersistConfig { buffer, latency_cycles: 2, waits: StoreHold::Never };
    let mut bench = Bench::warm(&NodeConfig { persist_buffer: Some(persist), ..small() }, &[]);
    bench.run(&whole(70));
    assert_eq!((bench.sent(70, PastCaches), bench.sent(70, ReadForOwnership)), (0, 1));
}

proptest! {
    /// Every program ends. A line leaves whole only if both of its halves were stored past the caches. Any other store to the line
    /// requests the line.
    #[test]
    fn random_non_temporal_stores_send_a_line_only_if_fully_stored_and_lose_no_store(
        ops in prop::collection::vec((70..84u64, 0..2u8, 0..8u8), 1..120),
        takes in 1..400u64,
        buffered in any::<bool>(),
    ) {
        let config = NodeConfig { write_buffer: buffered.then_some(4), ..small() };
        let program = ops.iter().map(|&(line, half, kind)| match kind {
            0 => store(0, line, half * 32),
            1 => load(1, &[], line, half * 32),
            2 => serial(),
            _ => past(line, half * 32, 32),
        });
        let program: Vec<Op> = program.chain([serial()]).collect();
        let (sent, ..) = run(&config, &program, takes);
        for line in 70..84 {
            let left = sent.iter().filter(|request| **request == (PastCaches, line)).count();
            let of = |half| ops.iter().filter(|op| (op.0, op.1) == (line, half) && op.2 > 2).count();
            prop_assert!(left <= of(0).min(of(1)), "{line} left {left} times: {sent:?}");
            let requested = sent.iter().any(|(kind, requested)| *requested == line && kind.is_answered());
            prop_assert!(requested || left > 0 || of(0) + of(1) == 0, "{line} never left: {sent:?}");
        }
    }
}
