//! The test of the tests: is every planted bug caught, and caught for its specific reason?
//!
//! Each bug has a check that catches it, with the expected finding, and a check that it passes: one that catches a bug of
//! another kind. So no check is useful only because it catches every bug, and no bug is caught by an accidental effect of
//! another. The control is the design without a bug, which passes every check named here.
//!
//! The conformance kit also tests the bugs of single parts (`protection/src/conformance/planted.rs`). It is the only test for
//! [`Bug::ONLY_IN_THE_KIT`]: these bugs take too long to appear in a small memory, or have the same effects as other bugs.

mod addresses;
mod batteries;
mod beats;
mod bitmaps;
mod boots;
mod buffers;
mod caches;
mod checks;
mod ciphers;
mod codes;
mod counters;
mod crowds;
mod delays;
mod forests;
mod keys;
mod ledgers;
mod losses;
mod one_key;
mod overlaps;
mod owners;
mod places;
mod recoveries;
mod registers;
mod scenes;
mod speculation;
mod systems;
mod trees;
mod version_trees;

use casemate_campaign::Options;
use catalogue::Design;
use checks::{Check, Found, attacked, run};
use protection::planted::{Bug, ChipBug, PlantedBug};
use std::collections::{BTreeSet, HashSet};

/// A bug, the check that catches it, the finding, and a check that the bug passes.
struct Case {
    bug: Bug,
    /// Name of the design with the bug.
    design: &'static str,
    check: Check,
    finds: Found,
    passes: Check,
}

impl Case {
    /// Creates a case in the design with a tree.
    fn new(bug: Bug, check: Check, finds: Found, passes: Check) -> Case {
        Case { bug, design: "sc64-bmt", check, finds, passes }
    }

    /// Moves the case to another design.
    fn of(self, design: &'static str) -> Case {
        Case { design, ..self }
    }

    fn design(&self) -> Design {
        codes::composed(self.design).unwrap_or_else(|| catalogue::design(self.design).unwrap())
    }
}

fn cases() -> Vec<Case> {
    let all = [
        addresses::cases(),
        bitmaps::cases(),
        ciphers::cases(),
        codes::cases(),
        counters::cases(),
        systems::cases(),
        trees::cases(),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn every_planted_bug_is_caught_for_the_expected_reason() {
    let mut wrong = Vec::new();
    for case in cases() {
        let found = run(case.check, &case.design(), PlantedBug::new(case.bug));
        if found != case.finds {
            wrong.push(format!("{:?}: {:?} found {found:?}, expected {:?}", case.bug, case.check, case.finds));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sweep over all attacks (`campaigns.rs`) runs these rows with the default number of trials, under every design. A trial
/// depends on its seed only, so more trials find a bug that fewer trials find.
#[test]
fn default_trials_of_an_attack_suffice_to_find_every_planted_bug_that_it_covers() {
    let usual = Options::default();
    let mut caught = 0;
    for case in cases() {
        if let Check::Row(row, trials) = case.check
            && trials <= usual.trials
        {
            let planted = PlantedBug::new(case.bug);
            let outcome = attacked(&case.design(), row, &Options { trials, planted, ..usual });
            assert!(outcome.complaint(case.design).is_some(), "{:?}: {row}", case.bug);
            caught += 1;
        }
    }
    assert!(caught > 10, "{caught} bugs");
}

#[test]
fn each_planted_bug_remains_unnoticed_by_a_check_of_other_properties() {
    for case in cases() {
        let found = run(case.passes, &case.design(), PlantedBug::new(case.bug));
        assert_eq!(found, Found::Nothing, "{:?}: {:?}", case.bug, case.passes);
    }
}

#[test]
fn the_design_without_a_bug_passes_the_same_checks() {
    let mut passed = HashSet::new();
    for case in cases() {
        for check in [case.check, case.passes] {
            // Many cases share a check of one design.
            if passed.insert((case.design, check)) {
                assert_eq!(run(check, &case.design(), PlantedBug::NONE), Found::Nothing, "{}: {check:?}", case.design);
            }
        }
    }
}

#[test]
fn every_planted_bug_is_in_the_list_of_a_test() {
    let here = cases()
        .into_iter()
        .map(|case| case.bug)
        .chain(version_trees::BUGS)
        .chain(forests::BUGS)
        .chain(owners::BUGS)
        .chain(places::BUGS)
        .chain(beats::BUGS)
        .chain(speculation::BUGS)
        .chain(bitmaps::BUGS)
        .chain(delays::BUGS)
        .chain(boots::BUGS)
        .chain(keys::BUGS)
        .chain(ledgers::BUGS)
        .chain(one_key::BUGS)
        .chain(crowds::BUGS)
        .chain(scenes::BUGS)
        .chain(overlaps::BUGS)
        .chain(crate::locked::BUGS)
        .chain(ChipBug::OF_LOCKS.into_iter().chain(ChipBug::OF_BATTERIES).chain(ChipBug::OF_LOSSES).map(Bug::OfChip))
        .chain(Bug::ONLY_IN_THE_KIT.iter().copied());
    let caught: BTreeSet<Bug> = here.chain(Bug::AFTER_LOSSES.iter().copied()).collect();
    assert!(caught.into_iter().eq(BTreeSet::from_iter(Bug::all())));
    assert!(Bug::all().count() >= 45);
}
