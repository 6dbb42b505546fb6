//! Operations of the B+-tree: the emitter records each step on the tree's bytes as an access of the program.

use super::super::arena::{Array, ValueAddress};
use super::super::emitter::{ClosedStream, Emitter};
use super::code::{BtreeCode, Descent};
use super::layout::{BtreeNode, LEAF, MAX_KEYS, NODE_BYTES, RING_WORDS};
use super::path::{InsertPath, SPARE_NODES};
use crate::stream::BlockId;

/// First index of the upper half of a full node.
pub const UPPER_HALF: u64 = 8;

/// Addresses of the tree; the arena contains all its bytes.
pub struct ArenaTree<'a> {
    code: &'a BtreeCode,
    root: ValueAddress<u64>,
    /// Word that contains the address of the next new node.
    free: ValueAddress<u64>,
    /// Address of the top of the stack.
    stack: ValueAddress<u64>,
    /// Copied nodes of an insert, for a tree that survives a loss of power.
    path: Option<InsertPath>,
}

impl<'a> ArenaTree<'a> {
    /// Creates a tree of one empty leaf. It takes the remaining arena as it grows.
    pub fn plant(emit: &mut Emitter, code: &'a BtreeCode) -> ArenaTree<'a> {
        let globals: Array<u64> = emit.array(8);
        let stack: Array<u64> = emit.array(8);
        let ring: Option<Array<u64>> = code.durable.as_ref().map(|_| emit.array(RING_WORDS));
        let nodes: Array<u64> = emit.array(NODE_BYTES / 8);
        let leaf = BtreeNode(nodes.at(0).addr);
        let path = ring.map(|ring| InsertPath::new(emit, ring, leaf.0 + NODE_BYTES));
        let in_use = 1 + path.as_ref().map_or(0, |_| SPARE_NODES);
        emit.poke(globals.at(0), leaf.0);
        emit.poke(globals.at(1), leaf.0 + in_use * NODE_BYTES);
        emit.poke(leaf.header(), LEAF);
        ArenaTree { code, root: globals.at(0), free: globals.at(1), stack: stack.at(7), path }
    }

    /// Returns the value of a key.
    pub fn look_up(&self, emit: &mut Emitter, key: u64) -> Result<Option<u64>, ClosedStream> {
        let code = &self.code.look_up;
        emit.block(code.enter)?;
        let mut node = BtreeNode(emit.load(self.root));
        loop {
            let (rank, is_leaf) = self.rank(emit, &code.descent, node, key)?;
            if is_leaf {
                emit.block(code.leaf)?;
                if rank == 0 {
                    return Ok(None);
                }
                emit.block(code.check)?;
                if emit.load(node.key(rank - 1)) != key {
                    return Ok(None);
                }
                emit.block(code.hit)?;
                return Ok(Some(emit.load(node.slot(rank - 1))));
            }
            emit.block(code.descend)?;
            node = BtreeNode(emit.load(node.slot(rank)));
        }
    }

    /// Inserts a key that is not in the tree yet.
    pub fn insert(&mut self, emit: &mut Emitter, key: u64, value: u64) -> Result<(), ClosedStream> {
        let code = &self.code.insert;
        let (mut node, is_full) = self.enter(emit, code.enter, self.root)?;
        if is_full {
            node = self.grow(emit, node)?;
        }
        loop {
            let (rank, is_leaf) = self.rank(emit, &code.descent, node, key)?;
            if is_leaf {
                self.put(emit, node, rank, key, value)?;
                return self.commit(emit);
            }
            let (mut child, is_full) = self.enter(emit, code.child, node.slot(rank))?;
            if is_full {
                emit.block(code.full)?;
                emit.store(self.stack, emit.end_of(code.full));
                self.split(emit, node, child, rank)?;
                emit.block(code.choose_half)?;
                if emit.load(node.key(rank)) <= key {
                    emit.block(code.right_half)?;
                    child = BtreeNode(emit.load(node.slot(rank + 1)));
                }
            }
            emit.block(code.descend)?;
            node = child;
        }
    }

    /// Returns the node at `write_entry` for changes by an insert, and true if it is full. In a tree that survives a loss of
    /// power the node is a copy; `write_entry` then points to the copy, unless `write_entry` is the root's word.
    fn enter(
        &mut self,
        emit: &mut Emitter,
        block: BlockId,
        write_entry: ValueAddress<u64>,
    ) -> Result<(BtreeNode, bool), ClosedStream> {
        emit.block(block)?;
        let mut node = BtreeNode(emit.load(write_entry));
        if let Some((path, code)) = self.path.as_mut().zip(self.code.durable.as_ref()) {
            emit.store(self.stack, emit.end_of(block));
            node = path.copy(emit, &code.copy, node, self.stack)?;
            if write_entry.addr == self.root.addr {
                emit.block(code.entered)?;
                path.ends_in(node);
            } else {
                emit.block(code.linked)?;
                emit.store(write_entry, node.0);
            }
        }
        Ok((node, emit.load(node.header()) & MAX_KEYS == MAX_KEYS))
    }

    /// Makes an insert durable if the tree survives a loss of power.
    fn commit(&mut self, emit: &mut Emitter) -> Result<(), ClosedStream> {
        match self.path.as_mut().zip(self.code.durable.as_ref()) {
            Some((path, code)) => path.commit(emit, &code.commit, [self.root, self.free]),
            None => Ok(()),
        }
    }

    /// Returns the number of keys of `node` that are not greater than `key`, and true if `node` is a leaf.
    fn rank(&self, emit: &mut Emitter, code: &Descent, node: BtreeNode, key: u64) -> Result<(u64, bool), ClosedStream> {
        emit.block(code.node)?;
        let header = emit.load(node.header());
        let count = header & MAX_KEYS;
        let mut rank = 0;
        while rank < count {
            emit.block(code.compare)?;
            if emit.load(node.key(rank)) > key {
                break;
            }
            emit.block(code.advance)?;
            rank += 1;
        }
        emit.block(code.kind)?;
        Ok((rank, header & LEAF != 0))
    }

    /// Inserts the key into an ordered leaf: moves the greater keys up first.
    fn put(&self, emit: &mut Emitter, leaf: BtreeNode, rank: u64, key: u64, value: u64) -> Result<(), ClosedStream> {
        let code = &self.code.insert;
        emit.block(code.leaf)?;
        let header = emit.load(leaf.header());
        for index in (rank..header & MAX_KEYS).rev() {
            emit.block(code.shift)?;
            for write_entry in [BtreeNode::key, BtreeNode::slot] {
                let moved = emit.load(write_entry(leaf, index));
                emit.store(write_entry(leaf, index + 1), moved);
            }
        }
        emit.block(code.put)?;
        emit.store(leaf.key(rank), key);
        emit.store(leaf.slot(rank), value);
        emit.store(leaf.header(), header + 1);
        Ok(())
    }

    /// Puts a new root above a full one, and returns the new root.
    fn grow(&mut self, emit: &mut Emitter, old: BtreeNode) -> Result<BtreeNode, ClosedStream> {
        let code = &self.code.insert;
        emit.block(code.grow)?;
        let root = self.allocate(emit);
        emit.store(root.header(), 0);
        emit.store(root.slot(0), old.0);
        match &mut self.path {
            Some(path) => path.ends_in(root),
            None => emit.store(self.root, root.0),
        }
        emit.store(self.stack, emit.end_of(code.grow));
        self.split(emit, root, old, 0)?;
        emit.block(code.grown)?;
        Ok(if self.path.is_some() { root } else { BtreeNode(emit.load(self.root)) })
    }

    /// Moves the upper half of `child` into a new node, and makes it the next child of `parent`. `parent` is not full.
    fn split(
        &mut self,
        emit: &mut Emitter,
        parent: BtreeNode,
        child: BtreeNode,
        position: u64,
    ) -> Result<(), ClosedStream> {
        let code = &self.code.split;
        emit.block(code.enter)?;
        let leaf = emit.load(child.header()) & LEAF;
        let new = self.allocate(emit);
        // The halves of a leaf contain all its keys; an inner node moves its median to its parent.
        let (kept, slots) = if leaf != 0 { (UPPER_HALF, MAX_KEYS) } else { (UPPER_HALF - 1, MAX_KEYS + 1) };
        let separator = emit.load(child.key(kept));
        emit.store(child.header(), kept | leaf);
        emit.store(new.header(), (MAX_KEYS - UPPER_HALF) | leaf);
        for index in UPPER_HALF..MAX_KEYS {
            emit.block(code.copy_key)?;
            let key = emit.load(child.key(index));
            emit.store(new.key(index - UPPER_HALF), key);
        }
        emit.block(code.slots_enter)?;
        for index in UPPER_HALF..slots {
            emit.block(code.copy_slot)?;
            let slot = emit.load(child.slot(index));
            emit.store(new.slot(index - UPPER_HALF), slot);
        }
        emit.block(code.shift_enter)?;
        let count = emit.load(parent.header());
        for index in (position..count).rev() {
            emit.block(code.shift)?;
            let key = emit.load(parent.key(index));
            emit.store(parent.key(index + 1), key);
            let slot = emit.load(parent.slot(index + 1));
            emit.store(parent.slot(index + 2), slot);
        }
        emit.block(code.write_entry)?;
        emit.store(parent.key(position), separator);
        emit.store(parent.slot(position + 1), new.0);
        emit.store(parent.header(), count + 1);
        emit.load(self.stack);
        Ok(())
    }

    /// Takes the next free node, by the accesses of the current block that `code.rs` lists for an allocation.
    fn allocate(&mut self, emit: &mut Emitter) -> BtreeNode {
        if let Some(path) = &mut self.path {
            return path.take(emit);
        }
        let node = emit.load(self.free);
        emit.store(self.free, node + NODE_BYTES);
        BtreeNode(node)
    }
}
