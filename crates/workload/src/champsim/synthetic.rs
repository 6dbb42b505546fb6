//! Generates the traces for the comparison of the machine with ChampSim, so that no files are needed.
//!
//! | name | accesses |
//! |---|---|
//! | `chase1` | follows one chain of pointers over 256 MB, 20 instructions a hop |
//! | `chase4` | follows four chains in turn: four misses may overlap |
//! | `chase8` | follows eight chains in turn, over 64 MB |
//! | `stream` | copies arrays, 32 bytes at a time, from 32 MB to another 32 MB |
//! | `stream_1m`, `stream_512k`, `stream_128k` | the same between two arrays of this size, repeatedly |
//! | `mix` | blocks of seven instructions: a quarter loads, a tenth stores; 95 % of the accesses in 16 KB |
//! | `hot` | the same with predictable branches and nearly all accesses in 16 KB |
//!
//! The reference results are from files that a NumPy script wrote. This module draws all numbers from the same
//! generator in the same order, so the records are equal bit for bit; the tests compare checksums.

use super::numpy::Pcg64;
use super::record::{FLAGS, INSTRUCTION_POINTER as IP, InstructionRecord};
use thiserror::Error;
use units::nearest;

const HEAP: u64 = 0x10_0000_0000;
const SECOND_HEAP: u64 = 0x20_0000_0000;
const CODE: u64 = 0x40_0000;

/// Lines in a megabyte.
const MEGABYTE_LINES: u32 = 1 << 14;
/// Blocks of code in the mixed traces.
const BLOCKS: usize = 585;
/// Instructions in each block.
const BLOCK: usize = 7;

/// Names of all traces.
pub const NAMES: [&str; 9] =
    ["chase1", "chase4", "chase8", "stream", "stream_1m", "stream_512k", "stream_128k", "mix", "hot"];

/// No trace has the requested name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no trace '{name}'{}; there are {}", nearest.map(|name| format!(", did you mean '{name}'?")).unwrap_or_default(), NAMES.join(", "))]
pub struct UnknownTrace {
    /// Name that was requested.
    pub name: String,
    /// Most similar name of a trace.
    pub nearest: Option<&'static str>,
}

/// Records of one trace, generated on request.
#[derive(Clone, Debug)]
pub struct Synthetic {
    /// Total number of records.
    length: u64,
    at: u64,
    kind: SyntheticKind,
}

#[derive(Clone, Debug)]
enum SyntheticKind {
    Chase {
        order: Vec<u32>,
        chains: u64,
    },
    /// A copy, with the bytes of its source.
    Stream(u64),
    Mixed(Box<Mixed>),
}

impl Synthetic {
    /// Returns the trace `name` with about `instructions` records, as the script generates it under this seed. It
    /// consists of complete rounds of the loop.
    ///
    /// # Errors
    /// [`UnknownTrace`] with the known names.
    pub fn new(name: &str, instructions: u64, seed: u32) -> Result<Synthetic, UnknownTrace> {
        let generator = Pcg64::new(seed);
        let chase = |chains, megabytes| {
            let order = generator.clone().permutation(megabytes * MEGABYTE_LINES);
            (SyntheticKind::Chase { order, chains }, 20)
        };
        let stream = |kilobytes: u64| (SyntheticKind::Stream(kilobytes << 10), 5);
        let blocks = instructions / BLOCK as u64;
        let (kind, round) = match name {
            "chase1" => chase(1, 256),
            "chase4" => chase(4, 256),
            "chase8" => chase(8, 64),
            "stream" => stream(32 << 10),
            "stream_1m" => stream(1 << 10),
            "stream_512k" => stream(512),
            "stream_128k" => stream(128),
            "mix" => (SyntheticKind::Mixed(Box::new(Mixed::new(&generator, blocks, [0.08, 0.95, 0.99]))), BLOCK as u64),
            "hot" => {
                (SyntheticKind::Mixed(Box::new(Mixed::new(&generator, blocks, [0.005, 0.999, 1.0]))), BLOCK as u64)
            }
            _ => return Err(UnknownTrace { name: name.to_owned(), nearest: nearest(name, NAMES) }),
        };
        Ok(Synthetic { length: instructions / round * round, at: 0, kind })
    }
}

impl Iterator for Synthetic {
    type Item = InstructionRecord;

    fn next(&mut self) -> Option<InstructionRecord> {
        if self.at == self.length {
            return None;
        }
        let (at, last) = (self.at, self.at + 1 == self.length);
        self.at += 1;
        Some(match &mut self.kind {
            SyntheticKind::Chase { order, chains } => chase(at / 20, at % 20, order, *chains, last),
            SyntheticKind::Stream(bytes) => stream(at / 5 * 32 % *bytes, at % 5, last),
            SyntheticKind::Mixed(mixed) => mixed.record(),
        })
    }
}

fn plain(index: u64, destination: u8, sources: [u8; 2]) -> InstructionRecord {
    InstructionRecord {
        pc: CODE + 4 * index,
        destinations: [destination, 0],
        sources: [sources[0], sources[1], 0, 0],
        ..InstructionRecord::default()
    }
}

/// Branch at the end of a loop; not taken the last time.
fn back_edge(index: u64, last: bool) -> InstructionRecord {
    InstructionRecord { branch: true, taken: !last, ..plain(index, IP, [IP, FLAGS]) }
}

/// A load of the next pointer, 18 additions (nine depend on the load), and a branch.
fn chase(round: u64, index: u64, order: &[u32], chains: u64, last: bool) -> InstructionRecord {
    let pointer = if chains == 1 { 1 } else { (round % chains) as u8 + 1 };
    match index {
        0 => {
            let line = u64::from(order[(round % order.len() as u64) as usize]);
            InstructionRecord { loads: [HEAP + 64 * line, 0, 0, 0], ..plain(0, pointer, [pointer, 0]) }
        }
        18 => plain(18, FLAGS, [13, 0]),
        19 => back_edge(19, last),
        _ => {
            let (destination, sources) =
                [(10, [pointer, 0]), (11, [10, 0]), (12, [11, 12]), (13, [13, 0]), (14, [14, 0]), (15, [13, 14])]
                    [(index as usize - 1) % 6];
            plain(index, destination, sources)
        }
    }
}

fn stream(offset: u64, index: u64, last: bool) -> InstructionRecord {
    match index {
        0 => InstructionRecord { loads: [HEAP + offset, 0, 0, 0], ..plain(0, 1, [2, 0]) },
        1 => plain(1, 3, [1, 4]),
        2 => InstructionRecord { stores: [SECOND_HEAP + offset, 0], ..plain(2, 0, [3, 5]) },
        3 => InstructionRecord { destinations: [2, FLAGS], ..plain(3, 2, [2, 0]) },
        _ => back_edge(4, last),
    }
}

/// Operation of an instruction in a mixed trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InstructionKind {
    Add,
    Load,
    Store,
    Branch,
}

/// Static code of the mixed traces, drawn from a fixed seed.
#[derive(Clone, Debug)]
struct SyntheticCode {
    work: Vec<InstructionKind>,
    registers: [Vec<u8>; 3],
}

impl SyntheticCode {
    fn new() -> SyntheticCode {
        let mut generator = Pcg64::new(77);
        let shares = [0.59f64, 0.29, 0.12];
        let all: f64 = shares[0] + shares[1] + shares[2];
        let (first, second) = (shares[0] / all, (shares[0] + shares[1]) / all);
        let mut work: Vec<InstructionKind> = (0..BLOCKS * BLOCK)
            .map(|_| match generator.unit() {
                unit if unit < first => InstructionKind::Add,
                unit if unit < second => InstructionKind::Load,
                _ => InstructionKind::Store,
            })
            .collect();
        work.iter_mut().skip(BLOCK - 1).step_by(BLOCK).for_each(|work| *work = InstructionKind::Branch);
        let registers = std::array::from_fn(|_| (0..BLOCKS * BLOCK).map(|_| 30 + generator.below(16) as u8).collect());
        SyntheticCode { work, registers }
    }
}

/// Position in a mixed trace. The script draws whole arrays one after the other; a cursor replaces each array here.
#[derive(Clone, Debug)]
struct Mixed {
    code: SyntheticCode,
    flips: Pcg64,
    ranges: Pcg64,
    offsets: [Pcg64; 3],
    often_taken: Vec<bool>,
    flip_share: f64,
    /// Limits of the drawn number: below the first, an access is to the 16 KB; below the second, to the 256 KB; else to
    /// the 8 MB.
    range_ends: [f64; 2],
    block: usize,
    index: usize,
}

impl Mixed {
    fn new(generator: &Pcg64, blocks: u64, [flip_share, small, middle]: [f64; 3]) -> Mixed {
        let records = blocks * BLOCK as u64;
        let mut biases = generator.advanced(blocks);
        let ranges = biases.advanced(BLOCKS as u64);
        let integers = ranges.advanced(records);
        let offsets = [0, 1, 2].map(|array| {
            let halves = array * records;
            let mut cursor = integers.advanced(halves / 2);
            if halves % 2 == 1 {
                cursor.half_word();
            }
            cursor
        });
        let often_taken = (0..BLOCKS).map(|_| biases.unit() < 0.1).collect();
        let range_ends = [small, middle];
        let flips = generator.clone();
        Mixed {
            code: SyntheticCode::new(),
            flips,
            ranges,
            offsets,
            often_taken,
            flip_share,
            range_ends,
            block: 0,
            index: 0,
        }
    }

    fn record(&mut self) -> InstructionRecord {
        let instruction = self.block * BLOCK + self.index;
        let address = self.address();
        let [destinations, first, second] = &self.code.registers;
        let mut record = InstructionRecord { pc: CODE + 4 * instruction as u64, ..InstructionRecord::default() };
        record.sources = [first[instruction], second[instruction], 0, 0];
        let work = self.code.work[instruction];
        match work {
            InstructionKind::Add | InstructionKind::Load => record.destinations[0] = destinations[instruction],
            InstructionKind::Store => {}
            InstructionKind::Branch => {
                record.destinations = [IP, 0];
                record.sources = [IP, FLAGS, 0, 0];
                (record.branch, record.taken) = (true, self.go_on());
            }
        }
        match work {
            InstructionKind::Load => record.loads[0] = address,
            InstructionKind::Store => record.stores[0] = address,
            InstructionKind::Add | InstructionKind::Branch => {}
        }
        if self.index == BLOCK - 2 {
            record.destinations[1] = FLAGS;
        }
        self.index = (self.index + 1) % BLOCK;
        record
    }

    /// Draws an address for each instruction, even if it does not access memory.
    fn address(&mut self) -> u64 {
        let [small, middle, large] = &mut self.offsets;
        let (small, middle, large) = (small.below(1 << 14), middle.below(1 << 18), large.below(1 << 23));
        let range = self.ranges.unit();
        let offset = match range {
            range if range < self.range_ends[0] => u64::from(small),
            range if range < self.range_ends[1] => (1 << 20) + u64::from(middle),
            _ => (1 << 24) + u64::from(large),
        };
        HEAP + (offset & !7)
    }

    /// Moves to the next block; returns true if the branch to it is taken.
    fn go_on(&mut self) -> bool {
        let taken = self.often_taken[self.block] ^ (self.flips.unit() < self.flip_share);
        let next = self.block + if taken { 2 } else { 1 };
        let wraps = next >= BLOCKS;
        self.block = if wraps { 0 } else { next };
        taken || wraps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum<'r>(records: impl IntoIterator<Item = &'r InstructionRecord>) -> u64 {
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        records.into_iter().flat_map(InstructionRecord::to_bytes).fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// FNV-1a of the first and the last 2000 records of the script's files, with seed 1 and 150000 instructions.
    const CHECKSUMS: [(&str, usize, u64, u64); 8] = [
        ("chase1", 150_000, 0xd86a_423f_4f5f_59e2, 0x8e64_f7be_1fc4_36d1),
        ("chase4", 150_000, 0x4e46_a5b0_758e_17be, 0xd6b7_2437_6eb9_fa5d),
        ("chase8", 150_000, 0xd2a6_b6f0_802f_cf6d, 0x027c_5dbe_01aa_e229),
        ("stream", 150_000, 0xf958_707d_cf47_2165, 0xea11_f096_055b_3f1a),
        ("stream_512k", 150_000, 0xf958_707d_cf47_2165, 0x33b7_172f_4e42_085a),
        ("stream_128k", 150_000, 0xf958_707d_cf47_2165, 0x5331_a279_ee1b_b6da),
        ("mix", 149_996, 0x2053_aaa0_5dc8_0d71, 0x296c_3206_23bc_c86d),
        ("hot", 149_996, 0xffee_f965_1462_608e, 0x9183_d1b8_46e0_c2b7),
    ];

    #[test]
    fn every_synthetic_champsim_trace_has_the_checksums_of_the_original_script() {
        for (name, length, first, last) in CHECKSUMS {
            let records: Vec<InstructionRecord> = Synthetic::new(name, 150_000, 1).unwrap().collect();
            assert_eq!(records.len(), length, "{name}");
            assert_eq!(checksum(&records[..2000]), first, "{name}: the first records");
            assert_eq!(checksum(&records[length - 2000..]), last, "{name}: the last records");
        }
    }

    #[test]
    fn an_unknown_trace_is_refused_with_the_nearest_name() {
        let refused = Synthetic::new("chase", 100, 1).unwrap_err().to_string();
        assert!(refused.contains("'chase'") && refused.contains("hot"), "{refused}");
    }
}
