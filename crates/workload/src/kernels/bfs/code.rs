//! The static code of the graph's construction and of the search, in the order in which it lies in memory.
//!
//! RSI: edges or neighbours; RBX: offsets; RBP: cursors; RDI: parents; R12: queue; RCX and R9: the running index and its
//! limit; R13 and R14: head and tail of the queue.

use super::super::emitter::Emitter;
use super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;

pub struct Code {
    pub count: BlockId,
    pub prefix_enter: BlockId,
    pub prefix: BlockId,
    pub scatter_enter: BlockId,
    pub scatter: BlockId,
    pub clear_enter: BlockId,
    pub clear: BlockId,
    pub root: BlockId,
    pub vertex: BlockId,
    pub neighbour: BlockId,
    pub visit: BlockId,
    pub advance: BlockId,
    pub next: BlockId,
    pub search_end: BlockId,
}

impl Code {
    pub fn declare(emit: &mut Emitter) -> Code {
        let last = |code: Listing| code.alu(RCX, &[RCX]).compare(&[RCX, R9]).branch();
        let count = Listing::new().load(4, RAX, &[RSI, RCX]).update(8, &[], &[RBX, RAX]);
        let count = count.load(4, RAX, &[RSI, RCX]).update(8, &[], &[RBX, RAX]);
        let prefix = Listing::new().alu_load(8, RAX, &[RAX], &[RBX, RCX]).store(8, &[RAX], &[RBX, RCX]);
        let scatter = Listing::new().load(4, RAX, &[R15, RCX]).load(4, RDX, &[R15, RCX]);
        let put = |code: Listing, from, to| {
            let code = code.load(8, R10, &[RBP, from]).store(4, &[to], &[RSI, R10]);
            code.alu(R10, &[R10]).store(8, &[R10], &[RBP, from])
        };
        let vertex = Listing::new().load(4, RAX, &[R12, R13]).load(8, RCX, &[RBX, RAX]).load(8, R9, &[RBX, RAX]);
        let neighbour = Listing::new().load(4, RDX, &[RSI, RCX]).compare_load(4, &[], &[RDI, RDX]).branch();
        let visit = Listing::new().store(4, &[RAX], &[RDI, RDX]).store(4, &[RDX], &[R12, R14]).alu(R14, &[R14]);
        Code {
            count: emit.declare(last(count)),
            prefix_enter: emit.declare(Listing::new().alu(RAX, &[]).alu(RCX, &[])),
            prefix: emit.declare(last(prefix.store(8, &[RAX], &[RBP, RCX]))),
            scatter_enter: emit.declare(Listing::new().lea(R15, &[]).lea(R9, &[]).alu(RCX, &[])),
            scatter: emit.declare(last(put(put(scatter, RAX, RDX), RDX, RAX))),
            clear_enter: emit.declare(Listing::new().lea(RDX, &[]).lea(R9, &[]).alu(RCX, &[])),
            clear: emit.declare(last(Listing::new().store(8, &[RDX], &[RDI, RCX]))),
            root: emit.declare({
                let code = Listing::new().store(4, &[RAX], &[RDI, RAX]).store(4, &[RAX], &[R12]);
                code.alu(R13, &[]).lea(R14, &[])
            }),
            vertex: emit.declare(vertex.compare(&[RCX, R9]).branch()),
            neighbour: emit.declare(neighbour),
            visit: emit.declare(visit),
            advance: emit.declare(last(Listing::new())),
            next: emit.declare(Listing::new().alu(R13, &[R13]).compare(&[R13, R14]).branch()),
            search_end: emit.declare(Listing::new().alu(R8, &[R8]).branch()),
        }
    }
}
