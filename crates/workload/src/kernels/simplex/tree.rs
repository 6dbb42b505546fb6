//! Spanning tree: builds it, computes its potentials, and moves a subtree below another node.
//!
//! Source: mcf's `primal_start_artificial`, `refresh_potential` and `update_tree`. A walk over a subtree moves to the
//! first child of a node; without a child, to its sibling; without a sibling, to that of the nearest ancestor with one.
//! Each step is a load that depends on the previous load.

use super::super::arena::ValueAddress;
use super::super::emitter::{ClosedStream, Emitter};
use super::code::pivot::{PushCode, ReverseCode, ShiftCode};
use super::code::{RefreshCode, StartCode};
use super::network::{AT_LOWER, ArcRecord, BASIC, DOWN, NetworkRecords, NodeRecord, UP};

/// Link from the root of a subtree to its parent.
#[derive(Clone, Copy)]
pub struct Joint {
    /// Parent of the subtree's root.
    pub parent: NodeRecord,
    /// Basic arc to the parent.
    pub arc: ArcRecord,
    /// Flow on the arc.
    pub flow: i64,
    /// Orientation of the arc.
    pub orientation: u32,
    /// Number of nodes in the subtree.
    pub size: u32,
}

/// Change of flow along a path of the tree.
#[derive(Clone, Copy)]
pub struct FlowChange {
    /// Amount of the change.
    pub delta: i64,
    /// Orientation of the arcs that gain flow; arcs of the other orientation lose flow.
    pub increases: u32,
    /// Number of nodes that the subtrees of the path gain, modulo 2^32.
    pub growth: u32,
}

impl FlowChange {
    /// Returns the new flow of an arc with this orientation.
    fn of(self, flow: i64, orientation: u32) -> i64 {
        if orientation == self.increases { flow + self.delta } else { flow - self.delta }
    }
}

/// Builds the first tree: an artificial arc between each node and the root carries the node's supply or demand.
/// Arcs without flow lead to the root, so the tree is strongly feasible.
pub fn start(emit: &mut Emitter, code: &StartCode, records: NetworkRecords) -> Result<(), ClosedStream> {
    let root = records.root;
    emit.block(code.enter)?;
    for position in 0..records.arcs {
        emit.block(code.arc)?;
        emit.store(records.arc(position).state(), AT_LOWER);
    }
    emit.block(code.nodes)?;
    let (mut link, mut previous) = (root.child(), NodeRecord::NONE);
    for index in 0..records.nodes {
        emit.block(code.node)?;
        let node = NodeRecord(emit.load(records.node_pointer(index)));
        let supply = emit.load(node.flow());
        if supply < 0 {
            emit.block(code.demand)?;
        }
        let (orientation, tail, head) = if supply < 0 { (DOWN, root, node) } else { (UP, node, root) };
        let arc = records.artificial(index);
        emit.block(code.hang)?;
        emit.store(arc.cost(), records.artificial_cost);
        emit.store(arc.tail(), tail.0);
        emit.store(arc.head(), head.0);
        emit.store(arc.state(), BASIC);
        emit.store(node.parent(), root.0);
        emit.store(node.child(), NodeRecord::NONE.0);
        emit.store(node.previous(), previous.0);
        emit.store(node.arc(), arc.0);
        emit.store(node.flow(), supply.abs());
        emit.store(node.size(), 1);
        emit.store(node.orientation(), orientation);
        emit.store(link, node.0);
        (link, previous) = (node.sibling(), node);
    }
    emit.block(code.end)?;
    emit.store(link, NodeRecord::NONE.0);
    emit.store(root.potential(), 0);
    emit.store(root.size(), records.nodes as u32 + 1);
    Ok(())
}

/// Computes all potentials anew, from the root down. Integer potentials do not change by this, but mcf does it too.
pub fn refresh(emit: &mut Emitter, code: &RefreshCode, root: NodeRecord) -> Result<(), ClosedStream> {
    emit.block(code.enter)?;
    let mut node = NodeRecord(emit.load(root.child()));
    loop {
        emit.block(code.visit)?;
        let parent = NodeRecord(emit.load(node.parent()));
        let arc = ArcRecord(emit.load(node.arc()));
        let above = emit.load(parent.potential());
        let mut cost = emit.load(arc.cost());
        if emit.load(node.orientation()) != UP {
            emit.block(code.down)?;
            cost = -cost;
        }
        emit.block(code.settle)?;
        emit.store(node.potential(), above + cost);
        let mut next = NodeRecord(emit.load(node.child()));
        while next == NodeRecord::NONE {
            emit.block(code.sibling)?;
            next = NodeRecord(emit.load(node.sibling()));
            if next == NodeRecord::NONE {
                emit.block(code.climb)?;
                node = NodeRecord(emit.load(node.parent()));
                if node == root {
                    return emit.block(code.end);
                }
            }
        }
        node = next;
    }
}

/// Adds `difference` to the potentials of the subtree of `top`, `top` included.
pub fn shift(emit: &mut Emitter, code: &ShiftCode, top: NodeRecord, difference: i64) -> Result<(), ClosedStream> {
    let mut node = top;
    loop {
        emit.block(code.visit)?;
        emit.update(node.potential(), |potential| potential + difference);
        let mut next = NodeRecord(emit.load(node.child()));
        while next == NodeRecord::NONE {
            emit.block(code.top)?;
            if node == top {
                return Ok(());
            }
            emit.block(code.sibling)?;
            next = NodeRecord(emit.load(node.sibling()));
            if next == NodeRecord::NONE {
                emit.block(code.climb)?;
                node = NodeRecord(emit.load(node.parent()));
            }
        }
        node = next;
    }
}

/// Makes `node` the root of the subtree of `top`, and moves the subtree below another parent. On the path from `node`
/// to `top`, the basic arc of each node becomes that of its old parent, with its changed flow. Returns the old parent
/// of `top`.
pub fn reverse(
    emit: &mut Emitter,
    code: &ReverseCode,
    [mut node, top]: [NodeRecord; 2],
    mut joint: Joint,
    change: FlowChange,
) -> Result<NodeRecord, ClosedStream> {
    let all = joint.size;
    emit.block(code.enter)?;
    loop {
        emit.block(code.node)?;
        let parent = NodeRecord(emit.load(node.parent()));
        unlink(emit, code, node, parent)?;
        emit.block(code.hang)?;
        let first = NodeRecord(emit.load(joint.parent.child()));
        emit.store(node.parent(), joint.parent.0);
        emit.store(node.sibling(), first.0);
        emit.store(node.previous(), NodeRecord::NONE.0);
        if first != NodeRecord::NONE {
            emit.block(code.behind)?;
            emit.store(first.previous(), node.0);
        }
        emit.block(code.join)?;
        emit.store(joint.parent.child(), node.0);
        let arc = ArcRecord(emit.load(node.arc()));
        let flow = emit.load(node.flow());
        let size = emit.load(node.size());
        let orientation = emit.load(node.orientation());
        emit.store(node.arc(), joint.arc.0);
        emit.store(node.flow(), joint.flow);
        emit.store(node.size(), joint.size);
        emit.store(node.orientation(), joint.orientation);
        if node == top {
            return Ok(parent);
        }
        let flow = change.of(flow, orientation);
        joint = Joint { parent: node, arc, flow, orientation: UP + DOWN - orientation, size: all - size };
        node = parent;
    }
}

/// Takes a node from the list of its parent's children.
fn unlink(emit: &mut Emitter, code: &ReverseCode, node: NodeRecord, parent: NodeRecord) -> Result<(), ClosedStream> {
    let sibling = NodeRecord(emit.load(node.sibling()));
    let previous = NodeRecord(emit.load(node.previous()));
    if sibling != NodeRecord::NONE {
        emit.block(code.after)?;
        emit.store(sibling.previous(), previous.0);
    }
    emit.block(code.before)?;
    let link: ValueAddress<u64> = if previous == NodeRecord::NONE {
        emit.block(code.first)?;
        parent.child()
    } else {
        previous.sibling()
    };
    emit.block(code.unlink)?;
    emit.store(link, sibling.0);
    Ok(())
}

/// Changes flows and subtree sizes from `node` up to `end`, without `end`.
pub fn push(
    emit: &mut Emitter,
    code: &PushCode,
    [mut node, end]: [NodeRecord; 2],
    change: FlowChange,
) -> Result<(), ClosedStream> {
    emit.block(code.enter)?;
    while node != end {
        emit.block(code.node)?;
        emit.update(node.size(), |size| size.wrapping_add(change.growth));
        let orientation = emit.load(node.orientation());
        emit.update(node.flow(), |flow| change.of(flow, orientation));
        node = NodeRecord(emit.load(node.parent()));
    }
    Ok(())
}
