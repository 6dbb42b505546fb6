//! Static code of pricing.
//!
//! RDX: the arc; R8 and R10: its ends; RAX: its reduced cost. RDI: the basket; R13: the number of candidates. R12: the
//! current group; R14: the first group.

use super::super::super::emitter::Emitter;
use super::super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;
use isa::Reg;

/// Blocks of pricing. RSI: the arcs; RBX: the stride of a group; RBP: the end of the arcs; RCX: the number of groups.
pub struct PriceCode {
    pub keep: KeepCode,
    pub groups: BlockId,
    pub group: BlockId,
    pub arc: BlockId,
    pub price: BlockId,
    pub take: BlockId,
    pub arc_next: BlockId,
    pub group_end: GroupEndCode,
    pub chosen: BlockId,
    pub call_sort: BlockId,
    pub picked: BlockId,
}

impl PriceCode {
    pub fn declare(emit: &mut Emitter) -> PriceCode {
        PriceCode {
            keep: KeepCode::declare(emit),
            groups: emit.declare(
                Listing::new()
                    .load(8, R12, &[RSP])
                    .lea(R14, &[R12])
                    .lea(RSI, &[])
                    .lea(RBX, &[])
                    .lea(RBP, &[])
                    .lea(RCX, &[]),
            ),
            group: emit.declare(Listing::new().lea(RDX, &[R12]).lea(RDX, &[RSI, RDX])),
            arc: emit.declare(Listing::new().load(8, R9, &[RDX]).compare(&[R9]).branch()),
            price: emit
                .declare(reduced_cost(Listing::new()).lea(R11, &[RAX]).mul(R11, &[R11, R9]).compare(&[R11]).branch()),
            take: emit.declare(put(Listing::new())),
            arc_next: emit.declare(Listing::new().alu(RDX, &[RDX, RBX]).compare(&[RDX, RBP]).branch()),
            group_end: GroupEndCode::declare(emit),
            chosen: emit
                .declare(Listing::new().store(8, &[R12], &[RSP]).store(8, &[R13], &[RSP]).compare(&[R13]).branch()),
            call_sort: emit.declare(Listing::new().alu(R8, &[]).lea(R9, &[R13]).call()),
            picked: emit.declare(Listing::new().load(8, RDX, &[RDI]).load(8, RBX, &[RDX]).load(8, RBP, &[RDX])),
        }
    }
}

/// Code that prices the candidates of the last pivot. RCX and R9: their index and its limit.
pub struct KeepCode {
    pub enter: BlockId,
    pub price: BlockId,
    pub take: BlockId,
    pub next: BlockId,
}

impl KeepCode {
    fn declare(emit: &mut Emitter) -> KeepCode {
        KeepCode {
            enter: emit.declare(
                Listing::new()
                    .lea(RDI, &[RSP])
                    .load(8, R9, &[RSP])
                    .alu(R13, &[])
                    .compare(&[R9])
                    .lea(R9, &[R9, RCX, Reg::FLAGS])
                    .lea(RCX, &[])
                    .compare(&[R9])
                    .branch(),
            ),
            price: emit.declare(
                reduced_cost(Listing::new().load(8, RDX, &[RDI, RCX]).load(8, RDX, &[RDX]))
                    .load(8, R11, &[RDX])
                    .mul(R11, &[R11, RAX])
                    .compare(&[R11])
                    .branch(),
            ),
            take: emit.declare(put(Listing::new())),
            next: emit.declare(Listing::new().count_up(RCX, R9)),
        }
    }
}

/// Code at the end of a group.
pub struct GroupEndCode {
    pub next: BlockId,
    pub wrap: BlockId,
    pub enough: BlockId,
    pub more: BlockId,
}

impl GroupEndCode {
    fn declare(emit: &mut Emitter) -> GroupEndCode {
        GroupEndCode {
            next: emit.declare(Listing::new().alu(R12, &[R12]).compare(&[R12, RCX]).branch()),
            wrap: emit.declare(Listing::new().alu(R12, &[])),
            enough: emit.declare(Listing::new().compare(&[R13]).branch()),
            more: emit.declare(Listing::new().compare(&[R12, R14]).branch()),
        }
    }
}

/// Quicksort. R8 and R9: the first and the last position; RCX and RSI: the positions that approach each other.
pub struct SortCode {
    pub partition: PartitionCode,
    pub lower: BlockId,
    pub call_lower: BlockId,
    pub back: BlockId,
    pub upper: BlockId,
    pub needed: BlockId,
    pub again: BlockId,
    pub end: BlockId,
}

impl SortCode {
    pub fn declare(emit: &mut Emitter) -> SortCode {
        SortCode {
            partition: PartitionCode::declare(emit),
            lower: emit.declare(Listing::new().compare(&[R8, RSI]).branch()),
            call_lower: emit
                .declare(Listing::new().store(8, &[R9], &[RSP]).store(8, &[RCX], &[RSP]).lea(R9, &[RSI]).call()),
            back: emit.declare(Listing::new().load(8, RCX, &[RSP]).load(8, R9, &[RSP])),
            upper: emit.declare(Listing::new().compare(&[RCX, R9]).branch()),
            needed: emit.declare(Listing::new().compare(&[RCX]).branch()),
            again: emit.declare(Listing::new().lea(R8, &[RCX]).jump()),
            end: emit.declare(Listing::new().ret()),
        }
    }
}

/// Code that partitions a range. R11: the absolute value at which it is divided.
pub struct PartitionCode {
    pub enter: BlockId,
    pub left: BlockId,
    pub right: BlockId,
    pub apart: BlockId,
    pub swap: BlockId,
    pub met: BlockId,
}

impl PartitionCode {
    fn declare(emit: &mut Emitter) -> PartitionCode {
        PartitionCode {
            enter: emit.declare(
                Listing::new()
                    .lea(RAX, &[R8, R9])
                    .lea(RAX, &[RAX])
                    .load(8, RAX, &[RDI, RAX])
                    .load(8, R11, &[RAX])
                    .lea(RCX, &[R8])
                    .lea(RSI, &[R9]),
            ),
            left: emit.declare(
                Listing::new().load(8, RAX, &[RDI, RCX]).lea(RCX, &[RCX]).compare_load(8, &[R11], &[RAX]).branch(),
            ),
            right: emit.declare(
                Listing::new().load(8, RDX, &[RDI, RSI]).lea(RSI, &[RSI]).compare_load(8, &[R11], &[RDX]).branch(),
            ),
            apart: emit.declare(Listing::new().compare(&[RCX, RSI]).branch()),
            swap: emit.declare(Listing::new().store(8, &[RDX], &[RDI, RCX]).store(8, &[RAX], &[RDI, RSI])),
            met: emit.declare(Listing::new().alu(RCX, &[RCX]).alu(RSI, &[RSI]).compare(&[RCX, RSI]).branch()),
        }
    }
}

/// Computes the reduced cost of an arc in RAX.
fn reduced_cost(code: Listing) -> Listing {
    let code = code.load(8, R8, &[RDX]).load(8, R10, &[RDX]).load(8, RAX, &[RDX]);
    code.alu_load(8, RAX, &[RAX], &[R8]).alu_load(8, RAX, &[RAX], &[R10])
}

/// Adds a candidate to the basket, with the absolute value of its reduced cost.
fn put(code: Listing) -> Listing {
    let code = code.load(8, R8, &[RDI, R13]).alu(R13, &[R13]).store(8, &[RDX], &[R8]).store(8, &[RAX], &[R8]);
    code.lea(R11, &[RAX]).alu(RAX, &[RAX]).lea(RAX, &[RAX, R11, Reg::FLAGS]).store(8, &[RAX], &[R8])
}
