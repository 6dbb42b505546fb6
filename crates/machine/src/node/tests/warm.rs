//! Warming against detail: the same touches leave the same tables behind.

use super::*;
use proptest::prelude::*;

/// A use of a line: a load, a store or an instruction fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Load(u64),
    Store(u64),
    Code(u64),
}

fn some_use() -> impl Strategy<Value = Use> {
    (0..60u64, 0..5u8).prop_map(|(line, how)| match how {
        0 | 1 => Use::Load(line),
        2 | 3 => Use::Store(line),
        _ => Use::Code(line),
    })
}

fn small_caches() -> NodeConfig {
    let mut config = small();
    config.l1i = CacheConfig { size: ::units::Bytes(4 * 64), ways: 2, ..config.l1i };
    config.dtlb = TlbConfig { entries: 2, ways: 1, latency_cycles: 0 };
    config.itlb = TlbConfig { entries: 2, ways: 2, latency_cycles: 0 };
    config.stlb = TlbConfig { entries: 4, ways: 2, latency_cycles: 0 };
    config
}

/// Caches with lines of 32 bytes in L1D before those of 64, and SRRIP.
fn short_lines() -> NodeConfig {
    let mut config = small_caches();
    config.l1d.line = ::units::Bytes(32);
    config.l1d.replacement = crate::cache::Replacement::Srrip;
    config
}

/// Caches in which a write-back is no use of its line.
fn unused_writebacks() -> NodeConfig {
    let mut config = small_caches();
    config.l2.writeback_is_use = Some(false);
    config
}

/// Runs each use in an otherwise empty window, so the caches see them in program order.
fn in_detail(config: &NodeConfig, uses: &[Use]) -> Bench {
    let mut bench = Bench::new(config);
    let mut requests = Vec::new();
    for each in uses {
        let mut op = match *each {
            Use::Load(line) => load(1, &[], line, 0),
            Use::Store(line) => store(1, line, 0),
            Use::Code(_) => alu(&[1], &[]),
        };
        op.code = CODE_LINE;
        if let Use::Code(line) = *each {
            op.code = line;
        }
        let then_rest = Op { code: op.code, ..super::op(Class::Serial, &[], &[]) };
        bench.run(&[op, then_rest]);
        requests.append(&mut bench.requests);
    }
    bench.requests = requests;
    bench
}

fn warmed(config: &NodeConfig, uses: &[Use]) -> (Node, Vec<Request>) {
    let (mut node, mut requests) = (Node::new(config), Vec::new());
    let mut code = None;
    for each in uses {
        let line = if let Use::Code(line) = *each { line } else { CODE_LINE };
        if code.replace(line) != Some(line) {
            node.warm_page(Side::Code, PageKey(line / 64), LineAddr(line));
            node.caches_mut().warm_code(LineAddr(line), 0);
        }
        if let Use::Load(line) | Use::Store(line) = *each {
            node.warm_page(Side::Data, PageKey(line / 64), LineAddr(line));
            let touch = touch(line, 0, 8, matches!(each, Use::Store(_)));
            node.warm_data(&touch);
        }
    }
    node.caches_mut().outgoing.move_to(&mut requests);
    (node, requests)
}

proptest! {
    #[test]
    fn functional_warming_sends_the_requests_and_keeps_the_lines_of_detailed_simulation(uses in proptest::collection::vec(some_use(), 1..300)) {
      for config in [small_caches(), short_lines(), unused_writebacks()] {
        let detailed = in_detail(&config, &uses);
        let (node, requests) = warmed(&config, &uses);
        let described = |requests: &[Request]| requests.iter().map(|request| (request.line, request.kind)).collect::<Vec<_>>();
        prop_assert_eq!(described(&requests), described(&detailed.requests));
        prop_assert_eq!(node.caches().dirty_lines(), detailed.node.caches().dirty_lines());
        let hits = |node: &Node| (node.counts().itlb, node.counts().dtlb, node.counts().stlb);
        prop_assert_eq!(hits(&node), hits(&detailed.node));
      }
    }
}

#[test]
fn a_line_cached_by_functional_warming_hits() {
    let mut bench = Bench::new(&small());
    let mut out = Vec::new();
    bench.node.warm_page(Side::Code, PageKey(CODE_LINE / 64), LineAddr(CODE_LINE));
    bench.node.caches_mut().warm_code(LineAddr(CODE_LINE), 0);
    bench.node.warm_page(Side::Data, PageKey(0), LineAddr(0));
    bench.node.warm_data(&touch(7, 0, 8, false));
    bench.node.caches_mut().outgoing.move_to(&mut out);
    assert_eq!(out.len(), 2, "both lines come from beyond L2");
    assert_eq!(bench.cycles(&[load(1, &[], 7, 0)]), 5);
    assert!(bench.requests.is_empty());
}

#[test]
fn prefetchers_learn_and_prefetch_during_functional_warming() {
    let mut config = small();
    config.l2.prefetcher = Some(PrefetcherConfig::Stride { degree: 1, entries: 16 });
    let (mut node, mut out) = (Node::new(&config), Vec::new());
    for line in [0, 2, 4, 6] {
        node.warm_data_prefetch(VirtAddr(0x1000), &touch(line, 0, 8, false));
    }
    node.caches_mut().outgoing.move_to(&mut out);
    let requested: Vec<_> = out.iter().map(|request| (request.line.0, request.kind)).collect();
    use RequestKind::{Prefetch, Read};
    // After two accesses the stride is a guess. The caches do not request prefetched lines again.
    assert_eq!(requested, [(0, Read), (2, Read), (4, Prefetch), (6, Prefetch), (8, Prefetch)]);
}

#[test]
fn a_branch_learnt_in_functional_warming_is_predicted() {
    let loop_end = || {
        let mut op = branch(Flow::Conditional, &[], 0x2000);
        op.instruction.pc = VirtAddr(0x1ff0);
        op
    };
    let mispredicts = |warmed: usize| {
        let mut bench = Bench::new(&small());
        let op = loop_end();
        (0..warmed).for_each(|_| bench.node.warm_branch(&op.instruction, VirtAddr(0x2000)));
        bench.run(&[op]);
        bench.node.counts().mispredicts
    };
    assert_eq!((mispredicts(0), mispredicts(3)), (1, 0));
}

#[test]
fn a_page_walked_in_functional_warming_needs_no_page_walk() {
    let mut config = small();
    config.walker = Some(WalkerConfig {
        levels: 2,
        layout: TableLayout::Radix,
        structure_caches: vec![4],
        waiting_accesses: None,
        outstanding: 1,
        latency_cycles: 0,
        step_cycles: 0,
        first_touch_cycles: 0,
    });
    let mut bench = Bench::new(&config);
    for (page, lines) in [(CODE_LINE / 64, [9000, 9100]), (4, [9200, 9301])] {
        let lines = lines.map(LineAddr).into_iter().collect();
        bench.node.learn(&PageTables { page: PageKey(page), lines });
    }
    let mut out = Vec::new();
    bench.node.warm_page(Side::Code, PageKey(CODE_LINE / 64), LineAddr(CODE_LINE));
    bench.node.caches_mut().warm_code(LineAddr(CODE_LINE), 0);
    bench.node.warm_page(Side::Data, PageKey(4), LineAddr(4 * 64));
    bench.node.warm_data(&touch(4 * 64, 0, 8, false));
    bench.node.caches_mut().outgoing.move_to(&mut out);
    let requested: Vec<u64> = out.iter().map(|request| request.line.0).collect();
    assert_eq!(requested, [9000, 9100, CODE_LINE, 9200, 9301, 4 * 64], "each table, then the line");
    assert_eq!(bench.cycles(&[load(1, &[], 4 * 64, 0)]), 5);
}
