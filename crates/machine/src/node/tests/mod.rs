//! A core under test: scripted programs, and a memory that answers every request after a delay.

mod accepted;
mod combining;
mod epochs;
mod exact;
mod latencies;
mod lines;
mod metadata;
mod parts;
mod persist;
mod persist_remote;
mod persist_ticking;
mod prefetch;
mod random;
mod reads;
mod records;
mod stalls;
mod switches;
mod ticking;
mod translations;
mod walk;
mod warm;

use super::*;
use arrayvec::ArrayVec;
use isa::{Class, Flow, Reg};

/// Default line of scripted code.
const CODE_LINE: u64 = 1 << 30;
/// Default latency of the scripted memory, in cycles.
const MEMORY: u64 = 100;

/// A scripted instruction of a test.
#[derive(Clone, Debug)]
struct Op {
    instruction: Instruction,
    code: u64,
    code_offset: u8,
    touches: Vec<Touch>,
    orders: Option<Orders>,
    next: Option<VirtAddr>,
}

fn registers(list: &[u8]) -> ArrayVec<Reg, 4> {
    list.iter().map(|&number| Reg(number)).collect()
}

/// Work of a class, from registers to registers.
fn op(class: Class, destinations: &[u8], sources: &[u8]) -> Op {
    let instruction = Instruction {
        pc: VirtAddr(0x1000),
        bytes: 4,
        class,
        flow: Flow::Next,
        persist: Default::default(),
        address_sources: ArrayVec::new(),
        sources: registers(sources),
        destinations: registers(destinations),
    };
    Op { instruction, code: CODE_LINE, code_offset: 0, touches: Vec::new(), orders: None, next: None }
}

fn alu(destinations: &[u8], sources: &[u8]) -> Op {
    op(Class::IntAlu, destinations, sources)
}

fn touch(line: u64, offset: u8, bytes: u8, store: bool) -> Touch {
    Touch { page: PageKey(line / 64), line: LineAddr(line), offset, bytes, store, persistent: true, past_caches: false }
}

/// Loads eight bytes, at an address made of `address`.
fn load(destination: u8, address: &[u8], line: u64, offset: u8) -> Op {
    let mut op = alu(&[destination], &[]);
    op.instruction.address_sources = registers(address);
    op.touches.push(touch(line, offset, 8, false));
    op
}

/// Stores eight bytes of `data`.
fn store(data: u8, line: u64, offset: u8) -> Op {
    let mut op = alu(&[], &[data]);
    op.touches.push(touch(line, offset, 8, true));
    op
}

/// A change of control flow, with its target.
fn branch(flow: Flow, sources: &[u8], next: u64) -> Op {
    let mut op = op(Class::Branch, &[], sources);
    op.instruction.flow = flow;
    op.next = Some(VirtAddr(next));
    op
}

/// A small core with times that are easy to compute: no cost of translation, four wide.
fn small() -> NodeConfig {
    let mut config = NodeConfig::modern();
    let cache = |lines: u64, ways, latency_cycles, mshrs| {
        CacheConfig::new(::units::Bytes(lines * 64), ways, latency_cycles, mshrs)
    };
    (config.dispatch_width, config.retire_width) = (4, 4);
    (config.rob, config.load_queue, config.store_queue) = (16, 8, 4);
    config.l1d = cache(8, 2, 5, 4);
    config.l2 = cache(16, 4, 10, 8);
    config.forward_latency_cycles = 2;
    config.stlb.latency_cycles = 0;
    config.walk_latency_cycles = 0;
    config.predictor.direction = DirectionPredictor::Bimodal;
    config.predictor.direction_entries = 1 << 12;
    config
}

struct Script<'a> {
    ops: std::slice::Iter<'a, Op>,
}

fn step(op: &Op) -> NodeStep<'_> {
    let code = touch(op.code, op.code_offset, op.instruction.bytes, false);
    let Op { instruction, touches, orders, next, .. } = op;
    NodeStep { instruction, code, touches, orders: orders.as_ref(), tables: &[], next: *next, switches_to: None }
}

impl Feed for Script<'_> {
    type Error = std::convert::Infallible;

    fn next(&mut self) -> Result<Option<NodeStep<'_>>, Self::Error> {
        Ok(self.ops.next().map(step))
    }
}

/// A node and its memory.
struct Bench {
    node: Node,
    /// All requests of L2 since the last `run` began.
    requests: Vec<Request>,
    /// Times of the outstanding answers of memory.
    answers: Vec<(Time, LineAddr)>,
    memory: u64,
}

impl Bench {
    fn new(config: &NodeConfig) -> Bench {
        Bench { node: Node::new(config), requests: Vec::new(), answers: Vec::new(), memory: MEMORY }
    }

    /// A bench with warm caches: they hold the code and have seen loads of `lines`, in this order.
    fn warm(config: &NodeConfig, lines: &[u64]) -> Bench {
        let mut bench = Bench::new(config);
        let loads: Vec<Op> =
            lines.iter().flat_map(|&line| [load(0, &[], line, 0), op(Class::Serial, &[], &[])]).collect();
        bench.cycles(&loads);
        bench
    }

    fn clock(&self) -> u64 {
        self.node.clock.cycle_at_or_after(self.node.retired_at()).0
    }

    /// Returns the cycles of `ops`, from the entry of the first into an idle core to the retirement of the last.
    fn cycles(&mut self, ops: &[Op]) -> u64 {
        self.run(&[op(Class::Serial, &[], &[])]);
        let start = self.clock();
        self.run(ops);
        self.clock() - start
    }

    fn run(&mut self, ops: &[Op]) {
        self.requests.clear();
        let mut feed = Script { ops: ops.iter() };
        let mut out = Vec::new();
        loop {
            let Ok(pause) = self.node.run(&mut feed, Time::NEVER, &mut out);
            self.send(&mut out);
            if self.answers.is_empty() {
                assert_eq!(pause, Pause::Finished, "blocked, and nothing to wait for");
                return;
            }
            self.answer(&mut out);
        }
    }

    /// Sends requests to memory.
    fn send(&mut self, out: &mut Vec<Request>) {
        let delay = self.node.clock.span(Cycles(self.memory));
        let reads = out.iter().filter(|request| request.kind != RequestKind::WriteBack);
        self.answers.extend(reads.map(|request| (request.at + delay, request.line)));
        self.requests.append(out);
    }

    /// Delivers the line that arrives first.
    fn answer(&mut self, out: &mut Vec<Request>) {
        let first = (0..self.answers.len()).min_by_key(|&index| self.answers[index]).unwrap();
        let (at, line) = self.answers.remove(first);
        self.node.filled(line, at, out);
        self.send(out);
    }

    fn sent(&self, line: u64, kind: RequestKind) -> usize {
        self.requests.iter().filter(|request| request.line == LineAddr(line) && request.kind == kind).count()
    }
}
