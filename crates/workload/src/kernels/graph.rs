//! Common part of the graph kernels: a graph in compressed sparse rows.
//!
//! The default graph is Graph500's: R-MAT edges (Chakrabarti, Zhan and Faloutsos, 2004) with the benchmark's
//! probabilities and relabelled vertices. A few vertices have very many neighbours, so caches hold them. The other
//! graph has uniformly drawn ends, like the second kind of the GAP benchmark suite (Beamer, Asanovic and Patterson,
//! 2015). A cache then holds only a fraction of the vertices: its size divided by the size of the data. The program
//! builds compressed sparse rows by counting. Every phase after the edge list is part of the program.

pub mod code;

use super::arena::Array;
use super::emitter::{ClosedStream, Emitter};
use super::parameters::{Parameter, ParameterKind, Settings};
use code::BuildCode;
use units::random::{Random, mix};

/// Parameter for the number of vertices, as log2.
pub const fn scale(default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name: "scale", kind: ParameterKind::Count { unit: "address bits", min: 3, max: 26 }, default, summary }
}

/// Parameter for the number of edges, as edges per vertex.
pub const fn degree(default: &'static str) -> Parameter {
    Parameter {
        name: "degree",
        kind: ParameterKind::Count { unit: "edges", min: 1, max: 64 },
        default,
        summary: "edges per vertex, each stored in both directions",
    }
}

/// Distribution of the ends of edges.
pub const ENDS: Parameter = Parameter {
    name: "ends",
    kind: ParameterKind::Choice(&["kronecker", UNIFORM]),
    default: "kronecker",
    summary: "how the ends of edges are drawn: a few vertices have most of them, or all have about as many",
};

const UNIFORM: &str = "uniform";

/// Start of the stream: the kernel's own phase, which is the default, or `all`.
pub const fn record(phases: &'static [&'static str; 2], summary: &'static str) -> Parameter {
    Parameter { name: "record", kind: ParameterKind::Choice(phases), default: phases[0], summary }
}

/// Size of the graph, and the choice to record its construction.
pub struct GraphShape {
    scale: u32,
    /// Number of the graph's vertices.
    pub vertices: u64,
    /// Number of the graph's edges.
    pub edges: u64,
    uniform: bool,
    record_build: bool,
}

/// A graph in compressed sparse rows, with its edge list.
#[derive(Clone, Copy)]
pub struct Graph {
    /// Ends of each edge: pairs of vertices.
    pub edges: Array<u32>,
    /// Index of each vertex's first neighbour, and the end of the last vertex's neighbours.
    pub offsets: Array<u64>,
    /// Index of each vertex's next neighbour during construction.
    cursors: Array<u64>,
    /// Neighbours of each vertex, vertex after vertex.
    pub neighbours: Array<u32>,
}

impl Graph {
    /// Makes the next access of the current block: loads the end of the neighbours of `vertex`, which is the start of
    /// those of the next vertex.
    pub fn end(self, emit: &mut Emitter, vertex: u64) -> u64 {
        emit.load(self.offsets.at(vertex + 1))
    }
}

impl GraphShape {
    /// Returns the shape that [`scale`], [`degree`] and [`record`] select.
    pub fn new(settings: &Settings) -> GraphShape {
        let vertices = 1 << settings.number("scale");
        GraphShape {
            scale: settings.number("scale") as u32,
            vertices,
            edges: vertices * settings.number("degree"),
            uniform: settings.word(ENDS.name) == UNIFORM,
            record_build: settings.word("record") == "all",
        }
    }

    /// Memory that the graph needs, in bytes.
    pub fn arena_bytes(&self) -> u64 {
        let line_ends = 4 * 64;
        // Edges and neighbours, then offsets and cursors.
        4 * (4 * self.edges) + 8 * (2 * (self.vertices + 1)) + line_ends
    }

    /// Takes memory for a graph, draws its edges and builds it, recorded or not.
    ///
    /// # Errors
    /// [`ClosedStream`] if the consumer has closed the stream.
    pub fn build(&self, emit: &mut Emitter, code: &BuildCode, random: &mut Random) -> Result<Graph, ClosedStream> {
        let graph = self.allocate(emit, random);
        emit.recorded_if(self.record_build, |emit| self.fill(emit, code, graph))?;
        Ok(graph)
    }

    fn allocate(&self, emit: &mut Emitter, random: &mut Random) -> Graph {
        let graph = Graph {
            edges: emit.array(2 * self.edges),
            offsets: emit.array(self.vertices + 1),
            cursors: emit.array(self.vertices + 1),
            neighbours: emit.array(2 * self.edges),
        };
        let mut poke = |(edge, [from, to]): (u64, [u32; 2])| {
            emit.poke(graph.edges.at(2 * edge), from);
            emit.poke(graph.edges.at(2 * edge + 1), to);
        };
        if self.uniform {
            (0..).zip(uniform_edges(self.vertices, self.edges, random)).for_each(&mut poke);
        } else {
            (0..).zip(kronecker_edges(self.scale, self.edges, random)).for_each(&mut poke);
        }
        graph
    }

    /// Counts degrees, sums them up, and stores every edge in the rows of both ends.
    fn fill(&self, emit: &mut Emitter, code: &BuildCode, graph: Graph) -> Result<(), ClosedStream> {
        for edge in 0..self.edges {
            emit.block(code.count)?;
            for end in 0..2 {
                let vertex = emit.load(graph.edges.at(2 * edge + end));
                emit.update(graph.offsets.at(u64::from(vertex) + 1), |degree| degree + 1);
            }
        }
        let mut sum = 0;
        emit.block(code.prefix_enter)?;
        for vertex in 0..=self.vertices {
            emit.block(code.prefix)?;
            sum += emit.load(graph.offsets.at(vertex));
            emit.store(graph.offsets.at(vertex), sum);
            emit.store(graph.cursors.at(vertex), sum);
        }
        emit.block(code.scatter_enter)?;
        for edge in 0..self.edges {
            emit.block(code.scatter)?;
            let ends = [emit.load(graph.edges.at(2 * edge)), emit.load(graph.edges.at(2 * edge + 1))];
            for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let cursor = graph.cursors.at(u64::from(from));
                let position = emit.load(cursor);
                emit.store(graph.neighbours.at(position), to);
                emit.store(cursor, position + 1);
            }
        }
        Ok(())
    }
}

/// Returns Graph500's edges: for each bit, draws a quadrant of the adjacency matrix with probability 0.57, 0.19, 0.19
/// and 0.05, and then renames the vertices.
pub fn kronecker_edges(scale: u32, edges: u64, random: &mut Random) -> impl Iterator<Item = [u32; 2]> + use<> {
    const QUADRANTS: [u64; 3] = [57 * ONE_PERCENT, 76 * ONE_PERCENT, 95 * ONE_PERCENT];
    const ONE_PERCENT: u64 = (1 << 32) / 100;
    let mut names: Vec<u32> = (0..1 << scale).collect();
    random.shuffle(&mut names);
    let mut random = Random::new(random.word());
    (0..edges).map(move |_| {
        let mut ends = [0usize; 2];
        for _ in 0..scale {
            let draw = random.word() >> 32;
            let quadrant = QUADRANTS.iter().filter(|bound| draw >= **bound).count();
            ends = [ends[0] << 1 | quadrant >> 1, ends[1] << 1 | quadrant & 1];
        }
        ends.map(|end| names[end])
    })
}

/// Returns edges between uniformly drawn vertices (Erdos and Renyi, 1959).
pub fn uniform_edges(vertices: u64, edges: u64, random: &mut Random) -> impl Iterator<Item = [u32; 2]> + use<> {
    let mut random = Random::new(random.word());
    (0..edges).map(move |_| [0; 2].map(|_: u32| random.below(vertices) as u32))
}

/// Hash of a sequence of values, one per vertex: it depends on each value and on their order.
pub fn digest(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, |sum, value| mix(sum ^ value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of all ends of edges at the sixteenth of 2^12 vertices with the highest degrees.
    fn at_the_top(edges: impl Iterator<Item = [u32; 2]>) -> f64 {
        let mut degrees = vec![0u32; 1 << 12];
        edges.flatten().for_each(|end| degrees[end as usize] += 1);
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        f64::from(degrees[..1 << 8].iter().sum::<u32>()) / f64::from(degrees.iter().sum::<u32>())
    }

    #[test]
    fn kronecker_graphs_concentrate_edges_on_few_vertices_and_uniform_ones_do_not() {
        let (edges, mut random) = (16 << 12, Random::new(1));
        let kronecker = at_the_top(kronecker_edges(12, edges, &mut random));
        let uniform = at_the_top(uniform_edges(1 << 12, edges, &mut random));
        assert!(kronecker > 1.0 / 3.0, "{kronecker}");
        assert!(uniform < 1.5 / 16.0, "{uniform}");
    }
}
