//! Lines that arrive in two steps: first the requested words, then the remaining words. A miss costs 5 cycles in L1D, 10
//! in L2 and `MEMORY` beyond; the remaining words of its line take `TAIL` more.

use super::*;
use ::units::{Bytes, Words};

const MISS: u64 = 5 + 10 + MEMORY;
const TAIL: u64 = 35;

/// Returns the cycles of `ops` on a memory that first sends the piece of `piece` bytes with the requested word.
fn cycles(config: &NodeConfig, ops: &[Op], piece: usize) -> u64 {
    let mut bench = Bench::warm(config, &[]);
    let (start, clock) = (bench.clock(), bench.node.clock);
    let mut feed = Script { ops: ops.iter() };
    let (mut out, mut under_way) = (Vec::new(), Vec::new());
    loop {
        let Ok(pause) = bench.node.run(&mut feed, Time::NEVER, &mut out);
        for Request { at, line, word, .. } in out.drain(..) {
            under_way.push((at + clock.span(Cycles(MEMORY)), line, Words::of_piece(word, piece)));
        }
        if under_way.is_empty() {
            assert_eq!(pause, Pause::Finished);
            return bench.clock() - start;
        }
        under_way.sort_by_key(|(at, line, _)| (*at, *line));
        let (at, line, words) = under_way.remove(0);
        if words == Words::ALL {
            bench.node.answered(line, at, Permission::Exclusive, &mut out);
        } else {
            bench.node.arrived_in_part(line, words, at, &mut out);
            under_way.push((at + clock.span(Cycles(TAIL)), line, Words::ALL));
        }
    }
}

fn after(register: u8) -> Op {
    alu(&[40], &[register])
}

#[test]
fn a_load_completes_with_the_piece_of_the_line_that_it_needs() {
    let both = |offset| [load(1, &[], 64, 16), load(2, &[], 64, offset), after(2)];
    let taken = |offset, piece| cycles(&small(), &both(offset), piece);
    let with_tail = MISS + TAIL + 1;
    assert_eq!([16, 8, 24].map(|offset| taken(offset, 8)), [MISS + 1, with_tail, with_tail]);
    assert_eq!(
        [16, 8, 24].map(|offset| taken(offset, 16)),
        [MISS + 1, with_tail, MISS + 1],
        "the next word is there too"
    );
    assert_eq!([16, 8, 24].map(|offset| taken(offset, 64)), [MISS + 1; 3]);
}

#[test]
fn a_load_across_two_words_waits_for_the_later_piece() {
    let taken = |offset, piece| cycles(&small(), &[load(1, &[], 64, offset), after(1)], piece);
    assert_eq!([taken(16, 8), taken(20, 8), taken(20, 16)], [MISS + 1, MISS + TAIL + 1, MISS + 1]);
}

#[test]
fn a_load_between_two_partial_arrivals_of_a_line_uses_the_arrived_words() {
    let chained = |offset| [load(1, &[], 64, 0), load(2, &[1], 64, offset), after(2)];
    let taken = |offset| cycles(&small(), &chained(offset), 8);
    assert_eq!([taken(4), taken(0), taken(8)], [MISS + TAIL + 1, MISS + 5 + 1, MISS + TAIL + 1]);
}

#[test]
fn a_store_waits_for_the_whole_line_and_not_only_its_critical_word() {
    let ops = [store(1, 64, 16), op(Class::Serial, &[], &[]), alu(&[1], &[])];
    assert_eq!(cycles(&small(), &ops, 8), cycles(&small(), &ops, 64) + TAIL);
}

#[test]
fn the_other_32_byte_half_waits_for_the_rest_of_the_line_or_its_l2_look_up() {
    let mut config = small();
    for cache in [&mut config.l1i, &mut config.l1d] {
        cache.line = Bytes(32);
        cache.size = Bytes(cache.size.0 / 2);
    }
    let chained = [load(1, &[], 64, 0), load(2, &[1], 64, 32), after(2)];
    assert_eq!(cycles(&config, &chained, 8), MISS + TAIL + 1);
    config.l2.latency_cycles = TAIL;
    assert_eq!(cycles(&config, &chained, 8), 5 + TAIL + MEMORY + 5 + TAIL + 1);
}

#[test]
fn instruction_fetch_waits_for_the_whole_line_of_the_l1i() {
    let code = |line| [Op { code: line, ..op(Class::Nop, &[], &[]) }];
    let taken = |config: &NodeConfig, piece| cycles(config, &code(CODE_LINE + 1), piece);
    let whole = taken(&small(), 64);
    assert_eq!([8, 16, 32].map(|piece| taken(&small(), piece)), [whole + TAIL; 3]);
    let mut short = small();
    (short.l1i.line, short.l1i.size) = (Bytes(32), Bytes(short.l1i.size.0 / 2));
    assert_eq!([8, 16, 32].map(|piece| taken(&short, piece)), [whole + TAIL, whole + TAIL, whole]);
    // A fetch that joins the request of an earlier load waits for the same words.
    let joined = [load(1, &[], CODE_LINE + 1, 0), Op { code: CODE_LINE + 1, ..op(Class::Nop, &[], &[]) }];
    let taken = |piece| cycles(&short, &joined, piece);
    assert_eq!([taken(16), taken(32)], [taken(64) + TAIL, taken(64)]);
}

#[test]
fn no_request_leaves_the_core_before_the_latest_words_that_it_received() {
    let mut bench = Bench::warm(&small(), &[]);
    let mut out = Vec::new();
    let first = [load(1, &[], 64, 0)];
    assert_eq!(bench.node.run(&mut Script { ops: first.iter() }, Time::NEVER, &mut out), Ok(Pause::Finished));
    let [Request { at, line, word, .. }] = out[..] else { panic!("one miss: {out:?}") };
    let arrived = at + bench.node.clock.span(Cycles(MEMORY));
    out.clear();
    bench.node.arrived_in_part(line, Words::of_piece(word, 8), arrived, &mut out);
    let second = [load(2, &[], 128, 0)];
    assert_eq!(bench.node.run(&mut Script { ops: second.iter() }, Time::NEVER, &mut out), Ok(Pause::Finished));
    assert_eq!(out.iter().map(|request| (request.line, request.at)).collect::<Vec<_>>(), [(LineAddr(128), arrived)]);
}
