//! Makes an insert survive a loss of power: it changes copies of the nodes, not the nodes themselves.
//!
//! ```text
//! copy each node on the way down, change the copies ─ flush them ─ fence ─ the copy of the root is the root ─ flush ─ fence
//! ```
//! An insert never changes a node that the root reaches, so one store commits it. A ring holds the free nodes: an
//! insert takes nodes from its front and puts the replaced ones at its end. It thus reuses a replaced node only after
//! the copy is durable.

use super::super::arena::{Array, ValueAddress};
use super::super::emitter::{ClosedStream, Emitter};
use super::code::{CommitCode, Copy};
use super::layout::{BtreeNode, NODE_BYTES, RING_WORDS};
use units::LINE_BYTES;

/// Free nodes in the ring between two inserts: more than an insert takes.
pub const SPARE_NODES: u64 = RING_WORDS / 2;

/// Nodes that an insert has allocated, and the ring of free nodes.
pub struct InsertPath {
    ring: Array<u64>,
    /// Number of nodes ever put into the ring, and number of nodes taken from it.
    given: u64,
    taken: u64,
    /// Value of `taken` at the start of the insert.
    began: u64,
    /// New root that the insert will commit.
    root: BtreeNode,
}

impl InsertPath {
    /// Fills the ring with the nodes from address `first` on; no insert is in progress.
    pub fn new(emit: &mut Emitter, ring: Array<u64>, first: u64) -> InsertPath {
        (0..SPARE_NODES).for_each(|index| emit.poke(ring.at(index), first + NODE_BYTES * index));
        InsertPath { ring, given: SPARE_NODES, taken: 0, began: 0, root: BtreeNode(0) }
    }

    /// Takes a free node, by one access of the current block.
    pub fn take(&mut self, emit: &mut Emitter) -> BtreeNode {
        let write_entry = self.write_entry(self.taken);
        self.taken += 1;
        BtreeNode(emit.load(write_entry))
    }

    /// Copies a node, and puts the old one at the end of the ring. The code of the copy is a function with its return
    /// address at `stack`.
    pub fn copy(
        &mut self,
        emit: &mut Emitter,
        code: &Copy,
        old: BtreeNode,
        stack: ValueAddress<u64>,
    ) -> Result<BtreeNode, ClosedStream> {
        emit.block(code.enter)?;
        let new = self.take(emit);
        emit.store(self.write_entry(self.given), old.0);
        self.given += 1;
        for offset in (0..NODE_BYTES).step_by(8) {
            emit.block(code.word)?;
            let word: u64 = emit.load(ValueAddress::at(old.0 + offset));
            emit.store(ValueAddress::at(new.0 + offset), word);
        }
        emit.block(code.leave)?;
        emit.load(stack);
        Ok(new)
    }

    /// Sets the new root of the insert.
    pub fn ends_in(&mut self, root: BtreeNode) {
        self.root = root;
    }

    /// Makes the copies durable, and then the root. Refills the ring from free memory for each node that the tree has
    /// grown by.
    pub fn commit(
        &mut self,
        emit: &mut Emitter,
        code: &CommitCode,
        [root, free]: [ValueAddress<u64>; 2],
    ) -> Result<(), ClosedStream> {
        for taken in self.began..self.taken {
            emit.block(code.node)?;
            let node = emit.load(self.write_entry(taken));
            for line in (0..NODE_BYTES).step_by(LINE_BYTES) {
                emit.block(code.flush)?;
                emit.flush(node + line);
            }
            emit.block(code.next_node)?;
        }
        emit.block(code.switch)?;
        emit.fence();
        emit.store(root, self.root.0);
        emit.flush(root.addr);
        emit.fence();
        self.began = self.taken;
        emit.block(code.enough)?;
        while self.given - self.taken < SPARE_NODES {
            emit.block(code.replenish)?;
            let node = emit.load(free);
            emit.store(free, node + NODE_BYTES);
            emit.store(self.write_entry(self.given), node);
            self.given += 1;
            emit.block(code.enough)?;
        }
        Ok(())
    }

    fn write_entry(&self, number: u64) -> ValueAddress<u64> {
        self.ring.at(number % RING_WORDS)
    }
}
