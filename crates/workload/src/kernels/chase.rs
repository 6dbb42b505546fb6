//! Pointer chase: the value of each load is the address of the next one.
//!
//! Each chain is a random cycle through all lines of a separate part of memory. Prefetchers therefore cannot predict
//! the lines. A chain visits every line once per round, and the chains share no line. One chain measures latency;
//! several chains measure how much of the latency overlaps.
//!
//! Between two loads of a chain the kernel executes `work` dependent instructions, which fold the loaded value into a
//! checksum. By default a step of one chain has twenty instructions, a usual amount in published chases; with `work=0`
//! the kernel only chases.
//!
//! The host itself would wait for the same dependent loads. The kernel therefore keeps the order of each cycle and
//! takes the address of the next load from it, without waiting for the pointer. Debug builds check that the pointer is
//! equal.

use super::KernelInfo;
use super::arena::{Array, ValueAddress};
use super::emitter::{ClosedStream, Emitter};
use super::listing::{Listing, reg::*};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use isa::Reg;
use units::random::Random;
use units::{Bytes, LINE_BYTES};

/// Register of the checksum.
const CHECKSUM: Reg = R14;
/// One register per chain.
const POINTERS: [Reg; 12] = [RAX, RDX, RBX, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13];
const WORDS_PER_LINE: u64 = LINE_BYTES as u64 / 8;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "chase",
    summary: "pointer chase through random cycles: bound by memory latency",
    parameters: &[
        Parameter {
            name: "footprint",
            kind: ParameterKind::Size { min: Bytes(4 << 10), max: Bytes(64 << 30) },
            default: "256 MB",
            summary: "memory that all chains together walk through",
        },
        Parameter {
            name: "chains",
            kind: ParameterKind::Count { unit: "chains", min: 1, max: POINTERS.len() as u64 },
            default: "1",
            summary: "independent chains, followed at the same time",
        },
        Parameter {
            name: "steps",
            kind: ParameterKind::Count { unit: "steps", min: 1, max: u64::MAX },
            default: "1_000_000_000",
            summary: "loads of each chain",
        },
        Parameter {
            name: "work",
            kind: ParameterKind::Count { unit: "instructions", min: 0, max: 1000 },
            default: "17",
            summary: "instructions of a checksum in every step",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Chase::new(settings)),
};

struct Chase {
    lines_per_chain: u64,
    chains: u64,
    steps: u64,
    work: u64,
}

impl Chase {
    fn new(settings: &Settings) -> Chase {
        let chains = settings.number("chains");
        let lines_per_chain = settings.number("footprint") / LINE_BYTES as u64 / chains;
        Chase { lines_per_chain, chains, steps: settings.number("steps"), work: settings.number("work") }
    }

    /// Writes one cycle of pointers through all lines of `nodes`.
    fn lay(&self, emit: &mut Emitter, nodes: Array<u64>, random: &mut Random) -> ChaseChain {
        let cycle = ChaseChain { nodes, order: random_cycle(self.lines_per_chain, random) };
        for step in 0..cycle.order.len() {
            emit.poke(cycle.node(step), cycle.node(step + 1).addr);
        }
        cycle
    }
}

/// Memory of a chain, and the order in which the chain visits the lines.
struct ChaseChain {
    nodes: Array<u64>,
    order: Vec<u32>,
}

impl ChaseChain {
    /// Returns the address of the pointer that step number `step` of a round loads.
    fn node(&self, step: usize) -> ValueAddress<u64> {
        let line = self.order[if step == self.order.len() { 0 } else { step }];
        self.nodes.at(u64::from(line) * WORDS_PER_LINE)
    }
}

/// Returns the indices of `count` lines: line zero first, the other lines in random order.
fn random_cycle(count: u64, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    random.shuffle(&mut order[1..]);
    order
}

impl Program for Chase {
    fn arena_bytes(&self) -> u64 {
        self.chains * self.lines_per_chain * LINE_BYTES as u64
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let pointers = &POINTERS[..self.chains as usize];
        let enter = pointers.iter().fold(Listing::new().lea(RCX, &[]), |code, pointer| code.lea(*pointer, &[]));
        let enter = emit.declare(enter);
        let step = pointers.iter().fold(Listing::new(), |code, pointer| code.load(8, *pointer, &[*pointer]));
        let step = (0..self.work).fold(step, |code, _| code.alu(CHECKSUM, &[CHECKSUM, pointers[0]]));
        let step = emit.declare(step.alu(RCX, &[RCX]).branch());

        let mut cycles = Vec::new();
        for _ in pointers {
            let nodes = emit.array(self.lines_per_chain * WORDS_PER_LINE);
            cycles.push(self.lay(emit, nodes, random));
        }
        let (mut current, mut checksum) = (0, 0);
        emit.block(enter)?;
        for _ in 0..self.steps {
            emit.block(step)?;
            for (chain, cycle) in cycles.iter().enumerate() {
                let next = emit.load(cycle.node(current));
                debug_assert_eq!(next, cycle.node(current + 1).addr);
                checksum = if chain == 0 { fold(checksum, next, self.work) } else { checksum };
            }
            current = if current + 1 == cycles[0].order.len() { 0 } else { current + 1 };
        }
        Ok(cycles.iter().map(|cycle| u64::from(cycle.order[current])).sum::<u64>() ^ checksum)
    }
}

/// Folds a value into the checksum by `work` instructions, alternately exclusive or and addition.
fn fold(checksum: u64, value: u64, work: u64) -> u64 {
    (0..work).fold(checksum, |sum, step| if step % 2 == 0 { sum ^ value } else { sum.wrapping_add(value) })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Checked, run};
    use super::*;

    #[test]
    fn the_chase_kernel_ends_at_the_line_given_by_its_permutation() {
        let given = [("footprint", "60 KB"), ("chains", "3"), ("steps", "1000"), ("work", "0")];
        let mut random = Random::new(5);
        let plain = (0..3).map(|_| {
            let order = random_cycle(320, &mut random);
            let next = |line| order[(order.iter().position(|other| *other == line).unwrap() + 1) % 320];
            (0..1000).fold(0, |line, _| next(line))
        });
        assert_eq!(run(&INFO, &given, 5).answer, plain.map(u64::from).sum::<u64>());
    }

    #[test]
    fn one_round_of_the_chase_kernel_loads_every_line_once_and_ends_at_its_start() {
        let Checked { answer, lines, loads, .. } =
            run(&INFO, &[("footprint", "64 KB"), ("steps", "1024"), ("work", "0")], 9);
        assert_eq!((answer, lines, loads), (0, 1024, 1024));
    }

    #[test]
    fn the_work_setting_of_the_chase_kernel_changes_its_answer() {
        assert_eq!(fold(1, 6, 3), ((1 ^ 6) + 6) ^ 6);
        let given = |work| [("footprint", "64 KB"), ("steps", "100"), ("work", work)];
        assert_ne!(run(&INFO, &given("17"), 9).answer, run(&INFO, &given("16"), 9).answer);
    }
}
