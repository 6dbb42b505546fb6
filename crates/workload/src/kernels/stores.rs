//! Stores at a given rate, with a given number of stores to each line. The overhead of a persist buffer depends on
//! these two numbers and on the time until the program stores to a line again.
//!
//! The kernel has no algorithm. SecPB (HPCA 2023, section VI-B) states two numbers for its programs: stores per
//! thousand instructions (PPTI) and stores per entry of the buffer (NWPE). They are 47.4 and 2.1 for gamess, 38.8 and
//! 17.6 for povray. The kernel stores to the lines of its footprint in turn, and then from the first line again. If the
//! footprint is larger than the persist buffer, each line allocates a new entry; if it is smaller, stores hit existing
//! entries. All other instructions are integer work with few dependencies.

use super::KernelInfo;
use super::emitter::{ClosedStream, Emitter};
use super::listing::{Listing, reg::*};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use units::random::Random;
use units::{Bytes, LINE_BYTES, WORDS_PER_LINE};

/// Number of instructions to which the parameter for the rate of stores refers: the 1000 of PPTI, times ten for one
/// decimal place.
const INSTRUCTIONS: u64 = 10_000;
/// Number of lines to which `per_line` refers: one, times ten for one decimal place.
const LINES: u64 = 10;
/// Instructions of a store, with its index and its branch.
const OF_A_STORE: u64 = 3;
/// Instructions of a block of work. At least one block and one more instruction are between two stores.
const OF_WORK: u64 = 8;
const BETWEEN_MIN: u64 = OF_WORK + 1;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "stores",
    summary: "stores at a given rate (PPTI), with a given number to a line before the next (NWPE), for persist buffers",
    parameters: &[
        Parameter {
            name: "footprint",
            kind: ParameterKind::Size { min: Bytes(LINE_BYTES as u64), max: Bytes(64 << 30) },
            default: "32 KB",
            summary: "lines that are stored to in turn, then from the first again",
        },
        Parameter {
            name: "rate",
            kind: ParameterKind::Count {
                unit: "stores in 10,000 instructions",
                min: 1,
                max: INSTRUCTIONS / (OF_A_STORE + BETWEEN_MIN),
            },
            default: "474",
            summary: "rate of stores: ten times PPTI",
        },
        Parameter {
            name: "per_line",
            kind: ParameterKind::Count { unit: "stores to 10 lines", min: 10, max: 10_000 },
            default: "21",
            summary: "stores to a line before the next line: ten times NWPE if lines recur late",
        },
        Parameter {
            name: "stores",
            kind: ParameterKind::Count { unit: "stores", min: 1, max: u64::MAX },
            default: "1_000_000_000",
            summary: "stores in all",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(StoresKernel::new(settings)),
};

struct StoresKernel {
    lines: u64,
    rate: u64,
    per_line: u64,
    stores: u64,
}

impl StoresKernel {
    fn new(settings: &Settings) -> StoresKernel {
        let [footprint, rate, per_line, stores] =
            ["footprint", "rate", "per_line", "stores"].map(|name| settings.number(name));
        StoresKernel { lines: footprint / LINE_BYTES as u64, rate, per_line, stores }
    }

    /// Returns the index of the word that the store writes.
    fn word_of(&self, store: u64) -> u64 {
        let words = WORDS_PER_LINE as u64;
        let line = (u128::from(store) * u128::from(LINES) / u128::from(self.per_line)) as u64 % self.lines;
        line * words + store % words
    }

    /// Returns the number of instructions up to the end of a store.
    fn instructions_until(&self, store: u64) -> u64 {
        ((u128::from(store) + 1) * u128::from(INSTRUCTIONS) / u128::from(self.rate)) as u64
    }
}

impl Program for StoresKernel {
    fn arena_bytes(&self) -> u64 {
        self.lines * LINE_BYTES as u64
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let enter = emit.declare(Listing::new().lea(RBX, &[]).lea(RAX, &[]).lea(RCX, &[]).lea(RDX, &[]));
        let each = [RCX, RDX, RSI, RDI, RCX, RDX, RSI];
        let work = each.into_iter().fold(Listing::new(), |work, register| work.alu(register, &[register]));
        let work = emit.declare(work.branch());
        let filler = emit.declare(Listing::new().branch());
        let store = emit.declare(Listing::new().alu(RAX, &[RAX]).store(8, &[RCX], &[RBX, RAX]).branch());

        let words = emit.array(self.lines * WORDS_PER_LINE as u64);
        (0..self.lines * WORDS_PER_LINE as u64).for_each(|index| emit.poke(words.at(index), index));
        let mut text = random.word();
        emit.block(enter)?;
        let mut executed = 0;
        for number in 0..self.stores {
            let between = self.instructions_until(number) - executed - OF_A_STORE;
            executed += between + OF_A_STORE;
            let blocks = (between - 1) / OF_WORK;
            for _ in 0..blocks {
                emit.block(work)?;
            }
            for _ in 0..between - blocks * OF_WORK {
                emit.block(filler)?;
            }
            text = text.rotate_left(7) ^ number;
            emit.block(store)?;
            emit.store(words.at(self.word_of(number)), text);
        }
        Ok((0..self.lines * WORDS_PER_LINE as u64).fold(0, |sum, at| sum.rotate_left(1) ^ emit.peek(words.at(at))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn the_kernel_emits_the_requested_numbers_of_stores_and_instructions() {
        for (rate, stores) in [(474, 4740), (388, 3880), (833, 3332)] {
            let settings = [("rate", rate.to_string()), ("stores", stores.to_string())];
            let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
            let checked = run(&INFO, &settings, 3);
            // The entry block has four instructions.
            let expected = 4 + stores * INSTRUCTIONS / rate;
            assert_eq!((checked.loads, checked.stores, checked.instructions), (0, stores, expected), "{rate}");
        }
    }

    #[test]
    fn the_stores_kernel_makes_the_requested_mean_number_of_stores_per_line() {
        let stores = StoresKernel { lines: 512, rate: 474, per_line: 21, stores: 0 };
        let lines: Vec<u64> = (0..2100).map(|store| stores.word_of(store) / WORDS_PER_LINE as u64).collect();
        let visits = 1 + lines.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(visits, 1000);
        assert!(lines.chunk_by(|one, next| one == next).all(|visit| (2..=3).contains(&visit.len())));
    }
}
