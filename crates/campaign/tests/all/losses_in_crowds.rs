//! Losses of power in the middle of a crowd: right after a tuple, while other tuples are in progress. Memory must contain all writes
//! that have returned, and for each line that is being written one of its texts.

use crate::common::crowd::{Core, Scene, TASKS, comes_back, make_old, start_tasks};
use crate::common::holding::Holding;
use crate::common::swept::side_by_side;
use crate::common::{Machine, cases, with_caches};
use catalogue::{Design, designs};
use proptest::prelude::*;
use protection::counter::Age;
use protection::design::Parts;
use protection::planted::PlantedBug;
use protection::tree::ForestDesign;
use std::cell::Cell;
use std::rc::Rc;
use units::Duration;
use units::random::Random;

/// Interval of tuples at which recovery is tried; while a group is renewed, after every tuple.
const EACH: u64 = 29;

/// Number of losses while stores are on battery, for each design.
const LOSSES: u64 = 9;

/// Runs a crowd and recovers from many losses; returns the numbers of all losses and of those during a renewal.
fn losses_in_a_crowd(parts: &Parts, seed: u64, planted: PlantedBug) -> Result<(usize, usize), String> {
    let parts = with_caches(parts, seed);
    let mut machine = Machine::new(&parts, seed, Core::default());
    machine.scheme = Rc::new(parts.build_with(crate::common::DATA_LINES, seed, planted)?);
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    let (mut tried, mut renewing) = (0, 0);
    loop {
        let tuples = machine.memory.counts().tuples;
        let memory = machine.memory.clone();
        let goes_on =
            machine.run(Duration::from_ns(20_000_000), || finished.get() == TASKS || memory.counts().tuples > tuples);
        if !goes_on {
            return Err("a deadlock".to_owned());
        }
        if finished.get() == TASKS {
            return Ok((tried, renewing));
        }
        let renewed = machine.memory.registers().renewal.is_some();
        if renewed || machine.memory.counts().tuples % EACH == 0 {
            (tried, renewing) = (tried + 1, renewing + usize::from(renewed));
            let core = &machine.core;
            comes_back(&machine, Scene { seed, planted, ..Scene::default() }, &parts, |line, text| {
                core.may_be(line, &text)
            })?;
        }
    }
}

/// Runs a crowd with stores in a buffer or in caches for this many events. The work in progress then completes, and the battery writes
/// the remaining lines to memory. The memory must recover completely. Returns the number of lines that the battery wrote, and of the
/// events until then.
fn loss_on_battery(parts: &Parts, seed: u64, planted: PlantedBug, events: u64) -> Result<(usize, u64), String> {
    let parts = with_caches(parts, seed);
    let mut machine = Machine::new(&parts, seed, Core::of(&parts));
    machine.scheme = Rc::new(parts.build_with(crate::common::DATA_LINES, seed, planted)?);
    make_old(&machine, Age::BeforeRenewal);
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    let happened = Cell::new(0);
    let limit = Duration::from_ns(20_000_000);
    machine.run(limit, || {
        let is_over = happened.get() == events || finished.get() == TASKS;
        happened.set(happened.get() + u64::from(!is_over));
        is_over
    });
    machine.core.stopped.set(true);
    if !machine.run(limit, || finished.get() == TASKS) {
        return Err("a deadlock".to_owned());
    }
    let wrong = machine.core.wrong.borrow().join("; ");
    let resident = machine.core.holding.resident(&machine.scheme);
    let current = machine.core.current.borrow().clone();
    let scene = Scene { seed, planted, ..Scene::default() };
    comes_back(&machine, scene, &parts, |line, text| current.get(&line) == Some(&text))?;
    if wrong.is_empty() { Ok((resident, happened.get())) } else { Err(wrong) }
}

/// Returns a design over a forest, or over no forest.
fn over(design: &str, forest: Option<ForestDesign>) -> Parts {
    let mut parts = catalogue::design(design).unwrap().parts;
    parts.tree.forest = forest;
    parts
}

/// A forest with roots that change all the time.
const RESTLESS: ForestDesign = ForestDesign::Dynamic { entries: 3, period: 3, threshold: 0 };

/// Counts the crowds, of six with pipelined tuples, in which recovery finds an error.
#[cfg(feature = "planted-bugs")]
fn found(forest: Option<ForestDesign>, planted: PlantedBug) -> usize {
    let parts = over("plp-pipelined", forest);
    (0..6).filter(|seed| losses_in_a_crowd(&parts, *seed, planted).is_err()).count()
}

#[cfg(feature = "planted-bugs")]
#[test]
fn power_losses_among_concurrent_accesses_find_planted_tuple_and_recovery_bugs() {
    use protection::planted::Bug;
    assert_eq!([None, Some(RESTLESS)].map(|forest| found(forest, PlantedBug::NONE)), [0, 0]);
    for bug in [
        Bug::CounterNotPersisted,
        Bug::TagNotPersisted,
        Bug::StagesShareNodes,
        Bug::RenewalNotRegistered,
        Bug::RecoveryKeepsNodes,
        Bug::RecoverySkipsRenewal,
    ] {
        assert!(found(None, PlantedBug::new(bug)) > 0, "{bug:?}");
    }
    for bug in [
        Bug::RootDropped,
        Bug::ForestNotRegistered,
        Bug::RootsAsOnChip,
        Bug::ReshapedAmongTuples,
        Bug::PromotedStaysInParent,
        Bug::FoldedStaysRegistered,
        Bug::RecoveryForgetsForest,
    ] {
        assert!(found(Some(RESTLESS), PlantedBug::new(bug)) > 0, "{bug:?}");
    }
}

proptest! {
    #![proptest_config(cases(3))]
    #[test]
    fn a_power_loss_among_concurrent_tuples_keeps_every_completed_write(seed in any::<u64>()) {
        for (design, forest) in [
            ("plp-sp", None),
            ("plp-pipelined", None),
            ("plp-coalesced", None),
            ("plp-sp", Some(RESTLESS)),
            ("plp-pipelined", Some(ForestDesign::Static { level: 0, entries: 64 })),
            ("plp-pipelined", Some(RESTLESS)),
            ("plp-coalesced", Some(RESTLESS)),
        ] {
            let (tried, renewing) = losses_in_a_crowd(&over(design, forest), seed, PlantedBug::NONE).map_err(|wrong| {
                TestCaseError::fail(format!("{design} over {forest:?}: {wrong}"))
            })?;
            prop_assert!(tried > 20 && renewing > 5, "{} losses, {} while a group was renewed", tried, renewing);
        }
    }
}

/// Designs with a battery that writes lines to memory together with their metadata.
fn with_battery() -> Vec<Design> {
    designs().into_iter().filter(|design| Holding::of(&design.parts).exists()).collect()
}

/// Tries losses of power at random events; returns the number of lines that the battery wrote, or the error.
fn losses_on_battery(parts: &Parts, planted: PlantedBug) -> Result<usize, String> {
    let mut random = Random::new(1);
    let all = loss_on_battery(parts, 0, planted, u64::MAX)?.1;
    let taken = |seed| Ok(loss_on_battery(parts, seed, planted, random.below(all))?.0);
    (0..LOSSES).map(taken).sum()
}

/// The battery finds half-done work in each buffer and cache, while groups are being renewed and metadata leaves the chip.
#[test]
fn batteries_keep_buffered_and_cached_lines_in_a_power_loss_among_concurrent_accesses() {
    side_by_side(with_battery(), |design| {
        let taken = losses_on_battery(&design.parts, PlantedBug::NONE);
        let taken = taken.unwrap_or_else(|wrong| panic!("{}: {wrong}", design.name));
        assert!(taken as u64 > LOSSES, "{}: {taken} lines", design.name);
    });
}

#[cfg(feature = "planted-bugs")]
#[test]
fn power_losses_among_concurrent_accesses_find_planted_battery_bugs() {
    use protection::planted::Bug;
    for (name, bug) in [
        ("secpb-cobcm", Bug::BatteryStopsEarly),
        ("secpb-cobcm", Bug::BatteryMovesData),
        ("secpb-obcm", Bug::RenewalForgetsEntries),
        ("secpb-m", Bug::CiphertextOfOlderText),
        ("secpb-nogap", Bug::TagOfOlderText),
        ("secure-eadr", Bug::DirtyLineForgotten),
        ("secure-eadr", Bug::MetadataNotFlushed),
    ] {
        let found = losses_on_battery(&over(name, None), PlantedBug::new(bug));
        assert!(found.is_err(), "{bug:?} under {name}: {found:?}");
    }
}
