//! Several concurrent writes that become durable in tuples, of which one fails: which of the later tuples become
//! durable?

use crate::common::crowd::{Core, Scene, comes_back};
use crate::common::{DATA_LINES, Machine};
use protection::design::Parts;
use protection::execution::Timed;
use protection::scheme::Release;
use protection::verbs::Fault;
use sim::Clock;
use std::cell::Cell;
use std::rc::Rc;
use units::{Bytes, Duration, Line, LineAddr};

/// Two lines under the same counters.
const FIRST: LineAddr = LineAddr(5);
const NEIGHBOUR: LineAddr = LineAddr(6);
/// Lines with other counters, below the same lowest node.
const COUSINS: [LineAddr; 3] = [LineAddr(64), LineAddr(128), LineAddr(192)];
/// A line below other nodes.
const FAR: LineAddr = LineAddr(DATA_LINES - 1);
const OLD: Line = [1; 64];
const NEW: Line = [2; 64];
/// Number of writes that a counter of 7 bits can count.
const WRITES: usize = 127;
const LONG: Duration = Duration::from_ns(1_000_000);

/// A machine with counters and one node on the chip.
struct Scenario {
    machine: Machine<Core>,
    parts: Parts,
    ended: Rc<Cell<usize>>,
}

impl Scenario {
    fn of(design: &str, change: impl Fn(&mut Parts)) -> Scenario {
        let mut parts = catalogue::design(design).unwrap().parts;
        (parts.caches.nodes, parts.caches.ways) = (Some(Bytes(64)), 1);
        change(&mut parts);
        Scenario { machine: Machine::new(&parts, 1, Core::default()), parts, ended: Rc::default() }
    }

    fn clock(&self) -> Clock {
        self.machine.executor.clock().clone()
    }

    /// Begins a write now.
    fn begin(&self, line: LineAddr, content: Line) {
        let (memory, scheme, ended) = (self.machine.memory.clone(), self.machine.scheme.clone(), self.ended.clone());
        self.clock().spawn(async move {
            scheme.write(&Timed::new(&memory), line, &content).await;
            ended.set(ended.get() + 1);
        });
    }

    /// Runs until `ended` writes have ended.
    fn until(&mut self, ended: usize) {
        let all = self.ended.clone();
        assert!(self.machine.run(LONG, || all.get() >= ended), "a write never ends");
    }

    /// Runs until the next tuple is complete, which then leaves its stages to its successor.
    fn until_next_tuple(&mut self) {
        let memory = self.machine.memory.clone();
        let before = memory.counts().tuples;
        assert!(self.machine.run(LONG, || memory.counts().tuples > before), "no tuple is completed");
    }

    /// Writes lines durably before any error, and leaves the node above them on the chip.
    fn make_durable(&mut self, lines: &[LineAddr]) {
        for line in lines {
            self.machine.core.writes(*line, &OLD);
            self.begin(*line, OLD);
            self.until(self.ended.get() + 1);
        }
    }

    /// Forges all nodes except the lowest, which is on the chip, until the chip has halted.
    fn forge_nodes_until_halted(&self) {
        let good = self.machine.memory.media().borrow().clone();
        for level in &self.machine.scheme.layout().levels()[1..] {
            level.slots().for_each(|slot| self.machine.memory.media().borrow_mut().write(slot, &[0xee; 64]));
        }
        let (memory, scheme, clock) = (self.machine.memory.clone(), self.machine.scheme.clone(), self.clock());
        self.clock().spawn(async move {
            while !scheme.fixed().unwrap().on_chip(|chip| chip.power.halted) {
                clock.sleep(Duration::from_ns(1)).await;
            }
            memory.media().replace(good);
        });
    }

    fn faults(&self) -> Vec<Fault> {
        self.machine.core.faults.borrow().clone()
    }

    /// After a loss of power the memory is as it was before the error.
    fn comes_back_as_it_was(&self) {
        let comes_back =
            comes_back(&self.machine, Scene { seed: 1, ..Scene::default() }, &self.parts, |_, text| text == OLD);
        assert_eq!(comes_back, Ok(()));
    }
}

#[test]
fn a_persist_tuple_behind_an_aborted_tuple_does_not_become_durable() {
    let mut scenario = Scenario::of("plp-pipelined", |_| ());
    scenario.make_durable(&[COUSINS[0], FIRST]);
    let before = scenario.ended.get();
    scenario.forge_nodes_until_halted();
    [FIRST, COUSINS[0]].iter().for_each(|line| scenario.begin(*line, NEW));
    scenario.until(before + 2);
    assert!(
        matches!(*scenario.faults(), [Fault::Tree(_), Fault::Halted(line)] if line == COUSINS[0]),
        "{:?}",
        scenario.faults()
    );
    scenario.comes_back_as_it_was();
}

#[test]
fn each_write_of_an_aborted_batch_reports_a_fault() {
    let mut scenario = Scenario::of("plp-coalesced", |_| ());
    scenario.make_durable(&COUSINS);
    scenario.make_durable(&[FAR]);
    let before = scenario.ended.get();
    // The other writes wait for it, and form one batch.
    scenario.begin(FAR, OLD);
    COUSINS.iter().for_each(|line| scenario.begin(*line, NEW));
    scenario.until_next_tuple();
    scenario.forge_nodes_until_halted();
    scenario.until(before + 4);
    assert!(matches!(*scenario.faults(), [Fault::Tree(_), Fault::Tree(_), Fault::Tree(_)]), "{:?}", scenario.faults());
    scenario.comes_back_as_it_was();
}

#[test]
fn a_counter_overflow_that_waits_while_the_chip_halts_renews_no_group() {
    let mut scenario = Scenario::of("plp-pipelined", |_| ());
    scenario.make_durable(&[NEIGHBOUR; WRITES]);
    scenario.make_durable(&[FIRST]);
    let before = scenario.ended.get();
    scenario.forge_nodes_until_halted();
    [FIRST, NEIGHBOUR].iter().for_each(|line| scenario.begin(*line, NEW));
    scenario.until(before + 2);
    assert!(matches!(*scenario.faults(), [Fault::Tree(_), Fault::Halted(NEIGHBOUR)]), "{:?}", scenario.faults());
    assert_eq!(scenario.machine.scheme.counted().renewals.groups, 0);
    scenario.comes_back_as_it_was();
}

/// Runs two writes, and a read of a forged line after `delay`. Returns whether the forged line was released and not yet refused
/// when the first write left its stages to the second; and the faults.
fn forged_during_a_tuple(delay: Duration) -> (bool, Vec<Fault>) {
    let mut scenario = Scenario::of("plp-sp", |parts| parts.release = Release::Speculative);
    scenario.make_durable(&[FIRST, FAR]);
    let (memory, scheme, clock) = (scenario.machine.memory.clone(), scenario.machine.scheme.clone(), scenario.clock());
    memory.media().borrow_mut().write(scheme.layout().data_slot(FAR).slot(), &NEW);
    scenario.clock().spawn(async move {
        clock.sleep(delay).await;
        scheme.read(&Timed::new(&memory), FAR).await;
    });
    let before = scenario.ended.get();
    [FIRST, COUSINS[0]].iter().for_each(|line| scenario.begin(*line, NEW));
    scenario.until_next_tuple();
    let open = scenario.machine.core.reads.get() == 1 && scenario.faults().is_empty();
    scenario.until(before + 2);
    (open, scenario.faults())
}

#[test]
fn a_persist_tuple_awaits_verdicts_of_lines_released_while_it_waits_for_its_stage() {
    let runs: Vec<_> = (0..400).map(|step| forged_during_a_tuple(Duration::from_ns(step * 2))).collect();
    let while_open: Vec<_> = runs.iter().filter(|(open, _)| *open).map(|(_, faults)| faults.as_slice()).collect();
    assert!(while_open.len() > 3, "the scene is not set: {} of {}", while_open.len(), runs.len());
    for faults in while_open {
        assert_eq!(faults, [Fault::Tag(FAR), Fault::Tainted(COUSINS[0])]);
    }
}

#[test]
fn two_concurrent_writes_at_a_counter_overflow_renew_their_group_once() {
    for design in ["sc64-bmt", "sc64-bmt-mac4", "plp-sp", "plp-pipelined"] {
        let mut scenario = Scenario::of(design, |_| ());
        scenario.make_durable(&[FIRST; WRITES]);
        scenario.make_durable(&[NEIGHBOUR; WRITES]);
        [FIRST, NEIGHBOUR].iter().for_each(|line| scenario.begin(*line, NEW));
        scenario.until(2 * WRITES + 2);
        assert_eq!((scenario.faults(), scenario.machine.scheme.counted().renewals.groups), (vec![], 1), "{design}");
    }
}
