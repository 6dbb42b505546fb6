//! The verification buffer, through which an operating system brings records to the chip (Duc and Keryell, ACSAC 2006, section
//! 2.5): a line for each depth of the tree, in which a node and its sibling wait until they are checked.

use super::leaf::Leaf;
use super::node::Pair;
use crate::slot::Slot;

/// A node of the tree, as LoadNode names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeName {
    /// Levels below the root; records are deepest.
    pub depth: usize,
    /// From the left, among the nodes of its depth.
    pub position: u64,
}

impl NodeName {
    /// The node above it.
    pub fn parent(self) -> NodeName {
        NodeName { depth: self.depth - 1, position: self.position / 2 }
    }

    /// This node and those above it, up to just below the root.
    pub fn path(self) -> impl Iterator<Item = NodeName> {
        std::iter::successors(Some(self), |name| (name.depth > 1).then(|| name.parent()))
    }
}

/// What LoadNode says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadNode {
    /// The chip has the node: nothing is loaded, and the status flag is set.
    OnChip,
    /// The node and its sibling are in the line of their depth.
    Loaded,
    /// There is no such node, or no such address: nothing is loaded.
    Nowhere,
}

/// What HashCheck says, unless it raises the security exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashCheck<R> {
    /// The line has nothing: the status flag is set.
    Empty,
    /// The nodes are in the cache of nodes.
    Nodes,
    /// The record with this number is on the chip.
    Record(u64, R),
}

/// Two children of one parent.
#[derive(Clone)]
pub(super) enum Siblings {
    /// Nodes, and whether the rest of their line is zeros.
    Nodes(Pair, bool),
    /// Records.
    Records(Box<[Leaf; 2]>),
}

impl Siblings {
    /// Whether what their hash leaves out of their lines is zeros.
    pub fn spare_is_zero(&self) -> bool {
        match self {
            Siblings::Nodes(_, spare_is_zero) => *spare_is_zero,
            Siblings::Records(leaves) => leaves.iter().all(Leaf::spare_is_zero),
        }
    }
}

/// A line of the buffer that has something.
#[derive(Clone)]
pub(super) struct Loaded {
    /// Which node was asked for.
    pub name: NodeName,
    /// Where the operating system said that it lies.
    pub address: Slot,
    pub siblings: Siblings,
}

/// The buffer.
#[derive(Clone, Default)]
pub(super) struct VerificationBuffer(Vec<Option<Loaded>>);

impl VerificationBuffer {
    /// Lines of the depths 1 to `depth`, all empty.
    pub fn new(depth: usize) -> VerificationBuffer {
        VerificationBuffer(vec![None; depth])
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        self.0.len()
    }

    fn line(&mut self, depth: usize) -> Option<&mut Option<Loaded>> {
        self.0.get_mut(depth.checked_sub(1)?)
    }

    /// Puts a node with its sibling into the line of its depth. Whether there is one.
    pub fn put(&mut self, loaded: Loaded) -> bool {
        let line = self.line(loaded.name.depth);
        line.map(|line| *line = Some(loaded)).is_some()
    }

    /// Empties the line of a depth.
    pub fn take(&mut self, depth: usize) -> Option<Loaded> {
        self.line(depth)?.take()
    }

    /// The line that has this node or its sibling.
    pub fn with(&self, name: NodeName) -> Option<&Loaded> {
        let loaded = self.0.get(name.depth.checked_sub(1)?)?.as_ref()?;
        (loaded.name.position / 2 == name.position / 2).then_some(loaded)
    }

    /// Empties all lines.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|line| *line = None);
    }
}
