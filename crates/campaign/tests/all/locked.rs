//! A log that two cores append to under a lock: the durable stores are a prefix of all stores of both cores.

use crate::common::swept::{an_eighth, every_one, share_of_tests, side_by_side};
use casemate_campaign::crash::locked::{Cut, LockedLog};
use protection::planted::{Bug, PlantedBug};
use std::sync::atomic::{AtomicUsize, Ordering};

const DESIGNS: [&str; 7] = ["secpb-cobcm", "secpb-obcm", "secpb-bcm", "secpb-cm", "secpb-m", "secpb-nogap", "bbb"];
const RECORDS: usize = 12;

/// Bugs that are found here.
pub const BUGS: [Bug; 1] = [Bug::CoreGoesOnUnaccepted];

/// Cuts the power at `times` events, spread over a log of a design.
fn cuts(design: &str, seed: u64, times: u64, planted: PlantedBug) -> Vec<Cut> {
    let log = LockedLog::new(&catalogue::design(design).unwrap().parts, RECORDS, seed, planted);
    let events = log.events();
    (0..times).map(|time| log.cut(events * time / times)).collect()
}

#[test]
fn no_store_survives_without_the_earlier_stores_of_the_other_core() {
    let (seeds, times) = if every_one() { (30, 50) } else { (8, 12) };
    let logs = DESIGNS.iter().flat_map(|design| (1..=seeds).map(move |seed| (*design, seed)));
    let cut = AtomicUsize::new(0);
    side_by_side(an_eighth(logs.collect(), share_of_tests()), |(design, seed)| {
        let found = cuts(design, seed, times, PlantedBug::NONE);
        let wrong = found.iter().find(|cut| !cut.in_order || !cut.recovered);
        assert_eq!(wrong, None, "{design}, seed {seed}");
        assert!(found.iter().any(|cut| cut.accepted > 20), "{design}, seed {seed}: {found:?}");
        cut.fetch_add(found.len(), Ordering::Relaxed);
    });
    assert!(cut.into_inner() >= 7 * times as usize);
}

#[test]
fn a_core_that_continues_before_its_store_is_accepted_breaks_the_log_order() {
    let out_of_order = |planted| {
        let found = DESIGNS.iter().flat_map(|design| cuts(design, 1, 24, planted));
        found.filter(|cut| !cut.in_order).count()
    };
    assert_eq!(out_of_order(PlantedBug::NONE), 0);
    assert!(out_of_order(PlantedBug::new(BUGS[0])) > 0);
}
