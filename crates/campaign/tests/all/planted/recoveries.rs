//! Bugs in the recovery of a machine after power returns. For each bug, one row of the crash campaign finds it, and
//! another row passes.

use casemate_campaign::{CrashOptions, Options, attack, crash};
use catalogue::{Attack, End, Loss, Verdict};
use protection::planted::{Bug, PlantedBug};

/// A few workloads: one write below either half of the root, and writes before an overflow.
const WORKLOADS: [usize; 4] = [0, 3, 37, 50];

/// Returns the worst end of a row over these workloads.
fn ends(loss: Loss, bug: Bug) -> End {
    let design = catalogue::design("plp-sp").unwrap();
    let worst = |workload| {
        let planted = PlantedBug::new(bug);
        let options = CrashOptions { rows: vec![loss], workload: Some(workload), planted, ..CrashOptions::default() };
        crash(&design, &options, &mut |_, _| {}).rows[0].worst
    };
    End::worst_of(WORKLOADS.into_iter().map(worst)).unwrap()
}

fn rolled_back(planted: PlantedBug) -> End {
    let design = catalogue::design("plp-sp").unwrap();
    attack(&design, Attack::PowerOffRollback, &Options { trials: 60, seed: 1, planted }).worst
}

#[test]
fn recovery_that_compares_half_of_the_root_admits_old_counters() {
    let bug = Bug::RecoveryComparesHalf;
    let both = End::from(Verdict::Stale).leaking(true);
    assert_eq!(ends(Loss::TamperingWhileOff, bug), both, "and their pads serve again");
    assert_eq!([PlantedBug::NONE, PlantedBug::new(bug)].map(rolled_back), [Verdict::Detected, Verdict::Stale]);
    assert_eq!(ends(Loss::PowerLoss, bug), Verdict::Harmless, "but without an attacker all is well");
}

#[test]
fn recovery_that_stores_only_the_lowest_tree_level_makes_memory_unrecoverable() {
    let bug = Bug::RecoveryStoresLowestNodes;
    assert_eq!(ends(Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends(Loss::TamperingWhileOff, bug), Verdict::Detected);
}

#[test]
fn recovery_that_verifies_the_root_without_keeping_it_makes_memory_unrecoverable() {
    let bug = Bug::RecoveryForgetsRoot;
    assert_eq!(ends(Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends(Loss::TamperingWhileOff, bug), Verdict::Detected, "so nobody can use it");
}

#[test]
fn recovery_that_skips_an_unfinished_renewal_makes_memory_unrecoverable() {
    let bug = Bug::RecoverySkipsRenewal;
    assert_eq!(ends(Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends(Loss::PadReuseAfterLoss, bug), Verdict::Hidden, "though no pad is used again");
}
