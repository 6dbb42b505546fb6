//! Minimum-cost flow by the primal network simplex method, like mcf.
//!
//! Source: Löbel, "Solving large-scale real-world minimum-cost flow problems by a network simplex method", 1996; mcf of
//! SPEC CPU is its code. The tree consists of node records with links to parent, child and siblings. Every few pivots,
//! a walk along these links over all nodes recomputes all potentials. Each step of the walk is a dependent load from
//! another page. The constants are those of 181.mcf of CPU2000. mcf's arcs have a capacity of one, its networks are
//! timetables, and it generates arcs between solutions. In this kernel capacities vary, the network is random, and all
//! arcs exist from the start.

mod code;
mod cycle;
mod network;
mod pricing;
mod tree;

use super::KernelInfo;
use super::arena::Array;
use super::emitter::{ClosedStream, Emitter};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use code::{FinishCode, SimplexCode};
use network::{AT_UPPER, ArcRecord, FlowNetwork, NetworkRecords, NodeRecord};
use pricing::Pricing;
use units::LINE_BYTES;
use units::random::Random;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "simplex",
    summary: "minimum-cost flow by network simplex, like mcf: walks over a tree whose nodes are scattered over memory",
    parameters: &[
        Parameter {
            name: "nodes",
            kind: ParameterKind::Count { unit: "nodes", min: 2, max: 10_000_000 },
            default: "32_768",
            summary: "nodes of the network; 32768 with eight arcs each take 20 MB",
        },
        Parameter {
            name: "arcs",
            kind: ParameterKind::Count { unit: "arcs", min: 1, max: 64 },
            default: "8",
            summary: "arcs that leave each node",
        },
        Parameter {
            name: "refresh",
            kind: ParameterKind::Count { unit: "pivots", min: 1, max: u64::MAX },
            default: "20",
            summary: "pivots between two walks over the whole tree; 20 in 181.mcf, 200 in 429.mcf",
        },
        Parameter {
            name: "record",
            kind: ParameterKind::Choice(&["pivot", "all"]),
            default: "pivot",
            summary: "whether the stream begins with the first pivot or with building the first tree",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Simplex::new(settings)),
};

struct Simplex {
    nodes: u64,
    arcs: u64,
    refresh: u64,
    record_start: bool,
}

impl Simplex {
    fn new(settings: &Settings) -> Simplex {
        Simplex {
            nodes: settings.number("nodes"),
            arcs: settings.number("arcs"),
            refresh: settings.number("refresh"),
            record_start: settings.word("record") == "all",
        }
    }
}

/// Memory for a network of this size, in bytes.
fn memory_bytes(nodes: u64, arcs: u64) -> u64 {
    NetworkRecords::bytes(nodes, arcs) + Pricing::bytes() + LINE_BYTES as u64
}

/// Solves a network with a refresh of all potentials every `refresh` pivots; returns its records with the optimal
/// flow, and its cost.
fn solve(
    emit: &mut Emitter,
    network: &FlowNetwork,
    refresh: u64,
    record_start: bool,
    random: &mut Random,
) -> Result<(NetworkRecords, u64), ClosedStream> {
    let code = SimplexCode::declare(emit);
    let records = NetworkRecords::allocate(emit, network, random);
    let pricing = Pricing::allocate(emit, records);
    let locals: Array<u64> = emit.array(8);
    let [until_refresh, spill] = [0, 1].map(|index| locals.at(index));
    emit.poke(until_refresh, 1);
    emit.recorded_if(record_start, |emit| tree::start(emit, &code.start, records))?;
    loop {
        emit.block(code.turn)?;
        if emit.update(until_refresh, |pivots| pivots - 1) == 0 {
            tree::refresh(emit, &code.refresh, records.root)?;
            emit.store(until_refresh, refresh);
        }
        let Some(entering) = pricing.choose(emit, &code.price, &code.sort)? else { break };
        cycle::pivot(emit, &code.pivot, entering, spill)?;
        emit.block(code.next)?;
    }
    Ok((records, finish(emit, &code.finish, records)?))
}

/// Writes the flow of each arc into its record; returns the total cost.
fn finish(emit: &mut Emitter, code: &FinishCode, records: NetworkRecords) -> Result<u64, ClosedStream> {
    emit.block(code.enter)?;
    for arc in (0..records.arcs).map(|position| records.arc(position)) {
        emit.block(code.arc)?;
        let capacity = emit.load(arc.capacity());
        let state = emit.load(arc.state());
        emit.store(arc.flow(), if state == AT_UPPER { capacity } else { 0 });
    }
    emit.block(code.nodes)?;
    for index in 0..records.nodes {
        emit.block(code.node)?;
        let node = NodeRecord(emit.load(records.node_pointer(index)));
        let arc = ArcRecord(emit.load(node.arc()));
        let flow = emit.load(node.flow());
        emit.store(arc.flow(), flow);
    }
    let mut sum = 0;
    emit.block(code.sum_enter)?;
    for arc in (0..records.arcs).map(|position| records.arc(position)) {
        emit.block(code.sum)?;
        let flow = emit.load(arc.flow());
        sum += flow * emit.load(arc.cost());
    }
    emit.block(code.end)?;
    Ok(sum.cast_unsigned())
}

impl Program for Simplex {
    fn arena_bytes(&self) -> u64 {
        memory_bytes(self.nodes, self.nodes * self.arcs)
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let network = FlowNetwork::draw(self.nodes, self.arcs, random);
        Ok(solve(emit, &network, self.refresh, self.record_start, random)?.1)
    }
}

#[cfg(test)]
mod tests;
