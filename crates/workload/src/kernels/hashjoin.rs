//! Hash join: build a chained hash table on the smaller relation, then probe it with the larger one.
//!
//! Source: the no-partitioning join of Blanas, Li and Patel, "Design and evaluation of main memory hash join algorithms
//! for multi-core CPUs", SIGMOD 2011. The field has used this workload since: tuples have a 4-byte key and a 4-byte
//! payload. Keys of the build relation are unique, and each probe tuple has exactly one partner.

use super::KernelInfo;
use super::arena::Array;
use super::emitter::{ClosedStream, Emitter};
use super::listing::{Listing, reg::*};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use crate::stream::BlockId;
use units::Bytes;
use units::random::Random;

const TUPLE_BYTES: u64 = 8;
/// Knuth's multiplicative hash: 2^32 divided by the golden ratio.
const MULTIPLIER: u32 = 0x9e37_79b1;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "hashjoin",
    summary: "no-partitioning hash join: a random access per tuple, chains of dependent loads",
    parameters: &[
        Parameter {
            name: "build",
            kind: ParameterKind::Size { min: Bytes(16), max: Bytes(8 << 30) },
            default: "32 MB",
            summary: "the relation that the table is built on; the table adds as much again",
        },
        Parameter {
            name: "probe",
            kind: ParameterKind::Size { min: Bytes(16), max: Bytes(8 << 30) },
            default: "256 MB",
            summary: "the relation that is looked up",
        },
        Parameter {
            name: "record",
            kind: ParameterKind::Choice(&["probe", "all"]),
            default: "all",
            summary: "whether the stream begins with the first probe or with building the table",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(HashJoin::new(settings)),
};

struct HashJoin {
    build_rows: u64,
    probe_rows: u64,
    hash_bits: u32,
    record_build: bool,
}

struct HashjoinCode {
    build_enter: BlockId,
    build: BlockId,
    probe_enter: BlockId,
    probe: BlockId,
    compare: BlockId,
    matched: BlockId,
    follow: BlockId,
    next: BlockId,
}

/// Tuples are pairs of a key and a payload; row numbers in `heads` and `nexts` count from one, zero ends a chain.
struct JoinTables {
    build: Array<u32>,
    probe: Array<u32>,
    heads: Array<u32>,
    nexts: Array<u32>,
}

impl HashJoin {
    fn new(settings: &Settings) -> HashJoin {
        let build_rows = settings.number("build") / TUPLE_BYTES;
        let hash_bits = build_rows.next_power_of_two().ilog2().max(1);
        let probe_rows = settings.number("probe") / TUPLE_BYTES;
        HashJoin { build_rows, probe_rows, hash_bits, record_build: settings.word("record") == "all" }
    }

    fn bucket(&self, key: u32) -> u64 {
        u64::from(key.wrapping_mul(MULTIPLIER) >> (u32::BITS - self.hash_bits))
    }

    fn tables(&self, emit: &mut Emitter, random: &mut Random) -> JoinTables {
        let tables = JoinTables {
            build: emit.array(2 * self.build_rows),
            probe: emit.array(2 * self.probe_rows),
            heads: emit.array(1 << self.hash_bits),
            nexts: emit.array(self.build_rows),
        };
        for (row, [key, payload]) in build_relation(self.build_rows, random).enumerate() {
            emit.poke(tables.build.at(2 * row as u64), key);
            emit.poke(tables.build.at(2 * row as u64 + 1), payload);
        }
        for row in 0..self.probe_rows {
            let [key, payload] = probe_tuple(self.build_rows, random);
            emit.poke(tables.probe.at(2 * row), key);
            emit.poke(tables.probe.at(2 * row + 1), payload);
        }
        tables
    }

    fn build(&self, emit: &mut Emitter, code: &HashjoinCode, tables: &JoinTables) -> Result<(), ClosedStream> {
        emit.block(code.build_enter)?;
        for row in 0..self.build_rows {
            emit.block(code.build)?;
            let key = emit.load(tables.build.at(2 * row));
            let head = tables.heads.at(self.bucket(key));
            let first = emit.load(head);
            emit.store(tables.nexts.at(row), first);
            emit.store(head, row as u32 + 1);
        }
        Ok(())
    }

    /// Returns the sum of both payloads over all pairs with equal keys.
    fn probe(&self, emit: &mut Emitter, code: &HashjoinCode, tables: &JoinTables) -> Result<u64, ClosedStream> {
        let mut sum = 0u64;
        emit.block(code.probe_enter)?;
        for row in 0..self.probe_rows {
            emit.block(code.probe)?;
            let key = emit.load(tables.probe.at(2 * row));
            let mut partner = emit.load(tables.heads.at(self.bucket(key)));
            while partner != 0 {
                let candidate = u64::from(partner - 1);
                emit.block(code.compare)?;
                if emit.load(tables.build.at(2 * candidate)) == key {
                    emit.block(code.matched)?;
                    let payload = emit.load(tables.build.at(2 * candidate + 1));
                    sum += u64::from(payload) + u64::from(emit.load(tables.probe.at(2 * row + 1)));
                }
                emit.block(code.follow)?;
                partner = emit.load(tables.nexts.at(candidate));
            }
            emit.block(code.next)?;
        }
        Ok(sum)
    }
}

/// Returns tuples with the keys from zero on, each once, in random order.
fn build_relation(rows: u64, random: &mut Random) -> impl Iterator<Item = [u32; 2]> + use<> {
    let mut keys: Vec<u32> = (0..rows as u32).collect();
    random.shuffle(&mut keys);
    let mut payloads = Random::new(random.word());
    keys.into_iter().map(move |key| [key, payloads.word() as u32])
}

/// Draws a tuple with a key that occurs in a build relation of `build_rows` rows.
fn probe_tuple(build_rows: u64, random: &mut Random) -> [u32; 2] {
    [random.below(build_rows) as u32, random.word() as u32]
}

/// Declares the code. RSI: the relation being read; RBX: buckets; RBP: chains; RDI: the build relation; RAX: the sum.
fn declare(emit: &mut Emitter) -> HashjoinCode {
    let hash = |code: Listing| code.load(4, RDX, &[RSI, RCX]).mul(R8, &[RDX]).alu(R8, &[R8]);
    let build = hash(Listing::new()).load(4, R10, &[RBX, R8]).store(4, &[R10], &[RBP, RCX]).lea(R11, &[RCX]);
    HashjoinCode {
        build_enter: emit.declare(Listing::new().lea(RSI, &[RDI]).alu(RCX, &[])),
        build: emit.declare(build.store(4, &[R11], &[RBX, R8]).count_up(RCX, R9)),
        probe_enter: emit.declare(Listing::new().lea(RSI, &[]).alu(RCX, &[]).alu(RAX, &[])),
        probe: emit.declare(hash(Listing::new()).load(4, R10, &[RBX, R8]).compare(&[R10]).branch()),
        compare: emit.declare(Listing::new().compare_load(4, &[RDX], &[RDI, R10]).branch()),
        matched: emit.declare({
            let code = Listing::new().load(4, R11, &[RDI, R10]).alu(RAX, &[RAX, R11]);
            code.load(4, R11, &[RSI, RCX]).alu(RAX, &[RAX, R11])
        }),
        follow: emit.declare(Listing::new().load(4, R10, &[RBP, R10]).compare(&[R10]).branch()),
        next: emit.declare(Listing::new().count_up(RCX, R9)),
    }
}

impl Program for HashJoin {
    fn arena_bytes(&self) -> u64 {
        let line_ends = 4 * 64;
        TUPLE_BYTES * (self.build_rows + self.probe_rows) + 4 * (1 << self.hash_bits) + 4 * self.build_rows + line_ends
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = declare(emit);
        let tables = self.tables(emit, random);
        emit.recorded_if(self.record_build, |emit| self.build(emit, &code, &tables))?;
        self.probe(emit, &code, &tables)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_hash_join_kernel_finds_the_payloads_of_an_ordered_map() {
        let mut random = Random::new(21);
        let build: BTreeMap<u32, u32> =
            build_relation(1000, &mut random).map(|[key, payload]| (key, payload)).collect();
        let mut sum = 0;
        for _ in 0..4000 {
            let [key, payload] = probe_tuple(1000, &mut random);
            sum += u64::from(build[&key]) + u64::from(payload);
        }
        assert_eq!(build.len(), 1000);
        for record in ["all", "probe"] {
            let given = [("build", "8000"), ("probe", "32000"), ("record", record)];
            assert_eq!(run(&INFO, &given, 21).answer, sum, "record {record}");
        }
    }

    #[test]
    fn the_probe_phase_of_the_hash_join_kernel_contains_no_stores() {
        let stores = |record| run(&INFO, &[("build", "8000"), ("probe", "8000"), ("record", record)], 21).stores;
        assert_eq!((stores("probe"), stores("all")), (0, 2 * 1000));
    }

    #[test]
    fn the_smallest_relations_can_be_joined() {
        assert!(run(&INFO, &[("build", "16"), ("probe", "16")], 2).answer > 0);
    }
}
