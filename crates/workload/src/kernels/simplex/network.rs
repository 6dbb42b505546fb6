//! A network with supplies, and its records in memory.
//!
//! ```text
//! node: potential │ parent │ child │ sibling │ previous sibling │ basic arc │ its flow │ subtree size, orientation
//! arc:  cost │ tail │ head │ state │ capacity │ flow │ two unused words
//! ```
//!
//! A record of either kind fills a line; mcf's records nearly do. mcf keeps lists of arcs in the unused words.

use super::super::arena::{Array, ValueAddress};
use super::super::emitter::Emitter;
use units::LINE_BYTES;
use units::random::Random;

/// Costs per unit of flow are below this number.
pub const COSTS: u64 = 10_000;
/// Largest capacity of an arc.
pub const CAPACITY: u64 = 50;
/// One arc in this number has flow in the solution that makes a drawn network feasible.
const USED_ARCS: u64 = 4;
/// Capacity of an artificial arc: it never limits a flow.
const UNLIMITED: i64 = 1 << 56;

/// Words of a record.
const RECORD_WORDS: u64 = LINE_BYTES as u64 / 8;
/// Size of a record, in bytes.
pub const RECORD_BYTES: u64 = LINE_BYTES as u64;

/// State of an arc outside the tree without flow. A state is the sign of the reduced costs that keep the arc optimal.
pub const AT_LOWER: i64 = 1;
/// State of an arc of the tree.
pub const BASIC: i64 = 0;
/// State of an arc outside the tree with a flow equal to its capacity.
pub const AT_UPPER: i64 = -1;

/// Orientation of a basic arc from the node to its parent.
pub const UP: u32 = 1;
/// Orientation of a basic arc from the parent to the node.
pub const DOWN: u32 = 0;

/// An arc of the problem.
#[derive(Clone, Copy, Debug)]
pub struct ArcData {
    /// Index of the node that the arc leaves.
    pub tail: usize,
    /// Index of the node that the arc enters.
    pub head: usize,
    /// Cost per unit of flow.
    pub cost: i64,
    /// Largest flow, at least one.
    pub capacity: i64,
}

/// A minimum-cost flow problem.
pub struct FlowNetwork {
    /// Flow that enters the network at each node; demands are negative, and the sum is zero.
    pub supplies: Vec<i64>,
    /// The arcs, at least one.
    pub arcs: Vec<ArcData>,
}

impl FlowNetwork {
    /// Draws a random network in which `arcs` arcs leave each node. A random flow determines the supplies, so the
    /// network has a solution.
    pub fn draw(nodes: u64, arcs: u64, random: &mut Random) -> FlowNetwork {
        let mut network =
            FlowNetwork { supplies: vec![0; nodes as usize], arcs: Vec::with_capacity((nodes * arcs) as usize) };
        for index in 0..nodes * arcs {
            let tail = index / arcs;
            let drawn = random.below(nodes - 1);
            // No arc enters the node that it leaves.
            let head = if drawn < tail { drawn } else { drawn + 1 };
            let cost = random.below(COSTS) as i64;
            let capacity = 1 + random.below(CAPACITY) as i64;
            let (tail, head) = (tail as usize, head as usize);
            if random.below(USED_ARCS) == 0 {
                let flow = 1 + random.below(capacity as u64) as i64;
                network.supplies[tail] += flow;
                network.supplies[head] -= flow;
            }
            network.arcs.push(ArcData { tail, head, cost, capacity });
        }
        network
    }

    /// Returns a cost that exceeds the cost of every path without artificial arcs.
    fn artificial_cost(&self) -> i64 {
        let largest = self.arcs.iter().map(|arc| arc.cost).max().unwrap_or(0);
        (largest + 1) * (self.supplies.len() as i64 + 1)
    }
}

/// Address of a node's record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeRecord(pub u64);

impl NodeRecord {
    /// Null pointer: the node has no parent, child or sibling of this kind.
    pub const NONE: NodeRecord = NodeRecord(0);

    /// Address of the dual variable: the price of a unit of flow at this node.
    pub fn potential(self) -> ValueAddress<i64> {
        ValueAddress::at(self.0)
    }

    /// Address of the pointer to the parent.
    pub fn parent(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 8)
    }

    /// Address of the pointer to the first child.
    pub fn child(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 16)
    }

    /// Address of the pointer to the next node with the same parent.
    pub fn sibling(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 24)
    }

    /// Address of the pointer to the previous node with the same parent.
    pub fn previous(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 32)
    }

    /// Address of the pointer to the basic arc between this node and its parent.
    pub fn arc(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 40)
    }

    /// Address of the flow on the basic arc; before the first tree exists, of the node's supply.
    pub fn flow(self) -> ValueAddress<i64> {
        ValueAddress::at(self.0 + 48)
    }

    /// Address of the number of nodes in the subtree of this node, itself included. mcf calls it `depth`.
    pub fn size(self) -> ValueAddress<u32> {
        ValueAddress::at(self.0 + 56)
    }

    /// Address of the orientation of the basic arc: [`UP`] or [`DOWN`].
    pub fn orientation(self) -> ValueAddress<u32> {
        ValueAddress::at(self.0 + 60)
    }
}

/// Address of an arc's record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArcRecord(pub u64);

impl ArcRecord {
    /// Cost per unit of flow.
    pub fn cost(self) -> ValueAddress<i64> {
        ValueAddress::at(self.0)
    }

    /// Address of the pointer to the node that the arc leaves.
    pub fn tail(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 8)
    }

    /// Address of the pointer to the node that the arc enters.
    pub fn head(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 16)
    }

    /// Address of the state: [`AT_LOWER`], [`BASIC`] or [`AT_UPPER`].
    pub fn state(self) -> ValueAddress<i64> {
        ValueAddress::at(self.0 + 24)
    }

    /// Address of the largest flow.
    pub fn capacity(self) -> ValueAddress<i64> {
        ValueAddress::at(self.0 + 32)
    }

    /// Address of the flow in the solution, which the kernel writes at its end.
    pub fn flow(self) -> ValueAddress<i64> {
        ValueAddress::at(self.0 + 40)
    }
}

/// Records of a network in memory.
#[derive(Clone, Copy)]
pub struct NetworkRecords {
    /// Number of nodes without the root.
    pub nodes: u64,
    /// Number of arcs without the artificial ones.
    pub arcs: u64,
    /// Cost of an artificial arc.
    pub artificial_cost: i64,
    /// Root of the tree: a node without supply. An artificial arc joins it to each other node.
    pub root: NodeRecord,
    arc_words: Array<u64>,
    artificial_words: Array<u64>,
    node_pointers: Array<u64>,
}

impl NetworkRecords {
    /// Memory that [`NetworkRecords::allocate`] takes, in bytes.
    pub fn bytes(nodes: u64, arcs: u64) -> u64 {
        let line_ends = 4 * 64;
        RECORD_BYTES * (2 * nodes + 1 + arcs) + 8 * nodes + line_ends
    }

    /// Allocates the records of a network and fills them. Nodes and arcs are in random order, so neighbours in the tree
    /// are on unrelated pages from the start.
    pub fn allocate(emit: &mut Emitter, network: &FlowNetwork, random: &mut Random) -> NetworkRecords {
        let (nodes, arcs) = (network.supplies.len() as u64, network.arcs.len() as u64);
        let node_words: Array<u64> = emit.array(RECORD_WORDS * (nodes + 1));
        let records = NetworkRecords {
            nodes,
            arcs,
            artificial_cost: network.artificial_cost(),
            root: NodeRecord(node_words.at(RECORD_WORDS * nodes).addr),
            arc_words: emit.array(RECORD_WORDS * arcs),
            artificial_words: emit.array(RECORD_WORDS * nodes),
            node_pointers: emit.array(nodes),
        };
        let mut slots: Vec<u64> = (0..nodes).collect();
        random.shuffle(&mut slots);
        let record = |index: usize| NodeRecord(node_words.at(RECORD_WORDS * slots[index]).addr);
        for (index, supply) in network.supplies.iter().enumerate() {
            emit.poke(records.node_pointer(index as u64), record(index).0);
            emit.poke(record(index).flow(), *supply);
        }
        let mut slots: Vec<u64> = (0..arcs).collect();
        random.shuffle(&mut slots);
        for (arc, slot) in network.arcs.iter().zip(slots) {
            let at = records.arc(slot);
            emit.poke(at.cost(), arc.cost);
            emit.poke(at.tail(), record(arc.tail).0);
            emit.poke(at.head(), record(arc.head).0);
            emit.poke(at.capacity(), arc.capacity);
        }
        for index in 0..nodes {
            emit.poke(records.artificial(index).capacity(), UNLIMITED);
        }
        records
    }

    /// Returns the arc at this position in memory.
    pub fn arc(self, position: u64) -> ArcRecord {
        ArcRecord(self.arc_words.at(RECORD_WORDS * position).addr)
    }

    /// Returns the artificial arc of the node with this index.
    pub fn artificial(self, index: u64) -> ArcRecord {
        ArcRecord(self.artificial_words.at(RECORD_WORDS * index).addr)
    }

    /// Returns the address of the pointer to the node with this index.
    pub fn node_pointer(self, index: u64) -> ValueAddress<u64> {
        self.node_pointers.at(index)
    }
}
