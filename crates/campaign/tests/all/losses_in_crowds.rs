//! Power fails in the middle of a crowd: right after a tuple, while others are under way. Writes that have returned are there, and
//! of each line that is being written one of its texts.

use crate::common::crowd::{Core, Scene, TASKS, comes_back, start_tasks};
use crate::common::{Machine, cases, with_caches};
use proptest::prelude::*;
use protection::design::Parts;
use protection::planted::Planted;
use protection::tree::ForestDesign;
use std::cell::Cell;
use std::rc::Rc;
use units::Duration;

/// Recovery is tried after one of so many tuples; and after each while a group is renewed.
const EACH: u64 = 29;

/// Runs a crowd and recovers what each of many losses leaves; how many were tried, of them while a group was renewed.
fn losses_in_a_crowd(parts: &Parts, seed: u64, planted: Planted) -> Result<(usize, usize), String> {
    let parts = with_caches(parts, seed);
    let mut machine = Machine::new(&parts, seed, Core::default());
    machine.scheme = Rc::new(parts.build_with(crate::common::DATA_LINES, seed, planted)?);
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    let (mut tried, mut renewing) = (0, 0);
    loop {
        let tuples = machine.memory.counters().tuples;
        let memory = machine.memory.clone();
        let goes_on =
            machine.run(Duration::from_ns(20_000_000), || finished.get() == TASKS || memory.counters().tuples > tuples);
        if !goes_on {
            return Err("a deadlock".to_owned());
        }
        if finished.get() == TASKS {
            return Ok((tried, renewing));
        }
        let renewed = machine.memory.registers().renewal.is_some();
        if renewed || machine.memory.counters().tuples % EACH == 0 {
            (tried, renewing) = (tried + 1, renewing + usize::from(renewed));
            let core = &machine.core;
            comes_back(&machine, Scene { seed, planted, ..Scene::default() }, &parts, |line, text| {
                core.may_be(line, &text)
            })?;
        }
    }
}

/// A design over a forest, or over none.
fn over(design: &str, forest: Option<ForestDesign>) -> Parts {
    let mut parts = catalogue::design(design).unwrap().parts;
    parts.tree.forest = forest;
    parts
}

/// A forest whose roots come and go all the time.
const RESTLESS: ForestDesign = ForestDesign::Dynamic { entries: 3, period: 3, threshold: 0 };

/// In how many of six crowds of pipelined tuples something is found.
#[cfg(feature = "planted-bugs")]
fn found(forest: Option<ForestDesign>, planted: Planted) -> usize {
    let parts = over("plp-pipelined", forest);
    (0..6).filter(|seed| losses_in_a_crowd(&parts, *seed, planted).is_err()).count()
}

#[cfg(feature = "planted-bugs")]
#[test]
fn losses_in_crowds_find_what_is_wrong_with_tuples_and_with_recovery() {
    use protection::planted::Bug;
    assert_eq!([None, Some(RESTLESS)].map(|forest| found(forest, Planted::NONE)), [0, 0]);
    for bug in [
        Bug::CounterNotPersisted,
        Bug::TagNotPersisted,
        Bug::StagesShareNodes,
        Bug::RenewalNotRegistered,
        Bug::RecoveryKeepsNodes,
        Bug::RecoverySkipsRenewal,
    ] {
        assert!(found(None, Planted::new(bug)) > 0, "{bug:?}");
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
        assert!(found(Some(RESTLESS), Planted::new(bug)) > 0, "{bug:?}");
    }
}

proptest! {
    #![proptest_config(cases(3))]
    #[test]
    fn a_loss_of_power_among_tuples_leaves_every_write_that_has_returned(seed in any::<u64>()) {
        for (design, forest) in [
            ("plp-sp", None),
            ("plp-pipelined", None),
            ("plp-coalesced", None),
            ("plp-sp", Some(RESTLESS)),
            ("plp-pipelined", Some(ForestDesign::Static { level: 0, entries: 64 })),
            ("plp-pipelined", Some(RESTLESS)),
            ("plp-coalesced", Some(RESTLESS)),
        ] {
            let (tried, renewing) = losses_in_a_crowd(&over(design, forest), seed, Planted::NONE).map_err(|wrong| {
                TestCaseError::fail(format!("{design} over {forest:?}: {wrong}"))
            })?;
            prop_assert!(tried > 20 && renewing > 5, "{} losses, {} while a group was renewed", tried, renewing);
        }
    }
}
