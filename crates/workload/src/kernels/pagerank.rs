//! PageRank by pulling: each vertex gathers the contributions of its neighbours.
//!
//! Source: the loop over a matrix of the GAP benchmark suite (Beamer, Asanovic and Patterson, 2015), after Brin and
//! Page, 1998. Ranks are doubles. The kernel runs a given number of iterations, and does not stop at an error bound. A
//! vertex without neighbours does not pass on its rank, as in the suite.

use super::KernelInfo;
use super::arena::Array;
use super::emitter::{ClosedStream, Emitter};
use super::graph::code::{BuildCode, row};
use super::graph::{self, Graph, GraphShape, digest};
use super::listing::{Listing, reg::*};
use super::parameters::{self, LOAD_VALUES, SKIP};
use super::program::Program;
use crate::stream::BlockId;
use isa::Reg;
use units::random::Random;

/// Share of a rank that a vertex passes on.
const DAMPING: f64 = 0.85;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "pagerank",
    summary: "PageRank on a Kronecker graph: a random load and a sum for each neighbour",
    parameters: &[
        graph::scale("20", "log2 of the number of vertices; 20 makes a graph of 88 MB"),
        graph::degree("8"),
        graph::ENDS,
        parameters::repeated("iterations", "times that every rank is computed anew"),
        graph::record(
            &["iterate", "all"],
            "whether the stream begins with the first iteration or with building the graph",
        ),
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| {
        Box::new(PageRank { shape: GraphShape::new(settings), iterations: settings.number("iterations") })
    },
};

struct PageRank {
    shape: GraphShape,
    iterations: u64,
}

#[derive(Clone, Copy)]
struct Ranks {
    ranks: Array<f64>,
    /// Contribution of each vertex to each of its neighbours.
    contributions: Array<f64>,
}

struct PagerankCode {
    build: BuildCode,
    begin_enter: BlockId,
    begin: BlockId,
    contribute_enter: BlockId,
    contribute: BlockId,
    gather_enter: BlockId,
    vertex: BlockId,
    neighbour: BlockId,
    next: BlockId,
    iteration_end: BlockId,
}

impl PageRank {
    /// Stores the initial ranks, two with each store instruction.
    fn begin(&self, emit: &mut Emitter, code: &PagerankCode, Ranks { ranks, .. }: Ranks) -> Result<(), ClosedStream> {
        emit.block(code.begin_enter)?;
        for vertex in (0..self.shape.vertices).step_by(2) {
            emit.block(code.begin)?;
            emit.store(ranks.at(vertex), 1.0 / self.shape.vertices as f64);
            emit.store(ranks.at(vertex + 1), 1.0 / self.shape.vertices as f64);
        }
        Ok(())
    }

    fn contribute(
        &self,
        emit: &mut Emitter,
        code: &PagerankCode,
        graph: Graph,
        all: Ranks,
    ) -> Result<(), ClosedStream> {
        let mut begin = 0;
        emit.block(code.contribute_enter)?;
        for vertex in 0..self.shape.vertices {
            emit.block(code.contribute)?;
            let end = graph.end(emit, vertex);
            // Without neighbours this is infinite, and no vertex gathers it.
            let share = emit.load(all.ranks.at(vertex)) / (end - begin) as f64;
            emit.store(all.contributions.at(vertex), share);
            begin = end;
        }
        Ok(())
    }

    fn gather(&self, emit: &mut Emitter, code: &PagerankCode, graph: Graph, all: Ranks) -> Result<(), ClosedStream> {
        let base = (1.0 - DAMPING) / self.shape.vertices as f64;
        let mut begin = 0;
        emit.block(code.gather_enter)?;
        for vertex in 0..self.shape.vertices {
            emit.block(code.vertex)?;
            let end = graph.end(emit, vertex);
            let mut sum = 0.0;
            for index in begin..end {
                emit.block(code.neighbour)?;
                let neighbour = emit.load(graph.neighbours.at(index));
                sum += emit.load(all.contributions.at(u64::from(neighbour)));
            }
            emit.block(code.next)?;
            emit.store(all.ranks.at(vertex), base + DAMPING * sum);
            begin = end;
        }
        Ok(())
    }
}

/// Declares the code. R12: ranks; RDI: contributions; R13 and R14: the vertex and the number of vertices. Other
/// registers are as in `graph/code.rs`.
fn declare(emit: &mut Emitter) -> PagerankCode {
    const SUM: Reg = xmm(0);
    const DEGREE: Reg = xmm(1);
    const FACTOR: Reg = xmm(2);
    const BASE: Reg = xmm(3);
    let contribute = Listing::new().load(8, R9, &[RBX, R13]).lea(RDX, &[R9]).alu(RDX, &[RDX, RCX]).lea(RCX, &[R9]);
    let contribute = contribute.fp_add(DEGREE, &[RDX]).load(8, SUM, &[R12, R13]).fp_div(SUM, &[SUM, DEGREE]);
    let neighbour = Listing::new().load(4, RDX, &[RSI, RCX]).fp_add_load(8, SUM, &[SUM], &[RDI, RDX]);
    let next = Listing::new().fp_mul(SUM, &[SUM, FACTOR]).fp_add(SUM, &[SUM, BASE]);
    PagerankCode {
        build: BuildCode::declare(emit),
        begin_enter: emit.declare(Listing::new().fp_add(SUM, &[SUM]).alu(R13, &[])),
        begin: emit.declare(Listing::new().store(16, &[SUM], &[R12, R13]).count_up(R13, R14)),
        contribute_enter: emit.declare(Listing::new().alu(R13, &[]).alu(RCX, &[])),
        contribute: emit.declare(contribute.store(8, &[SUM], &[RDI, R13]).count_up(R13, R14)),
        gather_enter: emit.declare(Listing::new().alu(R13, &[]).alu(RCX, &[])),
        vertex: emit.declare(row(Listing::new().fp_add(SUM, &[]))),
        neighbour: emit.declare(neighbour.count_up(RCX, R9)),
        next: emit.declare(next.store(8, &[SUM], &[R12, R13]).count_up(R13, R14)),
        iteration_end: emit.declare(Listing::new().alu(R8, &[R8]).branch()),
    }
}

impl Program for PageRank {
    fn arena_bytes(&self) -> u64 {
        let line_ends = 2 * 64;
        self.shape.arena_bytes() + 8 * (2 * self.shape.vertices) + line_ends
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = declare(emit);
        let graph = self.shape.build(emit, &code.build, random)?;
        let all = Ranks { ranks: emit.array(self.shape.vertices), contributions: emit.array(self.shape.vertices) };
        self.begin(emit, &code, all)?;
        for _ in 0..self.iterations {
            self.contribute(emit, &code, graph, all)?;
            self.gather(emit, &code, graph, all)?;
            emit.block(code.iteration_end)?;
        }
        Ok(digest((0..self.shape.vertices).map(|vertex| emit.peek(all.ranks.at(vertex)).to_bits())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::kronecker_edges;
    use super::super::testing::run;
    use super::*;

    /// Computes ranks by pushing along the list of edges: without rows, and with the sums in the same order.
    fn plain(edges: &[[u32; 2]], vertices: usize, iterations: u64) -> Vec<f64> {
        let both_ways = || edges.iter().flat_map(|&[from, to]| [[from, to], [to, from]]);
        let mut degrees = vec![0.0; vertices];
        both_ways().for_each(|[from, _]| degrees[from as usize] += 1.0);
        let mut ranks = vec![1.0 / vertices as f64; vertices];
        for _ in 0..iterations {
            let mut sums = vec![0.0; vertices];
            for [from, to] in both_ways() {
                sums[to as usize] += ranks[from as usize] / degrees[from as usize];
            }
            ranks = sums.iter().map(|sum| (1.0 - DAMPING) / vertices as f64 + DAMPING * sum).collect();
        }
        ranks
    }

    #[test]
    fn the_pagerank_kernel_equals_a_naive_push_along_every_edge() {
        let edges: Vec<_> = kronecker_edges(8, 4 << 8, &mut Random::new(13)).collect();
        let ranks = plain(&edges, 1 << 8, 3);
        for record in ["all", "iterate"] {
            let given = [("scale", "8"), ("degree", "4"), ("iterations", "3"), ("record", record)];
            assert_eq!(run(&INFO, &given, 13).answer, digest(ranks.iter().map(|rank| rank.to_bits())), "{record}");
        }
    }

    #[test]
    fn an_iteration_loads_two_values_for_each_neighbour() {
        let loads = |iterations| run(&INFO, &[("scale", "6"), ("degree", "4"), ("iterations", iterations)], 5).loads;
        let (vertices, neighbours) = (1 << 6, 2 * (4 << 6));
        assert_eq!(loads("3") - loads("2"), 2 * neighbours + 3 * vertices);
    }
}
