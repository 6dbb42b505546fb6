//! Compares the optimal flow with successive shortest paths, and checks the conditions of optimality.

use super::super::emitter::StreamSelection;
use super::super::program::execute;
use super::super::testing::run;
use super::network::{ArcData, BASIC, DOWN, UP};
use super::*;
use std::sync::mpsc::{Sender, channel};

/// Content of a solved network.
struct Solution {
    cost: u64,
    /// Record of each arc, in memory order.
    arcs: Vec<Solved>,
    /// Potential of each node.
    potentials: Vec<i64>,
    /// Flow on each artificial arc.
    artificial: Vec<i64>,
}

struct Solved {
    data: ArcData,
    flow: i64,
    state: i64,
}

/// Program that solves a given network and sends the final content of its memory.
struct Given {
    network: FlowNetwork,
    solutions: Sender<Solution>,
}

impl Program for Given {
    fn arena_bytes(&self) -> u64 {
        memory_bytes(self.network.supplies.len() as u64, self.network.arcs.len() as u64)
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let (records, cost) = solve(emit, &self.network, 20, true, random)?;
        check_tree(emit, records);
        let pointers: Vec<_> = (0..records.nodes).map(|index| emit.peek(records.node_pointer(index))).collect();
        let index = |pointer: u64| pointers.iter().position(|node| *node == pointer).unwrap();
        let solved = |arc: ArcRecord| Solved {
            data: ArcData {
                tail: index(emit.peek(arc.tail())),
                head: index(emit.peek(arc.head())),
                cost: emit.peek(arc.cost()),
                capacity: emit.peek(arc.capacity()),
            },
            flow: emit.peek(arc.flow()),
            state: emit.peek(arc.state()),
        };
        let artificial = |index| {
            let arc = records.artificial(index);
            if emit.peek(arc.state()) == BASIC { emit.peek(arc.flow()) } else { 0 }
        };
        let solution = Solution {
            cost,
            arcs: (0..records.arcs).map(|position| solved(records.arc(position))).collect(),
            potentials: pointers.iter().map(|node| emit.peek(NodeRecord(*node).potential())).collect(),
            artificial: (0..records.nodes).map(artificial).collect(),
        };
        self.solutions.send(solution).unwrap();
        Ok(cost)
    }
}

/// Checks that the tree contains every node once, that its links, sizes and potentials agree, and that it is strongly
/// feasible: each node can send flow to the root.
fn check_tree(emit: &Emitter, records: NetworkRecords) {
    let record = |pointer: u64| NodeRecord(pointer);
    let mut order = vec![records.root];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        let (mut child, mut previous) = (record(emit.peek(node.child())), NodeRecord::NONE);
        while child != NodeRecord::NONE {
            assert_eq!(record(emit.peek(child.parent())), node);
            assert_eq!(record(emit.peek(child.previous())), previous);
            let arc = ArcRecord(emit.peek(child.arc()));
            let up = emit.peek(child.orientation()) == UP;
            assert!(up || emit.peek(child.orientation()) == DOWN);
            let (tail, head) = if up { (child, node) } else { (node, child) };
            assert_eq!([arc.tail(), arc.head()].map(|end| record(emit.peek(end))), [tail, head]);
            assert_eq!(emit.peek(arc.state()), BASIC);
            let reduced = emit.peek(arc.cost()) - emit.peek(tail.potential()) + emit.peek(head.potential());
            assert_eq!(reduced, 0);
            let flow = emit.peek(child.flow());
            assert!(if up { flow < emit.peek(arc.capacity()) } else { flow > 0 }, "not strongly feasible");
            order.push(child);
            (previous, child) = (child, record(emit.peek(child.sibling())));
        }
        next += 1;
    }
    assert_eq!(order.len() as u64, records.nodes + 1);
    for node in &order {
        let below = order.iter().filter(|child| **child != records.root && emit.peek(child.parent()) == node.0);
        let size = 1 + below.map(|child| emit.peek(child.size())).sum::<u32>();
        assert_eq!(emit.peek(node.size()), size);
    }
}

fn solved(network: FlowNetwork, seed: u64) -> Solution {
    let (solutions, found) = channel();
    let (batches, _consumer) = crossbeam_channel::unbounded();
    execute(&Given { network, solutions }, seed, StreamSelection { skip: u64::MAX, load_values: false }, batches)
        .unwrap();
    found.recv().unwrap()
}

/// Returns the least cost, by successive shortest paths of Bellman and Ford.
fn least_cost(network: &FlowNetwork) -> i64 {
    let nodes = network.supplies.len();
    let mut left = network.supplies.clone();
    // Tail, head, cost and residual capacity; each arc is followed by its reverse.
    let both = |arc: &ArcData| [(arc.tail, arc.head, arc.cost, arc.capacity), (arc.head, arc.tail, -arc.cost, 0)];
    let mut residual: Vec<_> = network.arcs.iter().flat_map(both).collect();
    let mut total = 0;
    while let Some(source) = left.iter().position(|supply| *supply > 0) {
        let mut distances = vec![None; nodes];
        let mut entered = vec![usize::MAX; nodes];
        distances[source] = Some(0i64);
        let mut changed = true;
        while changed {
            changed = false;
            for (index, &(tail, head, cost, capacity)) in residual.iter().enumerate() {
                let Some(through) = distances[tail].map(|distance| distance + cost) else { continue };
                if capacity > 0 && distances[head].is_none_or(|distance| through < distance) {
                    (distances[head], entered[head], changed) = (Some(through), index, true);
                }
            }
        }
        let sink = (0..nodes).find(|node| left[*node] < 0 && distances[*node].is_some()).expect("feasible");
        let mut path = Vec::new();
        let mut node = sink;
        while node != source {
            path.push(entered[node]);
            node = residual[entered[node]].0;
        }
        let narrowest = path.iter().map(|index| residual[*index].3).min().unwrap();
        let amount = narrowest.min(left[source]).min(-left[sink]);
        for index in path {
            residual[index].3 -= amount;
            residual[index ^ 1].3 += amount;
            total += amount * residual[index].2;
        }
        left[source] -= amount;
        left[sink] += amount;
    }
    total
}

/// Checks conservation, capacities and complementary slackness.
fn check_optimal(network: &FlowNetwork, solution: &Solution) {
    let mut left = network.supplies.clone();
    let mut cost = 0;
    for Solved { data, flow, state } in &solution.arcs {
        assert!((0..=data.capacity).contains(flow), "{flow} on {data:?}");
        left[data.tail] -= flow;
        left[data.head] += flow;
        cost += flow * data.cost;
        let reduced = data.cost - solution.potentials[data.tail] + solution.potentials[data.head];
        assert!(reduced >= 0 || *flow == data.capacity, "{data:?} is worth more flow than {flow}");
        assert!(reduced <= 0 || *flow == 0, "{data:?} is not worth its flow of {flow}");
        assert!(*state == BASIC || *flow == if *state == AT_UPPER { data.capacity } else { 0 });
    }
    assert!(left.iter().chain(&solution.artificial).all(|rest| *rest == 0));
    assert_eq!(solution.cost, cost as u64);
}

/// Draws a feasible network with costs below `costs` and capacities up to `capacity`. With `flows`, a random flow
/// determines the supplies; otherwise all supplies are zero.
fn drawn(nodes: u64, arcs: u64, costs: u64, capacity: u64, flows: bool, random: &mut Random) -> FlowNetwork {
    let mut network = FlowNetwork::draw(nodes, arcs, random);
    network.supplies = vec![0; nodes as usize];
    for arc in &mut network.arcs {
        (arc.cost, arc.capacity) = (random.below(costs) as i64, 1 + random.below(capacity) as i64);
        if flows && random.below(3) == 0 {
            let flow = 1 + random.below(arc.capacity as u64) as i64;
            network.supplies[arc.tail] += flow;
            network.supplies[arc.head] -= flow;
        }
    }
    network
}

#[test]
fn the_simplex_kernel_finds_optimal_flows_with_the_cost_of_a_shortest_path_solver() {
    let mut random = Random::new(5);
    // Cases: all costs are zero, many costs and capacities are equal, all capacities are one as in mcf, no supplies.
    for (costs, capacity, flows) in
        [(1000, 50, true), (1, 50, true), (2, 1, true), (1000, 1, true), (3, 3, true), (1, 1, true), (1000, 9, false)]
    {
        for seed in 0..20 {
            let (nodes, arcs) = (2 + random.below(40), 1 + random.below(7));
            let network = drawn(nodes, arcs, costs, capacity, flows, &mut random);
            let copy = FlowNetwork { supplies: network.supplies.clone(), arcs: network.arcs.clone() };
            let solution = solved(network, seed);
            check_optimal(&copy, &solution);
            assert_eq!(solution.cost as i64, least_cost(&copy), "{nodes} nodes, {arcs} arcs, costs below {costs}");
        }
    }
}

#[test]
fn the_simplex_kernel_sends_flow_along_a_cycle_of_negative_cost() {
    let arc = |tail, head, cost| ArcData { tail, head, cost, capacity: 3 };
    let network = || FlowNetwork { supplies: vec![0; 3], arcs: vec![arc(0, 1, -5), arc(1, 2, 1), arc(2, 0, 2)] };
    let solution = solved(network(), 1);
    check_optimal(&network(), &solution);
    assert_eq!(solution.cost as i64, -6);
}

#[test]
fn the_simplex_kernel_solves_a_network_with_several_pricing_groups_optimally() {
    let mut random = Random::new(8);
    let network = FlowNetwork::draw(300, 5, &mut random);
    let copy = FlowNetwork { supplies: network.supplies.clone(), arcs: network.arcs.clone() };
    let solution = solved(network, 8);
    check_optimal(&copy, &solution);
    assert_eq!(solution.cost as i64, least_cost(&copy));
}

#[test]
fn the_simplex_kernel_solves_the_network_of_its_seed_in_both_recording_modes() {
    for (nodes, arcs, seed) in [(2, 1, 1), (30, 2, 2), (100, 8, 3), (400, 4, 4)] {
        let expected = least_cost(&FlowNetwork::draw(nodes, arcs, &mut Random::new(seed)));
        for record in ["pivot", "all"] {
            let texts = [nodes, arcs].map(|number| number.to_string());
            let given = [("nodes", &*texts[0]), ("arcs", &*texts[1]), ("record", record)];
            assert_eq!(run(&INFO, &given, seed).answer, expected as u64, "{given:?}");
        }
    }
}

#[test]
fn the_simplex_recording_begins_with_the_first_pivot_or_with_the_initial_tree() {
    let (nodes, arcs) = (50, 4);
    let stores = |record| run(&INFO, &[("nodes", "50"), ("arcs", "4"), ("record", record)], 6).stores;
    // A state for each arc, twelve words for each node and its artificial arc, and three for the root.
    assert_eq!(stores("all") - stores("pivot"), nodes * arcs + 12 * nodes + 3);
}

#[test]
fn refreshing_potentials_in_the_simplex_kernel_changes_no_answer() {
    let solve = |refresh| run(&INFO, &[("nodes", "50"), ("arcs", "4"), ("refresh", refresh)], 6);
    let (each, first) = (solve("1"), solve("1000000"));
    assert_eq!(each.answer, first.answer);
    // Each refresh also stores the counter of pivots.
    assert!(each.stores > first.stores && (each.stores - first.stores) % (50 + 1) == 0);
}

#[test]
fn no_arc_of_a_drawn_network_is_a_loop() {
    let network = FlowNetwork::draw(20, 6, &mut Random::new(4));
    assert!(network.arcs.iter().all(|arc| arc.tail != arc.head && arc.head < 20));
    assert!((0..20).all(|node| network.arcs.iter().filter(|arc| arc.tail == node).count() == 6));
    assert_eq!(network.supplies.iter().sum::<i64>(), 0);
}
