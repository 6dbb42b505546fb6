//! Static code of the B+-tree, in memory order.
//!
//! RSI is the node, RDI the key, RCX the rank or the index, and R9 the number of keys. RBX points to the tree's
//! globals, R12 to the child and R13 to the new node.

use super::super::emitter::Emitter;
use super::super::listing::{Listing, reg::*};
use crate::stream::BlockId;
use isa::Reg;

pub struct BtreeCode {
    pub choose: BlockId,
    pub look_up: LookUp,
    pub insert: Insert,
    /// Additional blocks of an insert into a tree that survives a loss of power.
    pub durable: Option<DurableBtreeCode>,
    pub next: BlockId,
    pub split: SplitCode,
}

/// Counts the keys of a node that are not greater than the requested one.
pub struct Descent {
    pub node: BlockId,
    pub compare: BlockId,
    pub advance: BlockId,
    pub kind: BlockId,
}

pub struct LookUp {
    pub enter: BlockId,
    pub descent: Descent,
    pub descend: BlockId,
    pub leaf: BlockId,
    pub check: BlockId,
    pub hit: BlockId,
}

pub struct Insert {
    pub enter: BlockId,
    pub grow: BlockId,
    pub grown: BlockId,
    pub descent: Descent,
    pub child: BlockId,
    pub full: BlockId,
    pub choose_half: BlockId,
    pub right_half: BlockId,
    pub descend: BlockId,
    pub leaf: BlockId,
    pub shift: BlockId,
    pub put: BlockId,
}

pub struct DurableBtreeCode {
    /// Reads the header of the copied root.
    pub entered: BlockId,
    /// Links a copied child into its parent and reads the header of the child.
    pub linked: BlockId,
    pub commit: CommitCode,
    pub copy: Copy,
}

/// Blocks that copy a node.
pub struct Copy {
    pub enter: BlockId,
    pub word: BlockId,
    pub leave: BlockId,
}

/// Makes the copies durable, and then the root.
pub struct CommitCode {
    pub node: BlockId,
    pub flush: BlockId,
    pub next_node: BlockId,
    pub switch: BlockId,
    pub enough: BlockId,
    pub replenish: BlockId,
}

pub struct SplitCode {
    pub enter: BlockId,
    pub copy_key: BlockId,
    pub slots_enter: BlockId,
    pub copy_slot: BlockId,
    pub shift_enter: BlockId,
    pub shift: BlockId,
    pub write_entry: BlockId,
}

impl BtreeCode {
    /// Declares the code of a tree; with `durable`, of one that survives a loss of power.
    pub fn declare(emit: &mut Emitter, durable: bool) -> BtreeCode {
        let copy = durable.then(|| Copy::declare(emit));
        let (choose, look_up) = (emit.declare(choose()), LookUp::declare(emit));
        let (insert, durable) = Insert::declare(emit, copy);
        BtreeCode {
            choose,
            look_up,
            insert,
            next: emit.declare(Listing::new().alu(R15, &[R15]).branch()),
            split: SplitCode::declare(emit, durable.is_some()),
            durable,
        }
    }
}

/// Draws a random word (RAX), branches on it, and computes the key (RDI): the rounds of SplitMix64, twice.
fn choose() -> Listing {
    let drawn = Listing::new().alu(R14, &[R14]).lea(RAX, &[R14]).mix(RAX, RDX, [R10, R11]);
    let keyed = drawn.mul(RDI, &[RAX, R8]).alu(RDI, &[RDI, RBP]).mix(RDI, RDX, [R10, R11]);
    keyed.mul(RAX, &[RAX]).compare(&[RAX]).branch()
}

/// Moves a word between two nodes or within one.
fn moved(code: Listing, from: Reg, to: Reg) -> Listing {
    code.load(8, RAX, &[from, RCX]).store(8, &[RAX], &[to, RCX])
}

/// Allocates a node: from the free memory with two accesses, or from the ring of free nodes with one.
fn allocate(code: Listing, node: Reg, from_ring: bool) -> Listing {
    if from_ring {
        return code.load(8, node, &[RBX, RBP]).alu(RBP, &[RBP]);
    }
    code.load(8, node, &[RBX]).lea(RAX, &[node]).store(8, &[RAX], &[RBX])
}

/// Tests if a node is full.
fn is_full(code: Listing, node: Reg) -> Listing {
    code.load(8, R8, &[node]).alu(R8, &[R8]).compare(&[R8]).branch()
}

impl Descent {
    fn declare(emit: &mut Emitter) -> Descent {
        Descent {
            node: emit.declare(Listing::new().load(8, R8, &[RSI]).lea(R9, &[R8]).alu(RCX, &[]).alu(R9, &[R9]).branch()),
            compare: emit.declare(Listing::new().compare_load(8, &[RDI], &[RSI, RCX]).branch()),
            advance: emit.declare(Listing::new().count_up(RCX, R9)),
            kind: emit.declare(Listing::new().compare(&[R8]).branch()),
        }
    }
}

impl LookUp {
    fn declare(emit: &mut Emitter) -> LookUp {
        LookUp {
            enter: emit.declare(Listing::new().load(8, RSI, &[RBX])),
            descent: Descent::declare(emit),
            descend: emit.declare(Listing::new().load(8, RSI, &[RSI, RCX]).jump()),
            leaf: emit.declare(Listing::new().compare(&[RCX]).branch()),
            check: emit.declare(Listing::new().compare_load(8, &[RDI], &[RSI, RCX]).branch()),
            hit: emit.declare(Listing::new().alu_load(8, RBP, &[RBP], &[RSI, RCX]).jump()),
        }
    }
}

impl Insert {
    /// Declares an insert. With `copy`, it also returns the blocks that make the insert durable.
    fn declare(emit: &mut Emitter, copy: Option<Copy>) -> (Insert, Option<DurableBtreeCode>) {
        let durable = copy.is_some();
        // A durable tree reads the header after the call that copies the node.
        let entered = |emit: &mut Emitter, code: Listing, node: Reg, linked: Listing| {
            let block = emit.declare(if durable { code.call() } else { is_full(code, node) });
            (block, durable.then(|| emit.declare(is_full(linked, node))))
        };
        let grow = allocate(Listing::new(), RDX, durable).store(8, &[], &[RDX]).store(8, &[RSI], &[RDX]);
        let grow = if durable { grow } else { grow.store(8, &[RDX], &[RBX]) };
        let grown = if durable { Listing::new().lea(RSI, &[RDX]) } else { Listing::new().load(8, RSI, &[RBX]) };
        let leaf = Listing::new().load(8, R8, &[RSI]).lea(R9, &[R8]).alu(R9, &[R9]).compare(&[RCX, R9]);
        let put = Listing::new().store(8, &[RDI], &[RSI, RCX]).store(8, &[R14], &[RSI, RCX]);
        let (enter, root_copied) = entered(emit, Listing::new().load(8, RSI, &[RBX]), RSI, Listing::new());
        let (grow, grown) = (emit.declare(grow.call()), emit.declare(grown));
        let descent = Descent::declare(emit);
        let link = Listing::new().store(8, &[R12], &[RSI, RCX]);
        let (child, child_copied) = entered(emit, Listing::new().load(8, R12, &[RSI, RCX]), R12, link);
        let insert = Insert {
            enter,
            grow,
            grown,
            descent,
            child,
            full: emit.declare(Listing::new().lea(RDX, &[RSI]).call()),
            choose_half: emit.declare(Listing::new().compare_load(8, &[RDI], &[RSI, RCX]).branch()),
            right_half: emit.declare(Listing::new().load(8, R12, &[RSI, RCX])),
            descend: emit.declare(Listing::new().lea(RSI, &[R12]).jump()),
            leaf: emit.declare(leaf.branch()),
            shift: emit.declare({
                let code = moved(moved(Listing::new(), RSI, RSI), RSI, RSI);
                code.alu(R9, &[R9]).compare(&[RCX, R9]).branch()
            }),
            put: emit.declare(put.lea(R8, &[R8]).store(8, &[R8], &[RSI])),
        };
        let durable = copy.zip(root_copied.zip(child_copied));
        let durable = durable.map(|(copy, (entered, linked))| DurableBtreeCode {
            entered,
            linked,
            commit: CommitCode::declare(emit),
            copy,
        });
        (insert, durable)
    }
}

impl Copy {
    fn declare(emit: &mut Emitter) -> Copy {
        let enter = allocate(Listing::new(), R13, true).store(8, &[R12], &[RBX, RBP]).alu(RCX, &[]);
        Copy {
            enter: emit.declare(enter),
            word: emit.declare(moved(Listing::new(), R12, R13).count_up(RCX, R9)),
            leave: emit.declare(Listing::new().lea(R12, &[R13]).ret()),
        }
    }
}

impl CommitCode {
    fn declare(emit: &mut Emitter) -> CommitCode {
        let replenish = allocate(Listing::new(), R13, false).store(8, &[R13], &[RBX, RBP]);
        CommitCode {
            node: emit.declare(Listing::new().load(8, RSI, &[RBX, RDX]).alu(RCX, &[])),
            flush: emit.declare(Listing::new().flush(&[RSI, RCX]).count_up(RCX, R9)),
            next_node: emit.declare(Listing::new().count_up(RDX, RBP)),
            switch: emit.declare(Listing::new().fence().store(8, &[R12], &[RBX]).flush(&[RBX]).fence()),
            enough: emit.declare(Listing::new().compare(&[RBP]).branch()),
            replenish: emit.declare(replenish.jump()),
        }
    }
}

impl SplitCode {
    fn declare(emit: &mut Emitter, durable: bool) -> SplitCode {
        let enter = allocate(Listing::new().load(8, R8, &[R12]), R13, durable).alu(R8, &[R8]).load(8, R10, &[R12, R8]);
        let write_entry = Listing::new().store(8, &[R10], &[RDX, RCX]).store(8, &[R13], &[RDX, RCX]).lea(R8, &[R8]);
        SplitCode {
            enter: emit.declare(enter.store(8, &[R8], &[R12]).store(8, &[R8], &[R13]).alu(RCX, &[])),
            copy_key: emit.declare(moved(Listing::new(), R12, R13).count_up(RCX, R9)),
            slots_enter: emit.declare(Listing::new().lea(R9, &[R8]).alu(RCX, &[])),
            copy_slot: emit.declare(moved(Listing::new(), R12, R13).count_up(RCX, R9)),
            shift_enter: emit.declare(Listing::new().load(8, R8, &[RDX]).compare(&[R8]).branch()),
            shift: emit.declare(moved(moved(Listing::new(), RDX, RDX), RDX, RDX).count_up(RCX, R9)),
            write_entry: emit.declare(write_entry.store(8, &[R8], &[RDX]).ret()),
        }
    }
}
