//! Random programs and random memories: order, progress, repeatability, and no lost dirty line.

use super::*;
use crate::node::interface::UNKNOWN;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const CLASSES: [Class; 9] = [
    Class::Nop,
    Class::IntAlu,
    Class::IntAlu,
    Class::IntMul,
    Class::IntDiv,
    Class::FpAdd,
    Class::FpMul,
    Class::FpDiv,
    Class::Branch,
];

/// Registers without the stack pointer.
fn some_registers() -> impl Strategy<Value = ArrayVec<Reg, 4>> {
    proptest::collection::vec(16..22u8, 0..3).prop_map(|list| registers(&list))
}

fn some_touches() -> impl Strategy<Value = Vec<Touch>> {
    let one = (0..48u64, 0..7u8, prop_oneof![Just(8u8), Just(4), Just(2)], any::<bool>())
        .prop_map(|(line, word, bytes, store)| touch(line, word * 8 + 3, bytes, store));
    proptest::collection::vec(one, 0..4)
}

fn some_op() -> impl Strategy<Value = Op> {
    let work = prop_oneof![20 => (0..CLASSES.len()).prop_map(|index| CLASSES[index]), 1 => Just(Class::Serial)];
    let registers = (some_registers(), some_registers(), some_registers());
    // Some lines contain both code and data.
    let code = prop_oneof![6 => Just(CODE_LINE), 1 => CODE_LINE..CODE_LINE + 8, 1 => 0..8u64];
    (work, registers, prop_oneof![Just(Vec::new()), some_touches()], code, any::<bool>()).prop_map(
        |(class, (destinations, sources, address_sources), touches, code, taken)| {
            let mut op = op(class, &[], &[]);
            let instruction = &mut op.instruction;
            (instruction.destinations, instruction.sources) = (destinations, sources);
            if !touches.is_empty() {
                instruction.address_sources = address_sources;
            }
            if class == Class::Branch {
                instruction.flow = Flow::Conditional;
                op.next = Some(VirtAddr(if taken { 0x1100 } else { 0x1004 }));
            }
            (op.touches, op.code) = (touches, code);
            op
        },
    )
}

fn some_prefetchers() -> impl Strategy<Value = (Option<PrefetcherConfig>, Option<PrefetcherConfig>)> {
    let one = || {
        let next_line = (1..3u32).prop_map(|degree| Some(PrefetcherConfig::NextLine { degree }));
        let stride = (1..3u32).prop_map(|degree| Some(PrefetcherConfig::Stride { degree, entries: 4 }));
        let stream = (1..3u32, 1..9u32, 1..4usize)
            .prop_map(|(degree, distance, pages)| Some(PrefetcherConfig::Stream { degree, distance, pages }));
        prop_oneof![Just(None), next_line, stride, stream]
    };
    (one(), one())
}

fn some_config() -> impl Strategy<Value = NodeConfig> {
    let lines = prop_oneof![Just((64, 64)), Just((32, 64)), Just((32, 32))];
    let sizes = (1..5u8, 1..40u32, 1..6u32, 1..6u32, 1..5usize, 1..5usize);
    let order = (proptest::option::of(1..4u32), any::<bool>());
    (sizes, lines, some_prefetchers(), order).prop_map(
        |((width, rob, loads, stores, l1d, l2), (l1_line, l2_line), (l1d_prefetcher, l2_prefetcher), order)| {
            let mut config = small();
            (config.write_buffer, config.l1d_in_order) = order;
            (config.dispatch_width, config.retire_width) = (width, 5 - width);
            (config.rob, config.load_queue, config.store_queue) = (rob, loads, stores);
            (config.l1d.mshrs, config.l2.mshrs) = (l1d, l2);
            (config.l1d.line, config.l2.line) = (::units::Bytes(l1_line), ::units::Bytes(l2_line));
            config.l1i = CacheConfig { size: ::units::Bytes(4 * 64), ..config.l1d.clone() };
            config.l1d.prefetcher = l1d_prefetcher.filter(|_| l1d > 1);
            config.l2.prefetcher = l2_prefetcher.filter(|_| l2 > 1);
            config.dtlb = TlbConfig { entries: 2, ways: 1, latency_cycles: 1 };
            config.walk_latency_cycles = 20;
            config
        },
    )
}

/// Result of one run of a program.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    requests: Vec<Request>,
    completions: Vec<u64>,
    retired_at: Time,
    counts: NodeCounts,
    dirty: Vec<LineAddr>,
}

/// Runs a program against a memory with random delays, and checks the interface of the node on the way.
struct Trial {
    node: Node,
    delays: u64,
    answers: Vec<(Time, LineAddr)>,
    outcome: Outcome,
    latest_fill: Time,
}

impl Trial {
    fn run(config: &NodeConfig, ops: &[Op], seed: u64) -> Outcome {
        let node = Node::new(config);
        let outcome = Outcome {
            requests: Vec::new(),
            completions: vec![UNKNOWN; ops.len()],
            retired_at: Time::ZERO,
            counts: node.counts(),
            dirty: Vec::new(),
        };
        let mut trial = Trial { node, delays: seed, answers: Vec::new(), outcome, latest_fill: Time::ZERO };
        let mut out = Vec::new();
        for op in ops {
            while !trial.node.core.enter(&step(op)) {
                trial.node.caches_mut().outgoing.move_to(&mut out);
                trial.send(&mut out);
                trial.answer(&mut out);
            }
            trial.node.caches_mut().outgoing.move_to(&mut out);
            trial.send(&mut out);
        }
        while !trial.answers.is_empty() {
            trial.answer(&mut out);
        }
        assert_eq!(trial.node.outstanding(), 0);
        assert_eq!(trial.node.instructions(), ops.len() as u64);
        assert_ne!(trial.node.retired_at(), Time::NEVER, "all lines arrived");
        let node = trial.node;
        Outcome {
            retired_at: node.retired_at(),
            counts: node.counts(),
            dirty: node.caches().dirty_lines(),
            ..trial.outcome
        }
    }

    fn send(&mut self, out: &mut Vec<Request>) {
        for request in out.drain(..) {
            assert!(request.at >= self.latest_fill, "{request:?} is before the latest fill");
            self.outcome.requests.push(request);
            if request.kind != RequestKind::WriteBack {
                assert!(self.answers.iter().all(|answer| answer.1 != request.line), "{request:?} was asked for twice");
                self.delays = self.delays.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let delay = ::units::Duration::from_ps(self.delays >> 48);
                self.answers.push((request.at + delay, request.line));
            }
        }
        self.note_completions();
    }

    fn answer(&mut self, out: &mut Vec<Request>) {
        let first = (0..self.answers.len()).min_by_key(|&index| self.answers[index]).expect("blocked for ever");
        let (at, line) = self.answers.remove(first);
        self.latest_fill = at;
        self.node.filled(line, at, out);
        self.send(out);
    }

    fn note_completions(&mut self) {
        let window = &self.node.core.window;
        for number in window.kept() {
            self.outcome.completions[number as usize] = window.completion(number).unwrap_or(UNKNOWN);
        }
    }
}

/// Every instruction completes after all its dependencies, found by a direct search.
fn assert_order(ops: &[Op], completions: &[u64]) {
    let mut makers: BTreeMap<Reg, usize> = BTreeMap::new();
    for (number, op) in ops.iter().enumerate() {
        let done = completions[number];
        assert_ne!(done, UNKNOWN);
        let instruction = &op.instruction;
        for source in instruction.sources.iter().chain(&instruction.address_sources) {
            if let Some(&maker) = makers.get(source) {
                assert!(completions[maker] <= done, "{number} is done at {done}, before its source {maker}");
            }
        }
        if instruction.class == Class::Serial {
            assert!(completions[..number].iter().all(|&before| before < done), "{number} overtook");
        }
        for &destination in &instruction.destinations {
            makers.insert(destination, number);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_random_program_retires_in_order_and_repeats_exactly(
        config in some_config(),
        ops in proptest::collection::vec(some_op(), 1..150),
        seed in any::<u64>(),
    ) {
        let outcome = Trial::run(&config, &ops, seed);
        assert_order(&ops, &outcome.completions);
        prop_assert_eq!(&outcome, &Trial::run(&config, &ops, seed));
        for counts in [outcome.counts.l1d.prefetches, outcome.counts.l2.prefetches] {
            prop_assert!(counts.late <= counts.useful && counts.useful + counts.useless <= counts.issued);
        }
    }

    #[test]
    fn every_stored_line_of_a_random_program_is_written_back_or_still_dirty(
        config in some_config(),
        ops in proptest::collection::vec(some_op(), 1..150),
        seed in any::<u64>(),
    ) {
        let outcome = Trial::run(&config, &ops, seed);
        let touches = || ops.iter().flat_map(|op| &op.touches);
        let written: BTreeSet<LineAddr> = touches().filter(|touch| touch.store).map(|touch| touch.line).collect();
        let back = outcome.requests.iter().filter(|request| request.kind == RequestKind::WriteBack);
        let kept: BTreeSet<LineAddr> = back.map(|request| request.line).chain(outcome.dirty).collect();
        prop_assert_eq!(kept, written);
    }
}
