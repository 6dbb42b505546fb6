//! Caches with lines of 32 bytes. A miss costs 5 cycles in L1D, 10 in L2 and `MEMORY` beyond.

use super::*;
use crate::node::lines::{Cutter, LineSize, WordAddr};
use ::units::{Bytes, LineLength};

const MISS: u64 = 5 + 10 + MEMORY;
const SHORT: Bytes = Bytes(32);
const WHOLE: Bytes = Bytes(64);

/// A small core with short lines in both first-level caches, with the usual number of lines.
fn short_l1() -> NodeConfig {
    let mut config = small();
    for cache in [&mut config.l1i, &mut config.l1d] {
        cache.line = SHORT;
        cache.size = Bytes(cache.size.0 / 2);
    }
    config
}

fn short_everywhere() -> NodeConfig {
    let mut config = short_l1();
    config.l2.line = SHORT;
    config.l2.size = Bytes(config.l2.size.0 / 2);
    config
}

#[test]
fn cache_keys_distinguish_the_halves_of_a_64_byte_line_only_with_32_byte_lines() {
    let (lower, upper) = (WordAddr::of(LineAddr(5), 0), WordAddr::of(LineAddr(5), 32));
    let end_of_lower = WordAddr::of(LineAddr(5), 31);
    let (short, whole) = (LineSize::new(SHORT, LineLength::WHOLE), LineSize::new(WHOLE, LineLength::WHOLE));
    assert_eq!((short.key(lower), short.key(end_of_lower), short.key(upper)), (10, 10, 11));
    assert_eq!((whole.key(lower), whole.key(upper)), (5, 5));
    assert_eq!(short.within(LineAddr(5)).collect::<Vec<_>>(), [lower, upper]);
    assert_eq!(whole.within(LineAddr(5)).collect::<Vec<_>>(), [lower]);
    assert_eq!(short.some_of(LineAddr(5), short.covered(upper)).collect::<Vec<_>>(), [upper]);
    assert_eq!(short.some_of(LineAddr(5), whole.covered(upper)).collect::<Vec<_>>(), [lower, upper]);
    assert_eq!(whole.some_of(LineAddr(5), short.covered(upper)).collect::<Vec<_>>(), [lower]);
    assert_eq!((short.first(11), whole.first(5)), (upper, lower));
}

#[test]
fn accesses_are_split_exactly_at_the_boundaries_of_32_byte_lines() {
    let touch = |offset, bytes| touch(1, offset, bytes, false);
    let cut = |size, touch: Touch| {
        let mut op = alu(&[], &[]);
        op.touches.push(touch);
        Cutter::new(LineSize::new(size, LineLength::WHOLE)).cut(step(&op)).touches.to_vec()
    };
    for (offset, bytes) in [(0, 32), (24, 8), (32, 8), (63, 1), (31, 1)] {
        assert_eq!(cut(SHORT, touch(offset, bytes)), [touch(offset, bytes)]);
    }
    assert_eq!(cut(SHORT, touch(31, 2)), [touch(31, 1), touch(32, 1)]);
    assert_eq!(cut(SHORT, touch(0, 64)), [touch(0, 32), touch(32, 32)]);
    assert_eq!(cut(WHOLE, touch(0, 64)), [touch(0, 64)]);
}

#[test]
fn a_miss_fills_a_32_byte_line_of_l1_and_a_64_byte_line_of_l2() {
    let mut bench = Bench::warm(&short_l1(), &[64]);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 24)]), 5);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 32)]), 5 + 10, "the other half is in L2");
    assert_eq!(bench.cycles(&[load(1, &[], 64, 32)]), 5);
    assert!(bench.requests.is_empty());
}

#[test]
fn with_32_byte_lines_everywhere_the_other_half_is_requested_separately() {
    let mut bench = Bench::warm(&short_everywhere(), &[64]);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 32)]), MISS);
    assert_eq!(bench.sent(64, RequestKind::Read), 1);
    assert_eq!(bench.cycles(&[load(1, &[], 64, 32), load(1, &[], 64, 0)]), 5);
}

#[test]
fn a_32_byte_line_in_l2_does_not_wait_for_a_miss_of_its_neighbour() {
    let mut bench = Bench::warm(&short_everywhere(), &[64, 66, 68]);
    bench.cycles(&[load(1, &[], 64, 32), load(2, &[], 64, 0)]);
    let counts = bench.node.counts();
    assert_eq!((counts.l2.hits, counts.l2.merged, counts.l1d.hits), (1, 0, 0));
}

#[test]
fn misses_of_both_32_byte_halves_send_one_request_and_occupy_two_l1d_mshrs() {
    for config in [short_l1(), short_everywhere()] {
        let both = [load(1, &[], 64, 0), load(2, &[], 64, 32)];
        let mut bench = Bench::new(&config);
        assert_eq!(bench.cycles(&both), MISS);
        assert_eq!((bench.requests.len(), bench.sent(64, RequestKind::Read)), (1, 1));
        let counts = bench.node.counts();
        assert_eq!((counts.l1d.misses, counts.l2.misses, counts.l2.merged), (2, 2, 1), "one miss of L2 is the code's");
        assert_eq!(bench.cycles(&both), 5);
        let mut one = config;
        one.l1d.mshrs = 1;
        assert_eq!(Bench::new(&one).cycles(&both), MISS + if one.l2.line == WHOLE { 5 + 10 } else { MISS });
    }
}

#[test]
fn a_writeback_to_l2_is_a_use_of_its_line_only_if_the_configuration_says_so() {
    // Both caches have four sets. The third line of a set displaces the stored one from L1D, the fifth one displaces a
    // line from L2: the stored line, unless its write-back was a use.
    let accesses = [store(1, 0, 0), load(2, &[], 4, 0), load(2, &[], 8, 0), load(2, &[], 12, 0), load(2, &[], 16, 0)];
    for (writeback_is_use, writebacks) in [(None, 0), (Some(true), 0), (Some(false), 1)] {
        let mut config = small();
        config.l2.writeback_is_use = writeback_is_use;
        let mut bench = Bench::new(&config);
        for access in &accesses {
            bench.cycles(std::slice::from_ref(access));
        }
        assert_eq!(bench.sent(0, RequestKind::WriteBack), writebacks, "{writeback_is_use:?}");
    }
}

#[test]
fn two_dirty_halves_are_written_back_once_from_a_64_byte_l2_line_and_twice_otherwise() {
    let both = [store(1, 64, 0), store(1, 64, 32)];
    for (config, writebacks) in [(short_l1(), 1), (short_everywhere(), 2)] {
        let mut bench = Bench::new(&config);
        bench.cycles(&both);
        assert_eq!(bench.node.caches().dirty_lines(), [LineAddr(64)]);
        let stream: Vec<Op> = (1..200).flat_map(|n| [load(2, &[2], 64 + n, 0), load(2, &[2], 64 + n, 32)]).collect();
        bench.cycles(&stream);
        assert_eq!(bench.sent(64, RequestKind::WriteBack), writebacks);
        assert!(bench.node.caches().dirty_lines().is_empty());
    }
}

#[test]
fn a_store_dirties_only_its_32_byte_l1d_line() {
    let mut bench = Bench::new(&short_l1());
    bench.cycles(&[store(1, 64, 32), load(2, &[], 64, 0)]);
    let dirty: Vec<WordAddr> = bench.node.core.caches.dirty_words().collect();
    assert_eq!(dirty, [WordAddr::of(LineAddr(64), 32)]);
}

#[test]
fn both_32_byte_halves_of_a_line_are_invalidated_together() {
    for config in [short_l1(), short_everywhere()] {
        let mut bench = Bench::new(&config);
        bench.cycles(&[load(1, &[], 64, 0), store(1, 64, 32)]);
        assert!(bench.node.caches().holds(LineAddr(64)));
        assert_eq!(bench.node.caches_mut().invalidate(LineAddr(64)), Some(true));
        assert!(!bench.node.caches().holds(LineAddr(64)));
        assert_eq!(bench.node.caches_mut().invalidate(LineAddr(64)), None);
        assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), MISS);
    }
}

#[test]
fn a_core_that_caches_only_the_upper_32_bytes_holds_the_line() {
    let mut bench = Bench::new(&short_everywhere());
    bench.cycles(&[load(1, &[], 64, 32)]);
    assert!(bench.node.caches().holds(LineAddr(64)));
}

#[test]
fn instruction_fetch_looks_up_each_32_byte_line() {
    let mut bench = Bench::new(&short_l1());
    let mut code = vec![op(Class::Nop, &[], &[]); 3];
    (code[1].code_offset, code[2].code_offset) = (31, 32);
    bench.cycles(&code);
    let counts = bench.node.counts();
    assert_eq!((counts.l1i.misses, counts.l2.hits), (2, 1));
}
