//! Computes connected components by hooking trees of labels onto each other.
//!
//! Source: Shiloach and Vishkin, "An O(log n) parallel connectivity algorithm", 1982; one thread of it. The form is
//! that of the GAP benchmark suite (Beamer, Asanovic and Patterson, 2015): the lower label always wins, and each round
//! ends by replacing every label by its root.

use super::KernelInfo;
use super::arena::{Array, ValueAddress};
use super::emitter::{ClosedStream, Emitter};
use super::graph::code::{BuildCode, row};
use super::graph::{self, Graph, GraphShape, digest};
use super::listing::{Listing, reg::*};
use super::parameters::{self, LOAD_VALUES, SKIP};
use super::program::Program;
use crate::stream::BlockId;
use isa::Reg;
use units::random::Random;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "components",
    summary: "connected components of a Kronecker graph: random loads that depend on each other, few stores",
    parameters: &[
        graph::scale("20", "log2 of the number of vertices; 20 makes a graph of 76 MB"),
        graph::degree("8"),
        graph::ENDS,
        parameters::repeated("passes", "times that the components are found, each time anew"),
        graph::record(&["label", "all"], "whether the stream begins with the first labels or with building the graph"),
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Components { shape: GraphShape::new(settings), passes: settings.number("passes") }),
};

struct Components {
    shape: GraphShape,
    passes: u64,
}

struct ComponentsCode {
    build: BuildCode,
    begin_enter: BlockId,
    begin: BlockId,
    round: BlockId,
    vertex: BlockId,
    neighbour: BlockId,
    differ: BlockId,
    hook: BlockId,
    advance: BlockId,
    next: BlockId,
    compress_enter: BlockId,
    compress: BlockId,
    shorten: BlockId,
    compressed: BlockId,
    round_end: BlockId,
    pass_end: BlockId,
}

impl Components {
    /// Labels every vertex with its number: four vertices with each store instruction.
    fn begin(&self, emit: &mut Emitter, code: &ComponentsCode, labels: Array<u32>) -> Result<(), ClosedStream> {
        emit.block(code.begin_enter)?;
        for vertex in (0..self.shape.vertices).step_by(4) {
            emit.block(code.begin)?;
            for pair in [vertex, vertex + 2] {
                emit.store(ValueAddress::at(labels.at(pair).addr), (pair + 1) << 32 | pair);
            }
        }
        Ok(())
    }

    /// Hooks the roots of labels that differ at the ends of an edge; returns true if it changed a label.
    fn hook(
        &self,
        emit: &mut Emitter,
        code: &ComponentsCode,
        graph: Graph,
        labels: Array<u32>,
    ) -> Result<bool, ClosedStream> {
        let (mut begin, mut changed) = (0, false);
        emit.block(code.round)?;
        for vertex in 0..self.shape.vertices {
            emit.block(code.vertex)?;
            let end = graph.end(emit, vertex);
            for index in begin..end {
                emit.block(code.neighbour)?;
                let neighbour = emit.load(graph.neighbours.at(index));
                let own = emit.load(labels.at(vertex));
                let other = emit.load(labels.at(u64::from(neighbour)));
                if own != other {
                    let higher = labels.at(u64::from(own.max(other)));
                    emit.block(code.differ)?;
                    if emit.load(higher) == own.max(other) {
                        emit.block(code.hook)?;
                        emit.store(higher, own.min(other));
                        changed = true;
                    }
                }
                emit.block(code.advance)?;
            }
            emit.block(code.next)?;
            begin = end;
        }
        Ok(changed)
    }

    /// Replaces every label by the root of its tree.
    fn compress(&self, emit: &mut Emitter, code: &ComponentsCode, labels: Array<u32>) -> Result<(), ClosedStream> {
        emit.block(code.compress_enter)?;
        for vertex in 0..self.shape.vertices {
            emit.block(code.compress)?;
            let mut label = emit.load(labels.at(vertex));
            let mut above = emit.load(labels.at(u64::from(label)));
            while label != above {
                emit.block(code.shorten)?;
                emit.store(labels.at(vertex), above);
                label = above;
                above = emit.load(labels.at(u64::from(label)));
            }
            emit.block(code.compressed)?;
        }
        Ok(())
    }
}

/// Declares the code. RDI: labels; R13 and R14: the vertex and the number of vertices; RAX: set if a label changed.
/// Other registers are as in `graph/code.rs`.
fn declare(emit: &mut Emitter) -> ComponentsCode {
    let neighbour = Listing::new().load(4, RDX, &[RSI, RCX]).load(4, R8, &[RDI, R13]).load(4, R10, &[RDI, RDX]);
    // Two conditional moves sort the labels into R15 and R11.
    let differ = Listing::new().lea(R11, &[R8]).lea(R15, &[R10]).compare(&[R8, R10]);
    let differ = differ.lea(R11, &[R11, R10, Reg::FLAGS]).lea(R15, &[R15, R8, Reg::FLAGS]);
    let compress = Listing::new().load(4, RDX, &[RDI, R13]).load(4, R8, &[RDI, RDX]);
    let shorten = Listing::new().store(4, &[R8], &[RDI, R13]).lea(RDX, &[R8]).load(4, R8, &[RDI, RDX]);
    ComponentsCode {
        build: BuildCode::declare(emit),
        begin_enter: emit.declare(Listing::new().lea(R13, &[]).fp_add(xmm(0), &[])),
        begin: emit.declare({
            let code = Listing::new().store(16, &[xmm(0)], &[RDI, R13]);
            code.fp_add(xmm(0), &[xmm(0), xmm(1)]).count_up(R13, R14)
        }),
        round: emit.declare(Listing::new().alu(RAX, &[]).alu(R13, &[]).alu(RCX, &[])),
        vertex: emit.declare(row(Listing::new())),
        neighbour: emit.declare(neighbour.compare(&[R8, R10]).branch()),
        differ: emit.declare(differ.compare_load(4, &[R11], &[RDI, R11]).branch()),
        hook: emit.declare(Listing::new().store(4, &[R15], &[RDI, R11]).lea(RAX, &[])),
        advance: emit.declare(Listing::new().count_up(RCX, R9)),
        next: emit.declare(Listing::new().count_up(R13, R14)),
        compress_enter: emit.declare(Listing::new().alu(R13, &[])),
        compress: emit.declare(compress.compare(&[RDX, R8]).branch()),
        shorten: emit.declare(shorten.compare(&[RDX, R8]).branch()),
        compressed: emit.declare(Listing::new().count_up(R13, R14)),
        round_end: emit.declare(Listing::new().compare(&[RAX]).branch()),
        pass_end: emit.declare(Listing::new().alu(R12, &[R12]).branch()),
    }
}

impl Program for Components {
    fn arena_bytes(&self) -> u64 {
        let line_end = 64;
        self.shape.arena_bytes() + 4 * self.shape.vertices + line_end
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = declare(emit);
        let graph = self.shape.build(emit, &code.build, random)?;
        let labels = emit.array(self.shape.vertices);
        for _ in 0..self.passes {
            self.begin(emit, &code, labels)?;
            let mut changed = true;
            while changed {
                changed = self.hook(emit, &code, graph, labels)?;
                self.compress(emit, &code, labels)?;
                emit.block(code.round_end)?;
            }
            emit.block(code.pass_end)?;
        }
        Ok(digest((0..self.shape.vertices).map(|vertex| u64::from(emit.peek(labels.at(vertex))))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::kronecker_edges;
    use super::super::testing::run;
    use super::*;

    /// Returns the lowest vertex of each vertex's component, by textbook disjoint sets.
    fn plain(edges: &[[u32; 2]], vertices: u32) -> Vec<u32> {
        fn root(parents: &[u32], vertex: u32) -> u32 {
            let parent = parents[vertex as usize];
            if parent == vertex { vertex } else { root(parents, parent) }
        }
        let mut parents: Vec<u32> = (0..vertices).collect();
        for edge in edges {
            let roots = edge.map(|end| root(&parents, end));
            parents[roots[0].max(roots[1]) as usize] = roots[0].min(roots[1]);
        }
        (0..vertices).map(|vertex| root(&parents, vertex)).collect()
    }

    #[test]
    fn the_components_kernel_labels_each_component_with_its_lowest_vertex() {
        for (scale, degree, record) in [(8, 4, "all"), (8, 1, "label"), (10, 1, "label"), (3, 1, "label")] {
            let edges: Vec<_> = kronecker_edges(scale, degree << scale, &mut Random::new(13)).collect();
            let labels = plain(&edges, 1 << scale);
            let distinct = (0..).zip(&labels).filter(|(vertex, label)| vertex == *label).count();
            assert!(distinct > 1 && distinct < 1 << scale, "{distinct} components: nothing to tell apart");
            let texts = [scale.to_string(), degree.to_string()];
            let given = [("scale", &*texts[0]), ("degree", &*texts[1]), ("passes", "2"), ("record", record)];
            assert_eq!(run(&INFO, &given, 13).answer, digest(labels.into_iter().map(u64::from)), "{given:?}");
        }
    }
}
