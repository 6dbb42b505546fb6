//! Cache-resident work: repeatedly computes a small matrix product and a hash over the result.
//!
//! The matrices fit into a first-level cache, so no access reaches memory after the first round. An overhead of
//! memory protection in a simulation of this kernel is an error of the simulator. The product is floating-point work
//! with independent sums; the hash is one long chain of integer work. The hash changes a matrix, so rounds differ.

use super::KernelInfo;
use super::arena::Array;
use super::emitter::{ClosedStream, Emitter};
use super::listing::{Listing, reg::*};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use crate::stream::BlockId;
use isa::Reg;
use units::Bytes;
use units::random::{Random, scale_below};

/// Prime and offset basis of 64-bit FNV (Fowler, Noll and Vo), applied to words of 64 bits.
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "resident",
    summary: "matrix product and hash inside the first-level cache: bound by the core",
    parameters: &[
        Parameter {
            name: "footprint",
            kind: ParameterKind::Size { min: Bytes(96), max: Bytes(1 << 30) },
            default: "16 KB",
            summary: "the three matrices together",
        },
        Parameter {
            name: "rounds",
            kind: ParameterKind::Count { unit: "rounds", min: 1, max: u64::MAX },
            default: "1_000_000",
            summary: "products and hashes computed",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(ResidentKernel::new(settings)),
};

struct ResidentKernel {
    /// Number of rows and of columns. It is even, because the product computes two columns at a time.
    order: u64,
    rounds: u64,
}

struct ResidentCode {
    round: BlockId,
    row: BlockId,
    column: BlockId,
    term: BlockId,
    column_end: BlockId,
    row_end: BlockId,
    hash_enter: BlockId,
    hash: BlockId,
    round_end: BlockId,
}

#[derive(Clone, Copy)]
struct Matrices {
    a: Array<f64>,
    b: Array<f64>,
    c: Array<f64>,
}

impl ResidentKernel {
    fn new(settings: &Settings) -> ResidentKernel {
        let order = (settings.number("footprint") / 24).isqrt() / 2 * 2;
        ResidentKernel { order, rounds: settings.number("rounds") }
    }

    /// Computes the product `c = a * b`.
    fn multiply(
        &self,
        emit: &mut Emitter,
        code: &ResidentCode,
        Matrices { a, b, c }: Matrices,
    ) -> Result<(), ClosedStream> {
        let n = self.order;
        for row in 0..n {
            emit.block(code.row)?;
            for column in (0..n).step_by(2) {
                emit.block(code.column)?;
                let mut sums = [0.0; 2];
                for k in 0..n {
                    emit.block(code.term)?;
                    let factor = emit.load(a.at(row * n + k));
                    sums[0] += factor * emit.load(b.at(k * n + column));
                    sums[1] += factor * emit.load(b.at(k * n + column + 1));
                }
                emit.block(code.column_end)?;
                emit.store(c.at(row * n + column), sums[0]);
                emit.store(c.at(row * n + column + 1), sums[1]);
            }
            emit.block(code.row_end)?;
        }
        Ok(())
    }

    /// Returns the hash of `c`.
    fn hash(&self, emit: &mut Emitter, code: &ResidentCode, c: Array<f64>) -> Result<u64, ClosedStream> {
        let mut hash = FNV_OFFSET;
        emit.block(code.hash_enter)?;
        for index in 0..self.order * self.order {
            emit.block(code.hash)?;
            hash = (hash ^ emit.load(c.at(index)).to_bits()).wrapping_mul(FNV_PRIME);
        }
        Ok(hash)
    }
}

/// Converts the upper bits of a hash to a number in [0, 1).
fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

/// Declares the code. RSI, RDI and RBX point to the matrices; R8, R9 and RCX count rows, columns and terms; RAX is the
/// hash.
fn declare(emit: &mut Emitter) -> ResidentCode {
    const FACTOR: Reg = xmm(0);
    const PRODUCT: Reg = xmm(1);
    const SUMS: Reg = xmm(2);
    let term = Listing::new().load(8, FACTOR, &[RSI, RCX]).fp_add(FACTOR, &[FACTOR]).load(16, PRODUCT, &[RDX]);
    let term = term.fp_mul(PRODUCT, &[PRODUCT, FACTOR]).fp_add(SUMS, &[SUMS, PRODUCT]).alu(RDX, &[RDX, R11]);
    let hash = Listing::new().alu_load(8, RAX, &[RAX], &[RBX, RCX]).mul(RAX, &[RAX, R12]);
    let round_end = Listing::new().mul(RDX, &[RAX, R13]).lea(R14, &[RAX]).alu(R14, &[R14]).fp_add(FACTOR, &[R14]);
    let round_end = round_end.fp_mul(FACTOR, &[FACTOR]).store(8, &[FACTOR], &[RSI, RDX]);
    ResidentCode {
        round: emit.declare(Listing::new().alu(R8, &[]).lea(RSI, &[RBP])),
        row: emit.declare(Listing::new().alu(R9, &[])),
        column: emit.declare(Listing::new().fp_add(SUMS, &[]).lea(RDX, &[RDI, R9]).alu(RCX, &[])),
        term: emit.declare(term.count_up(RCX, R10)),
        column_end: emit.declare(Listing::new().store(16, &[SUMS], &[RBX, R9]).count_up(R9, R10)),
        row_end: emit.declare(Listing::new().alu(RSI, &[RSI, R11]).alu(RBX, &[RBX, R11]).count_up(R8, R10)),
        hash_enter: emit.declare(Listing::new().lea(RBX, &[RBP]).lea(RAX, &[]).alu(RCX, &[])),
        hash: emit.declare(hash.count_up(RCX, R10)),
        round_end: emit.declare(round_end.count_up(R15, R10)),
    }
}

impl Program for ResidentKernel {
    fn arena_bytes(&self) -> u64 {
        3 * (self.order * self.order * 8).next_multiple_of(64)
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = declare(emit);
        let cells = self.order * self.order;
        let matrices = Matrices { a: emit.array(cells), b: emit.array(cells), c: emit.array(cells) };
        for index in 0..cells {
            emit.poke(matrices.a.at(index), random.unit());
            emit.poke(matrices.b.at(index), random.unit());
        }
        let mut hash = 0;
        for _ in 0..self.rounds {
            emit.block(code.round)?;
            self.multiply(emit, &code, matrices)?;
            hash = self.hash(emit, &code, matrices.c)?;
            emit.block(code.round_end)?;
            emit.store(matrices.a.at(scale_below(hash, cells)), unit(hash));
        }
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn the_resident_kernel_equals_naive_matrix_products() {
        const N: usize = 26;
        let mut random = Random::new(8);
        let (mut a, mut b) = ([[0.0; N]; N], [[0.0; N]; N]);
        for index in 0..N * N {
            (a[index / N][index % N], b[index / N][index % N]) = (random.unit(), random.unit());
        }
        let mut hash = 0;
        for _ in 0..4 {
            let cell = |row: usize, column: usize| (0..N).map(|k| a[row][k] * b[k][column]).fold(0.0, |x, y| x + y);
            let product = (0..N * N).map(|index| cell(index / N, index % N).to_bits());
            hash = product.fold(FNV_OFFSET, |hash, word| (hash ^ word).wrapping_mul(FNV_PRIME));
            let changed = scale_below(hash, (N * N) as u64) as usize;
            a[changed / N][changed % N] = unit(hash);
        }
        assert_eq!(run(&INFO, &[("rounds", "4")], 8).answer, hash);
    }

    #[test]
    fn the_resident_kernel_uses_at_most_16_kb_by_default() {
        assert!(run(&INFO, &[("rounds", "2")], 8).lines <= 256);
    }
}
