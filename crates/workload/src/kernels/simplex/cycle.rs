//! One pivot: the ratio test on the cycle that the entering arc closes, and the change of basis.
//!
//! Source: mcf's `primal_iminus`, with capacities. The walks go up from both ends of the arc, always from the node with
//! the smaller subtree, so the two walks end at the node where they meet. If several arcs limit the change, the last
//! one leaves, counted from the join in the direction of the cycle. This keeps the tree strongly feasible, so the
//! simplex method cannot cycle: Cunningham, "A network simplex method", Mathematical Programming 11, 1976.

use super::super::arena::ValueAddress;
use super::super::emitter::{ClosedStream, Emitter};
use super::code::pivot::{LimitCode, PivotCode};
use super::network::{AT_LOWER, AT_UPPER, ArcRecord, BASIC, DOWN, NodeRecord, UP};
use super::pricing::Entering;
use super::tree::{FlowChange, Joint, push, reverse, shift};

/// On each side of the cycle, the orientation of arcs that gain flow: flow moves down to the first end and up from the
/// second.
const INCREASES: [u32; 2] = [DOWN, UP];

/// Node below the arc that leaves the tree, and the node's side of the cycle.
#[derive(Clone, Copy)]
struct LeavingArc {
    node: NodeRecord,
    /// Zero on the path from the first end, one on the path from the second.
    side: usize,
}

/// Cycle that an arc closes.
struct Cycle {
    /// Ends of the entering arc, in the direction in which its flow changes.
    ends: [NodeRecord; 2],
    /// Node where the paths from both ends meet.
    join: NodeRecord,
    /// Change of flow around the cycle.
    delta: i64,
    /// Arc that limits the change, unless the entering arc itself does.
    leaving: Option<LeavingArc>,
}

/// Changes the flow around the cycle of the entering arc as far as capacities allow, and exchanges a basic arc.
/// `spill` is a slot on the stack.
pub fn pivot(
    emit: &mut Emitter,
    code: &PivotCode,
    entering: Entering,
    spill: ValueAddress<u64>,
) -> Result<(), ClosedStream> {
    let cycle = ratio(emit, code, entering.arc)?;
    emit.block(code.limited)?;
    let (from, growth) = match cycle.leaving {
        None => {
            emit.block(code.exchange)?;
            emit.update(entering.arc.state(), |state| -state);
            (cycle.ends, [0, 0])
        }
        Some(leaving) => exchange(emit, code, entering, &cycle, leaving, spill)?,
    };
    for side in 0..2 {
        let change = FlowChange { delta: cycle.delta, increases: INCREASES[side], growth: growth[side] };
        push(emit, &code.push[side], [from[side], cycle.join], change)?;
    }
    Ok(())
}

/// Finds the cycle of an arc, its largest change of flow, and the arc that limits it.
fn ratio(emit: &mut Emitter, code: &PivotCode, arc: ArcRecord) -> Result<Cycle, ClosedStream> {
    emit.block(code.ends)?;
    let tail = NodeRecord(emit.load(arc.tail()));
    let head = NodeRecord(emit.load(arc.head()));
    let delta = emit.load(arc.capacity());
    let ends = if emit.load(arc.state()) == AT_LOWER {
        [tail, head]
    } else {
        emit.block(code.backward)?;
        [head, tail]
    };
    let mut cycle = Cycle { ends, join: ends[0], delta, leaving: None };
    let mut nodes = ends;
    emit.block(code.walk.enter)?;
    loop {
        emit.block(code.walk.meet)?;
        if nodes[0] == nodes[1] {
            cycle.join = nodes[0];
            return Ok(cycle);
        }
        emit.block(code.walk.smaller)?;
        let [one, other] = nodes.map(|node| emit.load(node.size()));
        let side = usize::from(one > other);
        nodes[side] = limit(emit, &code.walk.limits[side], LeavingArc { node: nodes[side], side }, &mut cycle)?;
    }
}

/// Records the basic arc of a node as the leaving one if it limits the change; returns the parent.
fn limit(
    emit: &mut Emitter,
    code: &LimitCode,
    candidate: LeavingArc,
    cycle: &mut Cycle,
) -> Result<NodeRecord, ClosedStream> {
    let LeavingArc { node, side } = candidate;
    emit.block(code.flow)?;
    let mut room = emit.load(node.flow());
    if emit.load(node.orientation()) == INCREASES[side] {
        emit.block(code.room)?;
        let arc = ArcRecord(emit.load(node.arc()));
        room = emit.load(arc.capacity()) - room;
    }
    emit.block(code.compare)?;
    // The cycle runs down side 0 and then up side 1: the walk meets its last arc first on side 0, but last on side 1.
    if room < cycle.delta || (room == cycle.delta && side == 1) {
        emit.block(code.take)?;
        (cycle.delta, cycle.leaving) = (room, Some(candidate));
    }
    emit.block(code.up)?;
    Ok(NodeRecord(emit.load(node.parent())))
}

/// Puts the entering arc into the tree in place of the leaving one. On each side, flows above a node remain to be
/// changed: returns these nodes, and the growth of the subtrees above them.
fn exchange(
    emit: &mut Emitter,
    code: &PivotCode,
    entering: Entering,
    cycle: &Cycle,
    leaving: LeavingArc,
    spill: ValueAddress<u64>,
) -> Result<([NodeRecord; 2], [u32; 2]), ClosedStream> {
    let LeavingArc { node: top, side } = leaving;
    let (inner, outer) = (cycle.ends[side], cycle.ends[1 - side]);
    let arc = entering.arc;
    emit.block(code.leave)?;
    emit.store(spill, outer.0);
    let size = emit.load(top.size());
    let old = ArcRecord(emit.load(top.arc()));
    let increased = emit.load(top.orientation()) == INCREASES[side];
    emit.store(old.state(), if increased { AT_UPPER } else { AT_LOWER });
    let up = NodeRecord(emit.load(arc.tail())) == inner;
    let state = emit.load(arc.state());
    let capacity = emit.load(arc.capacity());
    emit.store(arc.state(), BASIC);
    let flow = if state == AT_LOWER { cycle.delta } else { capacity - cycle.delta };
    shift(emit, &code.shift, top, if up { entering.reduced } else { -entering.reduced })?;
    let joint = Joint { parent: outer, arc, flow, orientation: if up { UP } else { DOWN }, size };
    let change = FlowChange { delta: cycle.delta, increases: INCREASES[side], growth: 0 };
    let above = reverse(emit, &code.reverse, [inner, top], joint, change)?;
    emit.block(code.rest)?;
    emit.load(spill);
    let mut rest = ([outer; 2], [size; 2]);
    (rest.0[side], rest.1[side]) = (above, size.wrapping_neg());
    Ok(rest)
}
