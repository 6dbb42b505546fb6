//! Greedy colouring of a graph: each vertex in turn takes the first colour that no neighbour has.
//!
//! Source: the sequential greedy algorithm with an array of forbidden colours, Gebremedhin, Manne and Pothen, "What
//! color is your Jacobian?", 2005. Colours count from one; a vertex without a colour has zero. The code does not test
//! for zero, because forbidding it has no effect.

use super::KernelInfo;
use super::arena::{Array, ValueAddress};
use super::emitter::{ClosedStream, Emitter};
use super::graph::code::{BuildCode, row};
use super::graph::{self, Graph, GraphShape, digest};
use super::listing::{Listing, reg::*};
use super::parameters::{self, LOAD_VALUES, SKIP};
use super::program::Program;
use crate::stream::BlockId;
use units::random::Random;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "coloring",
    summary: "greedy colouring of a Kronecker graph: a random load for each neighbour, and a store that depends on it",
    parameters: &[
        graph::scale("20", "log2 of the number of vertices; 20 makes a graph of 76 MB"),
        graph::degree("8"),
        graph::ENDS,
        parameters::repeated("passes", "times that the graph is coloured, each time anew"),
        graph::record(&["color", "all"], "whether the stream begins with the first pass or with building the graph"),
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Coloring { shape: GraphShape::new(settings), passes: settings.number("passes") }),
};

struct Coloring {
    shape: GraphShape,
    passes: u64,
}

#[derive(Clone, Copy)]
struct Colours {
    of_vertices: Array<u32>,
    /// Last step at which a neighbour had the colour. Passes do not restart the steps, so the kernel never clears the
    /// array.
    forbidden: Array<u64>,
}

struct ColoringCode {
    build: BuildCode,
    clear_enter: BlockId,
    clear: BlockId,
    pass: BlockId,
    vertex: BlockId,
    neighbour: BlockId,
    choose_enter: BlockId,
    choose: BlockId,
    next: BlockId,
    pass_end: BlockId,
}

impl Coloring {
    /// Removes the colour of all vertices: four vertices with each store instruction.
    fn clear(&self, emit: &mut Emitter, code: &ColoringCode, colours: Colours) -> Result<(), ClosedStream> {
        emit.block(code.clear_enter)?;
        for vertex in (0..self.shape.vertices).step_by(4) {
            emit.block(code.clear)?;
            for pair in [vertex, vertex + 2] {
                emit.store(ValueAddress::at(colours.of_vertices.at(pair).addr), 0u64);
            }
        }
        Ok(())
    }

    /// Colours all vertices; `step` is the number of vertices that earlier passes have coloured.
    fn colour(
        &self,
        emit: &mut Emitter,
        code: &ColoringCode,
        graph: Graph,
        colours: Colours,
        mut step: u64,
    ) -> Result<(), ClosedStream> {
        let mut begin = 0;
        emit.block(code.pass)?;
        for vertex in 0..self.shape.vertices {
            step += 1;
            emit.block(code.vertex)?;
            let end = graph.end(emit, vertex);
            for index in begin..end {
                emit.block(code.neighbour)?;
                let neighbour = emit.load(graph.neighbours.at(index));
                let colour = emit.load(colours.of_vertices.at(u64::from(neighbour)));
                emit.store(colours.forbidden.at(u64::from(colour)), step);
            }
            let mut colour = 0;
            emit.block(code.choose_enter)?;
            loop {
                colour += 1;
                emit.block(code.choose)?;
                if emit.load(colours.forbidden.at(u64::from(colour))) != step {
                    break;
                }
            }
            emit.block(code.next)?;
            emit.store(colours.of_vertices.at(vertex), colour);
            begin = end;
        }
        Ok(())
    }
}

/// Declares the code. RDI: colours; RBP: forbidden colours; R13 and R14: the vertex and the number of vertices; R15:
/// the step; R10: the colour. Other registers are as in `graph/code.rs`.
fn declare(emit: &mut Emitter) -> ColoringCode {
    let neighbour = Listing::new().load(4, RDX, &[RSI, RCX]).load(4, RDX, &[RDI, RDX]).store(8, &[R15], &[RBP, RDX]);
    let choose = Listing::new().alu(R10, &[R10]).compare_load(8, &[R15], &[RBP, R10]);
    ColoringCode {
        build: BuildCode::declare(emit),
        clear_enter: emit.declare(Listing::new().fp_add(xmm(0), &[]).alu(R13, &[])),
        clear: emit.declare(Listing::new().store(16, &[xmm(0)], &[RDI, R13]).count_up(R13, R14)),
        pass: emit.declare(Listing::new().alu(R13, &[]).alu(RCX, &[])),
        vertex: emit.declare(row(Listing::new().lea(R15, &[R15]))),
        neighbour: emit.declare(neighbour.count_up(RCX, R9)),
        choose_enter: emit.declare(Listing::new().alu(R10, &[])),
        choose: emit.declare(choose.branch()),
        next: emit.declare(Listing::new().store(4, &[R10], &[RDI, R13]).count_up(R13, R14)),
        pass_end: emit.declare(Listing::new().alu(R12, &[R12]).branch()),
    }
}

impl Program for Coloring {
    fn arena_bytes(&self) -> u64 {
        let line_ends = 2 * 64;
        self.shape.arena_bytes() + 4 * self.shape.vertices + 8 * (self.shape.vertices + 1) + line_ends
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let vertices = self.shape.vertices;
        let code = declare(emit);
        let graph = self.shape.build(emit, &code.build, random)?;
        // A vertex has fewer neighbours than the graph has vertices, so with one colour per vertex one is always free.
        let colours = Colours { of_vertices: emit.array(vertices), forbidden: emit.array(vertices + 1) };
        for pass in 0..self.passes {
            self.clear(emit, &code, colours)?;
            self.colour(emit, &code, graph, colours, pass * vertices)?;
            emit.block(code.pass_end)?;
        }
        Ok(digest((0..vertices).map(|vertex| u64::from(emit.peek(colours.of_vertices.at(vertex))))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::kronecker_edges;
    use super::super::testing::run;
    use super::*;
    use std::collections::BTreeSet;

    /// Returns the first free colour of each vertex in turn, from the set of its neighbours' colours.
    fn plain(edges: &[[u32; 2]], vertices: u32) -> Vec<u32> {
        let mut colours = vec![0; vertices as usize];
        for vertex in 0..vertices {
            let across = edges.iter().filter(|edge| edge.contains(&vertex)).flatten();
            let taken: BTreeSet<u32> = across.map(|end| colours[*end as usize]).collect();
            colours[vertex as usize] = (1..).find(|colour| !taken.contains(colour)).unwrap();
        }
        colours
    }

    #[test]
    fn the_colouring_kernel_computes_the_greedy_proper_colouring() {
        let edges: Vec<_> = kronecker_edges(8, 4 << 8, &mut Random::new(13)).collect();
        let colours = plain(&edges, 1 << 8);
        let proper = |&[from, to]: &[u32; 2]| from == to || colours[from as usize] != colours[to as usize];
        assert!(edges.iter().all(proper) && colours.iter().all(|colour| *colour > 0));
        for (record, passes) in [("all", "1"), ("color", "1"), ("color", "3")] {
            let given = [("scale", "8"), ("degree", "4"), ("passes", passes), ("record", record)];
            let expected = digest(colours.iter().map(|colour| u64::from(*colour)));
            assert_eq!(run(&INFO, &given, 13).answer, expected, "{given:?}");
        }
    }
}
