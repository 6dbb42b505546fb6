//! Static code of the search; it follows the code that builds the graph.
//!
//! RSI: neighbours; RBX: offsets; RDI: parents; R12: queue; RCX and R9: current index and its limit; R13 and R14: head
//! and tail of the queue.

use super::super::emitter::Emitter;
use super::super::graph::code::BuildCode;
use super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;

pub struct BfsCode {
    pub build: BuildCode,
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

impl BfsCode {
    pub fn declare(emit: &mut Emitter) -> BfsCode {
        let vertex = Listing::new().load(4, RAX, &[R12, R13]).load(8, RCX, &[RBX, RAX]).load(8, R9, &[RBX, RAX]);
        let neighbour = Listing::new().load(4, RDX, &[RSI, RCX]).compare_load(4, &[], &[RDI, RDX]).branch();
        let visit = Listing::new().store(4, &[RAX], &[RDI, RDX]).store(4, &[RDX], &[R12, R14]).alu(R14, &[R14]);
        BfsCode {
            build: BuildCode::declare(emit),
            clear_enter: emit.declare(Listing::new().lea(RDX, &[]).lea(R9, &[]).alu(RCX, &[])),
            clear: emit.declare(Listing::new().store(8, &[RDX], &[RDI, RCX]).count_up(RCX, R9)),
            root: emit.declare({
                let code = Listing::new().store(4, &[RAX], &[RDI, RAX]).store(4, &[RAX], &[R12]);
                code.alu(R13, &[]).lea(R14, &[])
            }),
            vertex: emit.declare(vertex.compare(&[RCX, R9]).branch()),
            neighbour: emit.declare(neighbour),
            visit: emit.declare(visit),
            advance: emit.declare(Listing::new().count_up(RCX, R9)),
            next: emit.declare(Listing::new().alu(R13, &[R13]).compare(&[R13, R14]).branch()),
            search_end: emit.declare(Listing::new().alu(R8, &[R8]).branch()),
        }
    }
}
