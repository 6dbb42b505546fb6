//! Breadth-first search on a Kronecker graph.
//!
//! The graph is Graph500's: R-MAT edges (Chakrabarti, Zhan and Faloutsos, 2004) with the benchmark's probabilities and
//! relabelled vertices, few of them with very many neighbours. It is built into compressed sparse rows by counting, and
//! searched top-down from random vertices. Every phase after the edge list is part of the program.

mod code;

use super::KernelInfo;
use super::arena::{Array, Place};
use super::emitter::{Emitter, Stopped};
use super::parameters::{Kind, LOAD_VALUES, Parameter, Settings};
use super::program::Program;
use code::Code;
use units::random::Random;

const UNREACHED: u32 = u32::MAX;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "bfs",
    summary: "breadth-first search on a Kronecker graph: short runs of neighbours, then random accesses",
    parameters: &[
        Parameter {
            name: "scale",
            kind: Kind::Count { unit: "address bits", min: 3, max: 26 },
            default: "18",
            summary: "log2 of the number of vertices; 18 makes a graph of 36 MB",
        },
        Parameter {
            name: "degree",
            kind: Kind::Count { unit: "edges", min: 1, max: 64 },
            default: "16",
            summary: "edges per vertex, each stored in both directions",
        },
        Parameter {
            name: "searches",
            kind: Kind::Count { unit: "searches", min: 1, max: u64::MAX },
            default: "1_000",
            summary: "searches, each from another random vertex",
        },
        Parameter {
            name: "record",
            kind: Kind::Choice(&["search", "all"]),
            default: "search",
            summary: "whether the stream begins with the first search or with building the graph",
        },
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Bfs::new(settings)),
};

struct Bfs {
    scale: u32,
    vertices: u64,
    edges: u64,
    searches: u64,
    record_build: bool,
}

#[derive(Clone, Copy)]
struct Graph {
    /// Pairs of vertices.
    edges: Array<u32>,
    /// Where each vertex's neighbours begin, and where the last one's end.
    offsets: Array<u64>,
    /// Where the next neighbour of each vertex goes while the graph is built.
    cursors: Array<u64>,
    neighbours: Array<u32>,
    parents: Array<u32>,
    queue: Array<u32>,
}

impl Bfs {
    fn new(settings: &Settings) -> Bfs {
        let vertices = 1 << settings.number("scale");
        Bfs {
            scale: settings.number("scale") as u32,
            vertices,
            edges: vertices * settings.number("degree"),
            searches: settings.number("searches"),
            record_build: settings.word("record") == "all",
        }
    }

    fn allocate(&self, emit: &mut Emitter, random: &mut Random) -> Graph {
        let graph = Graph {
            edges: emit.array(2 * self.edges),
            offsets: emit.array(self.vertices + 1),
            cursors: emit.array(self.vertices + 1),
            neighbours: emit.array(2 * self.edges),
            parents: emit.array(self.vertices),
            queue: emit.array(self.vertices),
        };
        for (edge, [from, to]) in kronecker_edges(self.scale, self.edges, random).enumerate() {
            emit.poke(graph.edges.at(2 * edge as u64), from);
            emit.poke(graph.edges.at(2 * edge as u64 + 1), to);
        }
        graph
    }

    /// Counts degrees, sums them up, and puts every edge in its place, once in either direction.
    fn build(&self, emit: &mut Emitter, code: &Code, graph: Graph) -> Result<(), Stopped> {
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
                let place = emit.load(cursor);
                emit.store(graph.neighbours.at(place), to);
                emit.store(cursor, place + 1);
            }
        }
        Ok(())
    }

    /// Gives the number of vertices reached; they are the head of the queue.
    fn search(&self, emit: &mut Emitter, code: &Code, graph: Graph, root: u32) -> Result<u64, Stopped> {
        emit.block(code.clear_enter)?;
        for pair in 0..self.vertices / 2 {
            emit.block(code.clear)?;
            emit.store(Place::at(graph.parents.at(2 * pair).addr), u64::MAX);
        }
        emit.block(code.root)?;
        emit.store(graph.parents.at(u64::from(root)), root);
        emit.store(graph.queue.at(0), root);
        let (mut head, mut tail) = (0, 1);
        while head < tail {
            emit.block(code.vertex)?;
            let vertex = emit.load(graph.queue.at(head));
            let begin = emit.load(graph.offsets.at(u64::from(vertex)));
            let end = emit.load(graph.offsets.at(u64::from(vertex) + 1));
            for index in begin..end {
                emit.block(code.neighbour)?;
                let neighbour = emit.load(graph.neighbours.at(index));
                let parent = graph.parents.at(u64::from(neighbour));
                if emit.load(parent) == UNREACHED {
                    emit.block(code.visit)?;
                    emit.store(parent, vertex);
                    emit.store(graph.queue.at(tail), neighbour);
                    tail += 1;
                }
                emit.block(code.advance)?;
            }
            emit.block(code.next)?;
            head += 1;
        }
        emit.block(code.search_end)?;
        Ok(tail)
    }

    /// The sum of the distances from the root of all vertices reached, as the parents tell them.
    fn distances(&self, emit: &Emitter, graph: Graph, reached: u64) -> u64 {
        let mut distance = vec![0u64; self.vertices as usize];
        for vertex in (1..reached).map(|place| emit.peek(graph.queue.at(place))) {
            let parent = emit.peek(graph.parents.at(u64::from(vertex)));
            distance[vertex as usize] = distance[parent as usize] + 1;
        }
        distance.into_iter().sum()
    }
}

/// Graph500's edges: in each bit, a quadrant of the adjacency matrix is chosen with probability 0.57, 0.19, 0.19, 0.05;
/// then the vertices get new names.
fn kronecker_edges(scale: u32, edges: u64, random: &mut Random) -> impl Iterator<Item = [u32; 2]> + use<> {
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

impl Program for Bfs {
    fn arena_bytes(&self) -> u64 {
        let line_ends = 6 * 64;
        // Edges and neighbours, then offsets and cursors, then parents and queue.
        4 * (4 * self.edges) + 8 * (2 * (self.vertices + 1)) + 4 * (2 * self.vertices) + line_ends
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, Stopped> {
        let code = Code::declare(emit);
        let graph = self.allocate(emit, random);
        if self.record_build {
            self.build(emit, &code, graph)?;
        } else {
            emit.silently(|emit| self.build(emit, &code, graph))?;
        }
        let mut sum = 0;
        for _ in 0..self.searches {
            // An end of a random edge: a vertex that has neighbours.
            let root = emit.peek(graph.edges.at(random.below(2 * self.edges)));
            let reached = self.search(emit, &code, graph, root)?;
            sum += self.distances(emit, graph, reached);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;
    use std::collections::VecDeque;

    /// The sum of all distances from `root`, by the textbook.
    fn plain(edges: &[[u32; 2]], vertices: usize, root: u32) -> u64 {
        let mut adjacent = vec![Vec::new(); vertices];
        for &[from, to] in edges {
            adjacent[from as usize].push(to);
            adjacent[to as usize].push(from);
        }
        let mut distance = vec![None; vertices];
        distance[root as usize] = Some(0);
        let mut queue = VecDeque::from([root]);
        while let Some(vertex) = queue.pop_front() {
            for &to in &adjacent[vertex as usize] {
                if distance[to as usize].is_none() {
                    distance[to as usize] = distance[vertex as usize].map(|steps: u64| steps + 1);
                    queue.push_back(to);
                }
            }
        }
        distance.into_iter().flatten().sum()
    }

    fn expected(scale: u32, edges: u64, searches: u64, seed: u64) -> u64 {
        let mut random = Random::new(seed);
        let list: Vec<_> = kronecker_edges(scale, edges, &mut random).collect();
        let ends = list.concat();
        (0..searches).map(|_| plain(&list, 1 << scale, ends[random.below(2 * edges) as usize])).sum()
    }

    #[test]
    fn distances_are_those_of_the_textbook_search() {
        for record in ["all", "search"] {
            let given = [("scale", "8"), ("degree", "4"), ("searches", "3"), ("record", record)];
            assert_eq!(run(&INFO, &given, 13).answer, expected(8, 4 << 8, 3, 13), "record {record}");
        }
    }

    #[test]
    fn few_vertices_have_most_of_the_edges() {
        let mut degrees = vec![0u32; 1 << 12];
        for [from, to] in kronecker_edges(12, 16 << 12, &mut Random::new(1)) {
            degrees[from as usize] += 1;
            degrees[to as usize] += 1;
        }
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        let top: u32 = degrees[..1 << 8].iter().sum();
        assert!(top > degrees.iter().sum::<u32>() / 3, "a sixteenth of the vertices has {top} edge ends");
    }
}
