//! Breadth-first search on a Kronecker graph.
//!
//! The search is top-down, vertex by vertex through a queue, from the ends of random edges.

mod code;

use super::KernelInfo;
use super::arena::{Array, ValueAddress};
use super::emitter::{ClosedStream, Emitter};
use super::graph::{self, Graph, GraphShape};
use super::parameters::{self, LOAD_VALUES, SKIP, Settings};
use super::program::Program;
use code::BfsCode;
use units::random::Random;

const UNREACHED: u32 = u32::MAX;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "bfs",
    summary: "breadth-first search on a Kronecker graph: short runs of neighbours, then random accesses",
    parameters: &[
        graph::scale("18", "log2 of the number of vertices; 18 makes a graph of 36 MB"),
        graph::degree("16"),
        graph::ENDS,
        parameters::repeated("searches", "searches, each from another random vertex"),
        graph::record(&["search", "all"], "whether the stream begins with the first search or with building the graph"),
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(Bfs::new(settings)),
};

struct Bfs {
    shape: GraphShape,
    searches: u64,
}

/// Result of a search.
#[derive(Clone, Copy)]
struct BfsArrays {
    parents: Array<u32>,
    queue: Array<u32>,
}

impl Bfs {
    fn new(settings: &Settings) -> Bfs {
        Bfs { shape: GraphShape::new(settings), searches: settings.number("searches") }
    }

    /// Returns the number of reached vertices; the queue begins with them.
    fn search(
        &self,
        emit: &mut Emitter,
        code: &BfsCode,
        graph: Graph,
        found: BfsArrays,
        root: u32,
    ) -> Result<u64, ClosedStream> {
        emit.block(code.clear_enter)?;
        for pair in 0..self.shape.vertices / 2 {
            emit.block(code.clear)?;
            emit.store(ValueAddress::at(found.parents.at(2 * pair).addr), u64::MAX);
        }
        emit.block(code.root)?;
        emit.store(found.parents.at(u64::from(root)), root);
        emit.store(found.queue.at(0), root);
        let (mut head, mut tail) = (0, 1);
        while head < tail {
            emit.block(code.vertex)?;
            let vertex = emit.load(found.queue.at(head));
            let begin = emit.load(graph.offsets.at(u64::from(vertex)));
            let end = emit.load(graph.offsets.at(u64::from(vertex) + 1));
            for index in begin..end {
                emit.block(code.neighbour)?;
                let neighbour = emit.load(graph.neighbours.at(index));
                let parent = found.parents.at(u64::from(neighbour));
                if emit.load(parent) == UNREACHED {
                    emit.block(code.visit)?;
                    emit.store(parent, vertex);
                    emit.store(found.queue.at(tail), neighbour);
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

    /// Returns the sum of the distances of all reached vertices from the root, computed from their parents.
    fn distances(&self, emit: &Emitter, found: BfsArrays, reached: u64) -> u64 {
        let mut distance = vec![0u64; self.shape.vertices as usize];
        for vertex in (1..reached).map(|position| emit.peek(found.queue.at(position))) {
            let parent = emit.peek(found.parents.at(u64::from(vertex)));
            distance[vertex as usize] = distance[parent as usize] + 1;
        }
        distance.into_iter().sum()
    }
}

impl Program for Bfs {
    fn arena_bytes(&self) -> u64 {
        let line_ends = 2 * 64;
        self.shape.arena_bytes() + 4 * (2 * self.shape.vertices) + line_ends
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = BfsCode::declare(emit);
        let graph = self.shape.build(emit, &code.build, random)?;
        let found = BfsArrays { parents: emit.array(self.shape.vertices), queue: emit.array(self.shape.vertices) };
        let mut sum = 0;
        for _ in 0..self.searches {
            // The root is an end of a random edge, so it has neighbours.
            let root = emit.peek(graph.edges.at(random.below(2 * self.shape.edges)));
            let reached = self.search(emit, &code, graph, found, root)?;
            sum += self.distances(emit, found, reached);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{kronecker_edges, uniform_edges};
    use super::super::testing::run;
    use super::*;
    use std::collections::VecDeque;

    /// Returns the sum of all distances from `root`, by the textbook algorithm.
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
    fn the_bfs_kernel_equals_a_naive_search_on_a_uniform_graph() {
        let (edges, mut random) = (4 << 8, Random::new(13));
        let list: Vec<_> = uniform_edges(1 << 8, edges, &mut random).collect();
        let root = list.concat()[random.below(2 * edges) as usize];
        let given = [("scale", "8"), ("degree", "4"), ("searches", "1"), ("ends", "uniform")];
        assert_eq!(run(&INFO, &given, 13).answer, plain(&list, 1 << 8, root));
    }

    #[test]
    fn the_bfs_kernel_equals_a_naive_search_on_a_kronecker_graph() {
        for record in ["all", "search"] {
            let given = [("scale", "8"), ("degree", "4"), ("searches", "3"), ("record", record)];
            assert_eq!(run(&INFO, &given, 13).answer, expected(8, 4 << 8, 3, 13), "record {record}");
        }
    }
}
