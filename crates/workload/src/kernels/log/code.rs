//! Static code of the log, in memory order.
//!
//! RBX is the log, RSI the record, RCX the index, R9 its length, R12 the checksum, RBP the salt and R14 the number.

use super::super::emitter::Emitter;
use super::super::listing::{Listing, reg::*};
use super::CommitOrder;
use crate::stream::BlockId;

pub struct LogCode {
    pub choose: BlockId,
    pub turn: BlockId,
    pub header: BlockId,
    pub word: BlockId,
    pub checksum: BlockId,
    pub commit: BlockId,
    /// Blocks that make records and the commit word durable; `None` for the order `unfenced`.
    pub durable: Option<DurableLogCode>,
    pub next: BlockId,
}

pub struct DurableLogCode {
    /// Flushes a line of a record.
    pub flush: BlockId,
    /// Fences the flushes of a record.
    pub fence: BlockId,
    /// Flushes the commit word, and fences the flush.
    pub commit: BlockId,
}

struct Append {
    header: BlockId,
    word: BlockId,
    checksum: BlockId,
    durable: Option<(BlockId, BlockId)>,
}

impl LogCode {
    pub fn declare(emit: &mut Emitter, order: CommitOrder) -> LogCode {
        let choose = emit.declare(choose());
        let turn = emit.declare(Listing::new().alu(RSI, &[RBX, R13]).alu(R13, &[R13]));
        let fenced = order != CommitOrder::Unfenced;
        let (append, (commit, commit_durable)) = if order == CommitOrder::CommitFirst {
            let commit = declare_commit(emit, fenced);
            (Append::declare(emit, fenced), commit)
        } else {
            let append = Append::declare(emit, fenced);
            (append, declare_commit(emit, fenced))
        };
        let durable = append.durable.zip(commit_durable);
        let durable = durable.map(|((flush, fence), commit)| DurableLogCode { flush, fence, commit });
        let Append { header, word, checksum, .. } = append;
        let next = emit.declare(Listing::new().alu(R15, &[R15]).branch());
        LogCode { choose, turn, header, word, checksum, commit, durable, next }
    }
}

/// Draws the length, and tests if the record fits.
fn choose() -> Listing {
    let drawn = Listing::new().alu(R14, &[R14]).lea(RAX, &[R14, RBP]).mix(RAX, RDX, [R10, R11]);
    drawn.mul(R9, &[RAX, R8]).lea(RDX, &[R9, RCX]).compare(&[RDX, R13]).branch()
}

/// Adds a word to the checksum.
fn summed(code: Listing) -> Listing {
    code.alu(R12, &[R12, RAX]).mul(R12, &[R12])
}

impl Append {
    fn declare(emit: &mut Emitter, fenced: bool) -> Append {
        let header = Listing::new().lea(RAX, &[R14, R9]).store(8, &[RAX], &[RSI]).lea(R12, &[]);
        let drawn = Listing::new().lea(RAX, &[RBP, RCX]).mix(RAX, RDX, [R10, R11]);
        let word = summed(drawn.store(8, &[RAX], &[RSI, RCX])).count_up(RCX, R9);
        Append {
            header: emit.declare(summed(header).alu(RCX, &[])),
            word: emit.declare(word),
            checksum: emit.declare(Listing::new().store(8, &[R12], &[RSI, RCX]).lea(RDX, &[RSI])),
            durable: fenced.then(|| {
                let flush = emit.declare(Listing::new().flush(&[RDX]).count_up(RDX, RCX));
                (flush, emit.declare(Listing::new().fence()))
            }),
        }
    }
}

/// Declares the store of the commit word, and the block that makes it durable.
fn declare_commit(emit: &mut Emitter, fenced: bool) -> (BlockId, Option<BlockId>) {
    let store = emit.declare(Listing::new().lea(RAX, &[R14, RDX]).store(8, &[RAX], &[RBX]));
    (store, fenced.then(|| emit.declare(Listing::new().flush(&[RBX]).fence())))
}
