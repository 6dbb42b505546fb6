//! The verification buffer, through which an operating system loads records onto the chip (Duc and Keryell, ACSAC 2006,
//! section 2.5). It has a line for each depth of the tree. The line holds a node and its sibling until HashCheck
//! verifies them.

use super::leaf::Leaf;
use super::merkle_cache::VerifiedPair;
use super::node::Pair;
use crate::slot::Slot;
use std::rc::Rc;

/// A node of the tree, as LoadNode names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeName {
    /// Depth below the root; records are deepest.
    pub depth: usize,
    /// Position from the left, among the nodes of its depth.
    pub position: u64,
}

impl NodeName {
    /// Returns the name of the node above this one.
    pub fn parent(self) -> NodeName {
        NodeName { depth: self.depth - 1, position: self.position / 2 }
    }

    /// Returns this node and those above it, up to just below the root.
    pub fn path(self) -> impl Iterator<Item = NodeName> {
        std::iter::successors(Some(self), |name| (name.depth > 1).then(|| name.parent()))
    }
}

/// Result of the LoadNode instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadNode {
    /// The chip has the node: LoadNode loads no line, and sets the status flag.
    OnChip,
    /// The node and its sibling are in the line of their depth.
    Loaded,
    /// The tree has no node of this name, or memory has no line at this address: LoadNode loads no line.
    Nowhere,
}

/// Result of HashCheck, unless it raises the security exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashCheck<R> {
    /// The line is empty: the status flag is set.
    Empty,
    /// The nodes are in the Merkle cache.
    Nodes,
    /// The record with this number is on the chip.
    Record(u64, R),
}

/// Two children of one parent.
#[derive(Clone)]
pub(super) enum Siblings {
    /// Nodes, and true if the remaining bytes of their line are zeros.
    Nodes(Pair, bool),
    /// Two records of a pair.
    Records(Rc<[Leaf; 2]>),
}

impl Siblings {
    /// Returns whether the bytes of their lines that the hash does not cover are zeros.
    pub fn spare_is_zero(&self) -> bool {
        match self {
            Siblings::Nodes(_, spare_is_zero) => *spare_is_zero,
            Siblings::Records(leaves) => leaves.iter().all(Leaf::spare_is_zero),
        }
    }

    /// Returns the siblings without the remaining bytes of their lines.
    pub fn pair(&self) -> VerifiedPair {
        match self {
            Siblings::Nodes(pair, _) => VerifiedPair::Nodes(*pair),
            Siblings::Records(leaves) => VerifiedPair::Records(Rc::clone(leaves)),
        }
    }
}

/// A line of the buffer that is in use.
#[derive(Clone)]
pub(super) struct Loaded {
    /// Node that was requested.
    pub name: NodeName,
    /// Address that the operating system gave for the node.
    pub address: Slot,
    pub siblings: Siblings,
}

/// Verification buffer with its lines.
#[derive(Clone, Default)]
pub(super) struct VerificationBuffer(Vec<Option<Loaded>>);

impl VerificationBuffer {
    /// Returns lines of the depths 1 to `depth`, all empty.
    pub fn new(depth: usize) -> VerificationBuffer {
        VerificationBuffer(vec![None; depth])
    }

    /// Number of lines of the buffer.
    pub fn lines(&self) -> usize {
        self.0.len()
    }

    fn line(&mut self, depth: usize) -> Option<&mut Option<Loaded>> {
        self.0.get_mut(depth.checked_sub(1)?)
    }

    /// Puts a node with its sibling into the line of its depth. Returns whether the buffer has that line.
    pub fn put(&mut self, loaded: Loaded) -> bool {
        let line = self.line(loaded.name.depth);
        line.map(|line| *line = Some(loaded)).is_some()
    }

    /// Empties the line of a depth, and returns its content.
    pub fn take(&mut self, depth: usize) -> Option<Loaded> {
        self.line(depth)?.take()
    }

    /// Returns the line that has this node or its sibling.
    pub fn with(&self, name: NodeName) -> Option<&Loaded> {
        let loaded = self.0.get(name.depth.checked_sub(1)?)?.as_ref()?;
        (loaded.name.position / 2 == name.position / 2).then_some(loaded)
    }

    /// Empties all lines of the buffer.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|line| *line = None);
    }
}
