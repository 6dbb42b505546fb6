//! Static code that builds a graph, in memory order, and code that steps through its rows.
//!
//! RSI: edges or neighbours; RBX: offsets; RBP: cursors; RCX and R9: current index and its limit; R13: the vertex.

use super::super::emitter::Emitter;
use super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;

/// Blocks that build a graph.
pub struct BuildCode {
    pub count: BlockId,
    pub prefix_enter: BlockId,
    pub prefix: BlockId,
    pub scatter_enter: BlockId,
    pub scatter: BlockId,
}

impl BuildCode {
    pub fn declare(emit: &mut Emitter) -> BuildCode {
        let count = Listing::new().load(4, RAX, &[RSI, RCX]).update(8, &[], &[RBX, RAX]);
        let count = count.load(4, RAX, &[RSI, RCX]).update(8, &[], &[RBX, RAX]);
        let prefix = Listing::new().alu_load(8, RAX, &[RAX], &[RBX, RCX]).store(8, &[RAX], &[RBX, RCX]);
        let scatter = Listing::new().load(4, RAX, &[R15, RCX]).load(4, RDX, &[R15, RCX]);
        let put = |code: Listing, from, to| {
            let code = code.load(8, R10, &[RBP, from]).store(4, &[to], &[RSI, R10]);
            code.alu(R10, &[R10]).store(8, &[R10], &[RBP, from])
        };
        BuildCode {
            count: emit.declare(count.count_up(RCX, R9)),
            prefix_enter: emit.declare(Listing::new().alu(RAX, &[]).alu(RCX, &[])),
            prefix: emit.declare(prefix.store(8, &[RAX], &[RBP, RCX]).count_up(RCX, R9)),
            scatter_enter: emit.declare(Listing::new().lea(R15, &[]).lea(R9, &[]).alu(RCX, &[])),
            scatter: emit.declare(put(put(scatter, RAX, RDX), RDX, RAX).count_up(RCX, R9)),
        }
    }
}

/// Appends the start of a vertex's row to `code`. The previous row ended at RCX, this one ends at R9; it may be empty.
pub fn row(code: Listing) -> Listing {
    code.load(8, R9, &[RBX, R13]).compare(&[RCX, R9]).branch()
}
