//! Host time of an instruction in the core model, on a program that is cheap to produce. The working set fits in the
//! first cache, in the second, or in neither, and the benchmark covers each branch predictor.

use arrayvec::ArrayVec;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use isa::{Class, Flow, Instruction, Reg};
use machine::node::{
    DirectionPredictor, Feed, Node, NodeConfig, NodeStep, PageKey, Pause, PredictorConfig, RequestKind, Touch,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use units::random::Random;
use units::{Duration, LineAddr, Time, VirtAddr};

/// Instructions in the program's body, which repeats.
const BODY: usize = 4096;
/// Instructions of one measurement.
const INSTRUCTIONS: u64 = 100_000;
/// Latency of a memory access.
const MEMORY: Duration = Duration::from_ns(60);

/// A random program with the usual mix: a quarter loads, a tenth stores, a sixth branches.
struct Program {
    body: Vec<(Instruction, Touch, Option<Touch>)>,
    at: usize,
    left: u64,
    random: Random,
    lines: u64,
    touch: [Touch; 1],
}

impl Program {
    fn new(instructions: u64, lines: u64) -> Program {
        let mut random = Random::new(7);
        let body = (0..BODY as u64).map(|index| Program::instruction(index, &mut random)).collect();
        Program { body, at: 0, left: instructions, random, lines, touch: [touch(0, false)] }
    }

    fn instruction(index: u64, random: &mut Random) -> (Instruction, Touch, Option<Touch>) {
        let (class, flow, access) = match random.below(100) {
            0..25 => (Class::IntAlu, Flow::Next, Some(false)),
            25..35 => (Class::IntAlu, Flow::Next, Some(true)),
            35..50 => (Class::Branch, Flow::Conditional, None),
            50..53 => (Class::IntMul, Flow::Next, None),
            53..58 => (Class::FpAdd, Flow::Next, None),
            58..62 => (Class::FpMul, Flow::Next, None),
            _ => (Class::IntAlu, Flow::Next, None),
        };
        let mut some =
            |count: u64| -> ArrayVec<Reg, 4> { (0..count).map(|_| Reg(random.below(14) as u8 + 5)).collect() };
        let (address_sources, sources) = if access.is_some() { (some(1), some(1)) } else { (some(0), some(2)) };
        let destinations = if flow == Flow::Next && access != Some(true) { some(1) } else { some(0) };
        let pc = VirtAddr(0x40_0000 + index * 4);
        let sources = if access == Some(false) { ArrayVec::new() } else { sources };
        let persist = Default::default();
        let instruction = Instruction { pc, bytes: 4, class, flow, persist, address_sources, sources, destinations };
        let code = Touch { page: PageKey(pc.page()), line: LineAddr((1 << 30) + pc.0 / 64), ..touch(0, false) };
        (instruction, code, access.map(|store| touch(0, store)))
    }
}

fn touch(line: u64, store: bool) -> Touch {
    Touch {
        page: PageKey((1 << 20) + line / 64),
        line: LineAddr(line),
        offset: 8,
        bytes: 8,
        store,
        persistent: true,
        past_caches: false,
    }
}

impl Feed for Program {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<NodeStep<'_>>, Infallible> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let (instruction, code, access) = &self.body[self.at];
        self.at = (self.at + 1) % BODY;
        let drawn = self.random.below(self.lines << 8);
        let touches: &[Touch] = match access {
            None => &[],
            Some(access) => {
                self.touch[0] = Touch { offset: (drawn as u8 & 7) * 8, ..touch(drawn >> 8, access.store) };
                &self.touch
            }
        };
        // Nineteen of twenty branches fall through; the remaining ones are effectively random.
        let taken = instruction.flow == Flow::Conditional && drawn & 0xff < 13;
        let next = if taken { VirtAddr(instruction.pc.0 ^ 0x800) } else { instruction.fall_through() };
        Ok(Some(NodeStep {
            instruction,
            code: *code,
            touches,
            orders: None,
            tables: &[],
            next: Some(next),
            switches_to: None,
        }))
    }
}

/// Runs a core until it has executed [`INSTRUCTIONS`], and returns its cycles.
fn simulate(config: &NodeConfig, lines: u64) -> u64 {
    let mut node = Node::new(config);
    let mut program = Program::new(INSTRUCTIONS, lines);
    let (mut out, mut answers) = (Vec::new(), BinaryHeap::new());
    loop {
        let Ok(pause) = node.run(&mut program, Time::NEVER, &mut out);
        loop {
            let reads = out.drain(..).filter(|request| request.kind != RequestKind::WriteBack);
            answers.extend(reads.map(|request| Reverse((request.at + MEMORY, request.line))));
            let Some(Reverse((at, line))) = answers.pop() else { break };
            node.filled(line, at, &mut out);
            if pause == Pause::Blocked {
                break;
            }
        }
        if pause == Pause::Finished && out.is_empty() {
            return node.counts().cycles;
        }
    }
}

fn core(criterion: &mut Criterion) {
    let modern = NodeConfig::modern();
    let predictor = PredictorConfig { direction: DirectionPredictor::Bimodal, ..modern.predictor.clone() };
    let bimodal = NodeConfig { predictor, ..modern.clone() };
    let mut group = criterion.benchmark_group("core");
    group.throughput(Throughput::Elements(INSTRUCTIONS));
    for (name, config, lines) in [
        ("TAGE, 32 KB", &modern, 512),
        ("bimodal, 32 KB", &bimodal, 512),
        ("TAGE, 1 MB", &modern, 1 << 14),
        ("TAGE, 64 MB", &modern, 1 << 20),
    ] {
        group.bench_function(name, |bench| bench.iter(|| simulate(config, lines)));
    }
    group.finish();
}

criterion_group!(benches, core);
criterion_main!(benches);
