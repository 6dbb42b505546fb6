//! Static code of the network simplex method, in memory order.
//!
//! RSP: local variables. In a walk over the tree RAX is the next node, and RCX or RSI the previous one. A conditional
//! move has the flags as a source.

pub mod pivot;
pub mod pricing;

use super::super::emitter::Emitter;
use super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;
use isa::Reg;
use pivot::PivotCode;
use pricing::{PriceCode, SortCode};

/// Code of each phase, and of the loop around the phases.
pub struct SimplexCode {
    pub sort: SortCode,
    pub start: StartCode,
    pub turn: BlockId,
    pub refresh: RefreshCode,
    pub price: PriceCode,
    pub pivot: PivotCode,
    pub next: BlockId,
    pub finish: FinishCode,
}

impl SimplexCode {
    pub fn declare(emit: &mut Emitter) -> SimplexCode {
        SimplexCode {
            sort: SortCode::declare(emit),
            start: StartCode::declare(emit),
            turn: emit.declare(Listing::new().update(8, &[], &[RSP]).branch()),
            refresh: RefreshCode::declare(emit),
            price: PriceCode::declare(emit),
            pivot: PivotCode::declare(emit),
            next: emit.declare(Listing::new().jump()),
            finish: FinishCode::declare(emit),
        }
    }
}

/// Code that builds the first tree. R12: pointers to nodes; RBP: artificial arcs; RBX: the link to the next node.
pub struct StartCode {
    pub enter: BlockId,
    pub arc: BlockId,
    pub nodes: BlockId,
    pub node: BlockId,
    pub demand: BlockId,
    pub hang: BlockId,
    pub end: BlockId,
}

impl StartCode {
    fn declare(emit: &mut Emitter) -> StartCode {
        StartCode {
            enter: emit.declare(Listing::new().lea(RDX, &[]).lea(R9, &[])),
            arc: emit.declare(Listing::new().store(8, &[R8], &[RDX]).count_up(RDX, R9)),
            nodes: emit.declare(Listing::new().lea(RBX, &[R14]).lea(RBP, &[R9]).alu(RCX, &[]).alu(R10, &[])),
            node: emit.declare(
                Listing::new()
                    .load(8, RDI, &[R12, RCX])
                    .load(8, RAX, &[RDI])
                    .lea(RDX, &[])
                    .lea(RSI, &[RDI])
                    .lea(R11, &[R14])
                    .compare(&[RAX])
                    .branch(),
            ),
            demand: emit.declare(Listing::new().alu(RAX, &[RAX]).alu(RDX, &[]).lea(RSI, &[R14]).lea(R11, &[RDI])),
            hang: emit.declare({
                let arc = Listing::new()
                    .store(8, &[R13], &[RBP])
                    .store(8, &[RSI], &[RBP])
                    .store(8, &[R11], &[RBP])
                    .store(8, &[], &[RBP]);
                let node = arc.store(8, &[R14], &[RDI]).store(8, &[], &[RDI]).store(8, &[R10], &[RDI]);
                let node = node.store(8, &[RBP], &[RDI]).store(8, &[RAX], &[RDI]).store(4, &[], &[RDI]);
                let node = node.store(4, &[RDX], &[RDI]).store(8, &[RDI], &[RBX]);
                node.lea(RBX, &[RDI]).lea(R10, &[RDI]).lea(RBP, &[RBP]).count_up(RCX, R9)
            }),
            end: emit.declare(Listing::new().store(8, &[], &[RBX]).store(8, &[], &[R14]).store(4, &[R9], &[R14])),
        }
    }
}

/// Code that computes all potentials. R9: the root.
pub struct RefreshCode {
    pub enter: BlockId,
    pub visit: BlockId,
    pub down: BlockId,
    pub settle: BlockId,
    pub sibling: BlockId,
    pub climb: BlockId,
    pub end: BlockId,
}

impl RefreshCode {
    fn declare(emit: &mut Emitter) -> RefreshCode {
        RefreshCode {
            enter: emit.declare(Listing::new().lea(R9, &[RSP]).load(8, RAX, &[R9])),
            visit: emit.declare(
                Listing::new()
                    .load(8, RDX, &[RAX])
                    .load(8, R8, &[RAX])
                    .load(8, RDX, &[RDX])
                    .load(8, R8, &[R8])
                    .compare_load(4, &[], &[RAX])
                    .branch(),
            ),
            down: emit.declare(Listing::new().alu(R8, &[R8])),
            settle: emit.declare(
                Listing::new()
                    .alu(RDX, &[RDX, R8])
                    .store(8, &[RDX], &[RAX])
                    .lea(RCX, &[RAX])
                    .load(8, RAX, &[RAX])
                    .compare(&[RAX])
                    .branch(),
            ),
            sibling: emit.declare(Listing::new().load(8, RAX, &[RCX]).compare(&[RAX]).branch()),
            climb: emit.declare(Listing::new().load(8, RCX, &[RCX]).compare(&[RCX, R9]).branch()),
            end: emit.declare(Listing::new().store(8, &[], &[RSP])),
        }
    }
}

/// Code that collects the solution. RDX: arcs; RDI and RCX: pointers to nodes; RAX: the cost.
pub struct FinishCode {
    pub enter: BlockId,
    pub arc: BlockId,
    pub nodes: BlockId,
    pub node: BlockId,
    pub sum_enter: BlockId,
    pub sum: BlockId,
    pub end: BlockId,
}

impl FinishCode {
    fn declare(emit: &mut Emitter) -> FinishCode {
        FinishCode {
            enter: emit.declare(Listing::new().lea(RDX, &[]).lea(R9, &[]).alu(R8, &[])),
            arc: emit.declare({
                let code =
                    Listing::new().load(8, RAX, &[RDX]).compare_load(8, &[], &[RDX]).lea(RAX, &[RAX, R8, Reg::FLAGS]);
                code.store(8, &[RAX], &[RDX]).count_up(RDX, R9)
            }),
            nodes: emit.declare(Listing::new().lea(RDI, &[]).alu(RCX, &[]).lea(R9, &[])),
            node: emit.declare({
                let code = Listing::new().load(8, RAX, &[RDI, RCX]).load(8, R8, &[RAX]).load(8, R10, &[RAX]);
                code.store(8, &[R10], &[R8]).count_up(RCX, R9)
            }),
            sum_enter: emit.declare(Listing::new().lea(RDX, &[]).lea(R9, &[]).alu(RAX, &[])),
            sum: emit.declare({
                let code =
                    Listing::new().load(8, R8, &[RDX]).load(8, R10, &[RDX]).mul(R8, &[R8, R10]).alu(RAX, &[RAX, R8]);
                code.count_up(RDX, R9)
            }),
            end: emit.declare(Listing::new().alu(RAX, &[RAX])),
        }
    }
}
