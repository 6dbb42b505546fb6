//! STREAM: four loops that stream long vectors through the core with little arithmetic.
//!
//! Source: McCalpin, "Memory bandwidth and machine balance in current high performance computers", 1995. The loops have
//! the form that a compiler generates for plain x86-64, with two doubles in a vector. The factor is 0.4 instead of 3,
//! as in BabelStream, so the numbers stay finite for any length of run.

use super::KernelInfo;
use super::arena::Array;
use super::emitter::{ClosedStream, Emitter};
use super::listing::{Listing, reg::*};
use super::parameters::{self, LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use crate::stream::BlockId;
use isa::Reg;
use units::Bytes;
use units::random::Random;

const FACTOR: f64 = 0.4;
/// Doubles in one vector register.
const LANES: u64 = 2;
const OPERATIONS: [&str; 4] = ["copy", "scale", "add", "triad"];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "stream",
    summary: "STREAM's copy, scale, add and triad: bound by memory bandwidth",
    parameters: &[
        Parameter {
            name: "footprint",
            kind: ParameterKind::Size { min: Bytes(1 << 10), max: Bytes(64 << 30) },
            default: "192 MB",
            summary: "the three vectors together",
        },
        Parameter {
            name: "operation",
            kind: ParameterKind::Choice(&["all", OPERATIONS[0], OPERATIONS[1], OPERATIONS[2], OPERATIONS[3]]),
            default: "all",
            summary: "which of the loops to run, or all in turn",
        },
        parameters::repeated("passes", "times that each vector is passed over by each loop"),
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(StreamKernel::new(settings)),
};

struct StreamKernel {
    length: u64,
    operations: Vec<&'static str>,
    passes: u64,
}

/// The three vectors of the benchmark.
#[derive(Clone, Copy)]
struct Vectors {
    a: Array<f64>,
    b: Array<f64>,
    c: Array<f64>,
}

struct Loop {
    operation: &'static str,
    enter: BlockId,
    body: BlockId,
}

impl StreamKernel {
    fn new(settings: &Settings) -> StreamKernel {
        let length = settings.number("footprint") / 24 / LANES * LANES;
        let chosen = settings.word("operation");
        let operations = OPERATIONS.into_iter().filter(|name| chosen == "all" || *name == chosen).collect();
        StreamKernel { length, operations, passes: settings.number("passes") }
    }

    fn pass(&self, emit: &mut Emitter, code: &Loop, Vectors { a, b, c }: Vectors) -> Result<(), ClosedStream> {
        emit.block(code.enter)?;
        for at in (0..self.length).step_by(LANES as usize) {
            emit.block(code.body)?;
            match code.operation {
                "copy" => {
                    let [low, high] = load_pair(emit, a, at);
                    store_pair(emit, c, at, [low, high]);
                }
                "scale" => {
                    let [low, high] = load_pair(emit, c, at);
                    store_pair(emit, b, at, [FACTOR * low, FACTOR * high]);
                }
                "add" => {
                    let left = load_pair(emit, a, at);
                    let right = load_pair(emit, b, at);
                    store_pair(emit, c, at, [left[0] + right[0], left[1] + right[1]]);
                }
                _ => {
                    let scaled = load_pair(emit, c, at);
                    let added = load_pair(emit, b, at);
                    store_pair(emit, a, at, [added[0] + FACTOR * scaled[0], added[1] + FACTOR * scaled[1]]);
                }
            }
        }
        Ok(())
    }
}

fn load_pair(emit: &mut Emitter, vector: Array<f64>, at: u64) -> [f64; 2] {
    [emit.load(vector.at(at)), emit.load(vector.at(at + 1))]
}

fn store_pair(emit: &mut Emitter, vector: Array<f64>, at: u64, pair: [f64; 2]) {
    emit.store(vector.at(at), pair[0]);
    emit.store(vector.at(at + 1), pair[1]);
}

/// Declares the code of one loop: RAX counts bytes up to RCX; RSI, RDX and RDI point to the vectors.
fn declare(emit: &mut Emitter, operation: &'static str) -> Loop {
    const DATA: Reg = xmm(0);
    const FACTORS: Reg = xmm(1);
    let enter = emit.declare(Listing::new().lea(RSI, &[RBX]).lea(RDX, &[RBP]).lea(RDI, &[R12]).alu(RAX, &[]));
    let first = Listing::new().load(16, DATA, &[RSI, RAX]);
    let work = match operation {
        "copy" => first,
        "scale" => first.fp_mul(DATA, &[DATA, FACTORS]),
        "add" => first.fp_add_load(16, DATA, &[DATA], &[RDX, RAX]),
        _ => first.fp_mul(DATA, &[DATA, FACTORS]).fp_add_load(16, DATA, &[DATA], &[RDX, RAX]),
    };
    let rest = work.store(16, &[DATA], &[RDI, RAX]).alu(RAX, &[RAX]).compare(&[RAX, RCX]).branch();
    Loop { operation, enter, body: emit.declare(rest) }
}

impl Program for StreamKernel {
    fn arena_bytes(&self) -> u64 {
        3 * (self.length * 8).next_multiple_of(64)
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let loops: Vec<_> = self.operations.iter().map(|operation| declare(emit, operation)).collect();
        let again = emit.declare(Listing::new().alu(R8, &[R8]).branch());
        let vectors = Vectors { a: emit.array(self.length), b: emit.array(self.length), c: emit.array(self.length) };
        for at in 0..self.length {
            for vector in [vectors.a, vectors.b, vectors.c] {
                emit.poke(vector.at(at), random.unit());
            }
        }
        for _ in 0..self.passes {
            for code in &loops {
                self.pass(emit, code, vectors)?;
            }
            emit.block(again)?;
        }
        Ok((0..self.length).map(|at| emit.peek(vectors.a.at(at))).sum::<f64>().to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    /// Runs STREAM in its author's form on the same numbers; returns the sum of vector `a`.
    fn plain(length: usize, passes: u64, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let (mut a, mut b, mut c) = (vec![0.0; length], vec![0.0; length], vec![0.0; length]);
        for j in 0..length {
            (a[j], b[j], c[j]) = (random.unit(), random.unit(), random.unit());
        }
        for _ in 0..passes {
            c.copy_from_slice(&a);
            (0..length).for_each(|j| b[j] = FACTOR * c[j]);
            (0..length).for_each(|j| c[j] = a[j] + b[j]);
            (0..length).for_each(|j| a[j] = b[j] + FACTOR * c[j]);
        }
        a.iter().sum()
    }

    #[test]
    fn the_stream_kernel_vectors_end_as_in_naive_loops() {
        let checked = run(&INFO, &[("footprint", "24 KB"), ("passes", "3")], 11);
        assert_eq!(f64::from_bits(checked.answer), plain(1024, 3, 11));
    }

    #[test]
    fn the_copy_operation_touches_two_of_three_vectors() {
        let checked = run(&INFO, &[("footprint", "24 KB"), ("passes", "1"), ("operation", "copy")], 11);
        assert_eq!((checked.loads, checked.stores, checked.lines), (1024, 1024, 256));
    }
}
