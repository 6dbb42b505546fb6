//! Counters that overflow on battery: a group of lines is renewed for one, of which neither account has anything.

use crate::papers;
use cost::tally::work;
use cost::{Energy, Geometry, Scheme, Step, closed_form, design};
use protection::counter::Age;
use protection::execution::{Explained, Functional, run_now};
use protection::scheme::{PersistBuffer, Scheme as Machine};
use units::LineAddr;

const ENTRIES: usize = 8;
const LEVELS: u32 = 4;
/// Lines whose counters are in one line.
const GROUP: u64 = 64;

type Verbs = Explained<Functional>;

fn groups_renewed(machine: &Machine) -> u64 {
    machine.counted().renewals.groups
}

/// Writes all lines of a line's group, and the line until its next write overflows its counter.
fn fill(machine: &Machine, verbs: &Verbs, line: LineAddr) {
    let write = |machine: &Machine, verbs: &Verbs, line| run_now(machine.write(verbs, line, &[3; 64]));
    run_now(machine.age(verbs, line, Age::BeforeRenewal));
    let first = line.0 / GROUP * GROUP;
    (first..first + GROUP).map(LineAddr).filter(|other| *other != line).for_each(|other| write(machine, verbs, other));
    loop {
        let (twin, tried) = (machine.twin(), Explained::new(verbs.inside().clone()));
        write(&twin, &tried, line);
        if groups_renewed(&twin) > groups_renewed(machine) {
            return;
        }
        write(machine, verbs, line);
    }
}

/// What a battery needs for a full buffer and the store in flight, whose lines share as little as they can, and how many groups
/// are renewed meanwhile; `overflowing` if the next write of each line overflows.
fn battery(scheme: Scheme, overflowing: bool) -> (Energy, u64) {
    let profile = papers();
    let geometry = Geometry::of(scheme, &profile, LEVELS).unwrap();
    let lines = geometry.far_apart(ENTRIES + 1);
    let machine = design(scheme).parts.build(geometry.lines, 1).unwrap();
    let verbs = Explained::new(Functional::new(machine.layout().total_lines()));
    lines.iter().filter(|_| overflowing).for_each(|line| fill(&machine, &verbs, *line));
    let buffer = PersistBuffer::of(&machine);
    let accept = |line: &LineAddr| run_now(buffer.accept(&verbs, *line, &[7; 64]));
    let (in_flight, resident) = lines.split_last().unwrap();
    resident.iter().for_each(accept);
    run_now(machine.flush(&verbs));
    verbs.take_operations();
    let before = groups_renewed(&machine);
    accept(in_flight);
    run_now(buffer.drain_on_battery(&verbs));
    assert_eq!(verbs.inside().take_fault(), None);
    let moved = closed_form::moved(scheme, &profile.entry);
    let mut energy = Energy::default();
    verbs.take_operations().iter().for_each(|operation| energy += profile.energy(&work(operation, moved)));
    (energy, groups_renewed(&machine) - before)
}

/// With early counters only that of the store in flight is counted on battery, else those of all entries are.
#[test]
fn a_counter_that_overflows_on_battery_takes_a_group_of_lines_and_is_in_no_account() {
    for scheme in Scheme::all() {
        let ((without, none), (with, renewed)) = (battery(scheme, false), battery(scheme, true));
        let times = with.nanojoules() / without.nanojoules();
        let expected = match scheme.early() {
            [] => (ENTRIES as u64 + 1, 24.0..26.0),
            early if early.contains(&Step::Root) => (1, 5.0..25.0),
            _ => (1, 2.5..5.5),
        };
        assert_eq!((none, renewed), (0, expected.0), "{scheme}");
        assert!(expected.1.contains(&times), "{scheme}: {times} times");
    }
}
