//! Static code of a pivot.
//!
//! RBX is the entering arc, RBP its reduced cost, and RSI and R14 its ends. R8 and R9 are the current nodes of the
//! walks up from both ends, and R12 is the node where they meet. R10 is the change of flow. The arc above node R11
//! leaves the tree; R13 is its side of the cycle.

use super::super::super::emitter::Emitter;
use super::super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;
use isa::Reg;

/// Blocks of a pivot.
pub struct PivotCode {
    pub ends: BlockId,
    pub backward: BlockId,
    pub walk: WalkCode,
    pub limited: BlockId,
    pub exchange: BlockId,
    pub leave: BlockId,
    pub shift: ShiftCode,
    pub reverse: ReverseCode,
    pub rest: BlockId,
    pub push: [PushCode; 2],
}

impl PivotCode {
    pub fn declare(emit: &mut Emitter) -> PivotCode {
        PivotCode {
            ends: emit.declare(
                Listing::new()
                    .load(8, RSI, &[RBX])
                    .load(8, R14, &[RBX])
                    .load(8, R10, &[RBX])
                    .compare_load(8, &[], &[RBX])
                    .branch(),
            ),
            backward: emit.declare(Listing::new().lea(RAX, &[RSI]).lea(RSI, &[R14]).lea(R14, &[RAX])),
            walk: WalkCode::declare(emit),
            limited: emit.declare(Listing::new().lea(R12, &[R8]).compare(&[R11]).branch()),
            exchange: emit
                .declare(Listing::new().update(8, &[], &[RBX]).lea(R8, &[RSI]).lea(R9, &[R14]).alu(RDX, &[]).jump()),
            leave: emit.declare(leave()),
            shift: ShiftCode::declare(emit),
            reverse: ReverseCode::declare(emit),
            rest: emit.declare({
                let code = Listing::new().load(8, R8, &[RSP]).compare(&[R13]).lea(R9, &[R8, RAX, Reg::FLAGS]);
                code.lea(R8, &[R8, RAX, Reg::FLAGS]).lea(RDX, &[R15, Reg::FLAGS])
            }),
            push: [R8, R9].map(|node| PushCode::declare(emit, node)),
        }
    }
}

/// Ratio test: the walks from both ends of the entering arc up to the node where they meet.
pub struct WalkCode {
    pub enter: BlockId,
    pub meet: BlockId,
    pub smaller: BlockId,
    pub limits: [LimitCode; 2],
}

impl WalkCode {
    fn declare(emit: &mut Emitter) -> WalkCode {
        WalkCode {
            enter: emit.declare(Listing::new().lea(R8, &[RSI]).lea(R9, &[R14]).alu(R11, &[])),
            meet: emit.declare(Listing::new().compare(&[R8, R9]).branch()),
            smaller: emit.declare(Listing::new().load(4, RAX, &[R8]).compare_load(4, &[RAX], &[R9]).branch()),
            limits: [R8, R9].map(|node| LimitCode::declare(emit, node)),
        }
    }
}

/// Ratio test of one basic arc. RDX: the largest change of its flow.
pub struct LimitCode {
    pub flow: BlockId,
    pub room: BlockId,
    pub compare: BlockId,
    pub take: BlockId,
    pub up: BlockId,
}

impl LimitCode {
    fn declare(emit: &mut Emitter, node: Reg) -> LimitCode {
        LimitCode {
            flow: emit.declare(Listing::new().load(8, RDX, &[node]).compare_load(4, &[], &[node]).branch()),
            room: emit.declare(Listing::new().load(8, RCX, &[node]).load(8, RCX, &[RCX]).alu(RDX, &[RCX, RDX])),
            compare: emit.declare(Listing::new().compare(&[RDX, R10]).branch()),
            take: emit.declare(Listing::new().lea(R10, &[RDX]).lea(R11, &[node]).lea(R13, &[])),
            up: emit.declare(Listing::new().load(8, node, &[node]).jump()),
        }
    }
}

/// Code that changes the potentials of a subtree. RBP: the difference.
pub struct ShiftCode {
    pub visit: BlockId,
    pub top: BlockId,
    pub sibling: BlockId,
    pub climb: BlockId,
}

impl ShiftCode {
    fn declare(emit: &mut Emitter) -> ShiftCode {
        ShiftCode {
            visit: emit.declare(
                Listing::new().update(8, &[RBP], &[RAX]).lea(RSI, &[RAX]).load(8, RAX, &[RAX]).compare(&[RAX]).branch(),
            ),
            top: emit.declare(Listing::new().compare(&[RSI, R11]).branch()),
            sibling: emit.declare(Listing::new().load(8, RAX, &[RSI]).compare(&[RAX]).branch()),
            climb: emit.declare(Listing::new().load(8, RSI, &[RSI]).jump()),
        }
    }
}

/// Code that reverses the path in the subtree. RDI: the node; RAX: its old parent; RDX, RBX, R8, RCX and R14: its new
/// parent, arc, flow, size and orientation; R15: the size of the subtree.
pub struct ReverseCode {
    pub enter: BlockId,
    pub node: BlockId,
    pub after: BlockId,
    pub before: BlockId,
    pub first: BlockId,
    pub unlink: BlockId,
    pub hang: BlockId,
    pub behind: BlockId,
    pub join: BlockId,
}

impl ReverseCode {
    fn declare(emit: &mut Emitter) -> ReverseCode {
        ReverseCode {
            enter: emit.declare(Listing::new().lea(R14, &[R13]).lea(R15, &[RCX])),
            node: emit.declare(
                Listing::new().load(8, RAX, &[RDI]).load(8, RSI, &[RDI]).load(8, RBP, &[RDI]).compare(&[RSI]).branch(),
            ),
            after: emit.declare(Listing::new().store(8, &[RBP], &[RSI])),
            before: emit.declare(Listing::new().compare(&[RBP]).branch()),
            first: emit.declare(Listing::new().lea(RBP, &[RAX])),
            unlink: emit.declare(Listing::new().store(8, &[RSI], &[RBP])),
            hang: emit.declare({
                let code = Listing::new().load(8, RSI, &[RDX]).store(8, &[RDX], &[RDI]).store(8, &[RSI], &[RDI]);
                code.store(8, &[], &[RDI]).compare(&[RSI]).branch()
            }),
            behind: emit.declare(Listing::new().store(8, &[RDI], &[RSI])),
            join: emit.declare(join()),
        }
    }
}

/// Code for the remaining cycle on one side. RDX: number of nodes that the subtrees on it gain.
pub struct PushCode {
    pub enter: BlockId,
    pub node: BlockId,
}

impl PushCode {
    fn declare(emit: &mut Emitter, node: Reg) -> PushCode {
        PushCode {
            enter: emit.declare(Listing::new().compare(&[node, R12]).branch()),
            node: emit.declare({
                let code = Listing::new().update(4, &[RDX], &[node]).lea(RCX, &[R10]).alu(RAX, &[R10]);
                let code = code
                    .compare_load(4, &[], &[node])
                    .lea(RCX, &[RCX, RAX, Reg::FLAGS])
                    .update(8, &[RCX], &[node])
                    .load(8, node, &[node]);
                code.compare(&[node, R12]).branch()
            }),
        }
    }
}

/// Updates the states of both arcs, the flow of the entering one and the difference of potentials. Conditional moves
/// select the end of the entering arc that is in the subtree.
fn leave() -> Listing {
    let code = Listing::new().compare(&[R13]).lea(RDI, &[RSI, R14, Reg::FLAGS]).lea(RDX, &[RSI, R14, Reg::FLAGS]);
    let code = code.store(8, &[RDX], &[RSP]).load(4, RCX, &[R11]).load(8, RAX, &[R11]);
    let code = code.compare_load(4, &[R13], &[R11]).lea(R8, &[Reg::FLAGS]).store(8, &[R8], &[RAX]);
    let code = code.compare_load(8, &[RDI], &[RBX]).alu(R9, &[RBP]).lea(RBP, &[RBP, R9, Reg::FLAGS]);
    let code = code.load(8, RAX, &[RBX]).load(8, R8, &[RBX]).alu(R8, &[R8, R10]).compare(&[RAX]);
    code.lea(R8, &[R8, R10, Reg::FLAGS]).store(8, &[], &[RBX]).lea(RAX, &[R11])
}

/// Joins a node to its new parent, and prepares the node's old arc, flow and orientation for its old parent.
fn join() -> Listing {
    let code = Listing::new().store(8, &[RDI], &[RDX]).load(8, RSI, &[RDI]).load(8, RBP, &[RDI]);
    let code = code.load(4, R9, &[RDI]).load(4, RDX, &[RDI]).store(8, &[RBX], &[RDI]).store(8, &[R8], &[RDI]);
    let code = code.store(4, &[RCX], &[RDI]).store(4, &[R14], &[RDI]).lea(RBX, &[RSI]).lea(R8, &[RBP, R10]);
    let code = code.alu(RBP, &[RBP, R10]).alu(RCX, &[R15, R9]).alu(R14, &[RDX]).compare(&[RDX, R13]);
    let code = code.lea(R8, &[R8, RBP, Reg::FLAGS]).lea(RDX, &[RDI]).compare(&[RDI, R11]);
    code.lea(RDI, &[RAX]).branch()
}
