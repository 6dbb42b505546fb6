//! GUPS: read-modify-write updates at random addresses of a large table.
//!
//! Source: HPC Challenge RandomAccess (Dongarra and Luszczek, 2005), one stream of updates without look-ahead. The
//! random numbers are the benchmark's own, the sequence of x^k modulo x^63 + x^2 + x + 1 over GF(2).

use super::KernelInfo;
use super::emitter::{ClosedStream, Emitter};
use super::listing::{Listing, reg::*};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use units::Bytes;
use units::random::Random;

const POLYNOMIAL: u64 = 7;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "gups",
    summary: "random read-modify-write updates of a table: independent misses, every line dirty",
    parameters: &[
        Parameter {
            name: "footprint",
            kind: ParameterKind::Size { min: Bytes(64), max: Bytes(64 << 30) },
            default: "256 MB",
            summary: "the table; rounded down to a power of two",
        },
        Parameter {
            name: "updates",
            kind: ParameterKind::Count { unit: "updates", min: 1, max: u64::MAX },
            default: "1_000_000_000",
            summary: "updates in all",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Gups::new(settings)),
};

struct Gups {
    entries: u64,
    updates: u64,
}

impl Gups {
    fn new(settings: &Settings) -> Gups {
        Gups { entries: 1 << (settings.number("footprint") / 8).ilog2(), updates: settings.number("updates") }
    }
}

/// The benchmark's next random number.
fn successor(random: u64) -> u64 {
    (random << 1) ^ (((random as i64) >> 63) as u64 & POLYNOMIAL)
}

impl Program for Gups {
    fn arena_bytes(&self) -> u64 {
        self.entries * 8
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let enter = emit.declare(Listing::new().lea(RBX, &[]).lea(RSI, &[]).lea(RCX, &[]).lea(RAX, &[]));
        let step = Listing::new().lea(RDX, &[RAX]).alu(RAX, &[RAX]).alu(RAX, &[RAX]).alu(RAX, &[RAX, RDX]);
        let step = step.lea(RDX, &[RAX]).alu(RDX, &[RDX, RSI]).update(8, &[RAX], &[RBX, RDX]);
        let step = emit.declare(step.alu(RCX, &[RCX]).branch());

        let table = emit.array(self.entries);
        for index in 0..self.entries {
            emit.poke(table.at(index), index);
        }
        let mut number = random.word() | 1;
        emit.block(enter)?;
        for _ in 0..self.updates {
            number = successor(number);
            emit.block(step)?;
            emit.update(table.at(number & (self.entries - 1)), |entry: u64| entry ^ number);
        }
        Ok((0..self.entries).fold(0, |sum, index| sum.rotate_left(1) ^ emit.peek(table.at(index))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn the_gups_table_ends_as_in_a_naive_loop() {
        let mut table: Vec<u64> = (0..512).collect();
        let mut number = Random::new(3).word() | 1;
        for _ in 0..10_000 {
            number = if number >> 63 == 1 { (number << 1) ^ 7 } else { number << 1 };
            table[number as usize % 512] ^= number;
        }
        let digest = table.into_iter().fold(0u64, |sum, entry| sum.rotate_left(1) ^ entry);
        assert_eq!(run(&INFO, &[("footprint", "4 KB"), ("updates", "10000")], 3).answer, digest);
    }

    #[test]
    fn every_update_is_one_load_and_one_store() {
        let checked = run(&INFO, &[("footprint", "7 KB"), ("updates", "5000")], 4);
        assert_eq!((checked.loads, checked.stores, checked.lines), (5000, 5000, 64));
    }
}
