//! Bugs in the registers of a forest's roots. A loss of power finds each of them. Each passes if its condition is missing: changing
//! roots, a tuple behind another, or tampering with the memory while it is off.

use crate::common::swept::{an_eighth, share_of_tests};
use casemate_campaign::{CrashOptions, crash};
use catalogue::{Design, End, Loss, Verdict};
use protection::planted::{Bug, PlantedBug};
use protection::tree::ForestDesign;

/// A few workloads of each kind: one write, several lines, before an overflow, in turn and at once.
const WORKLOADS: [usize; 7] = [0, 1, 13, 37, 50, 83, 100];

/// Roots that stay, and roots that change with each write.
const STATIC: ForestDesign = ForestDesign::Static { level: 0, entries: 64 };
const DYNAMIC: ForestDesign = ForestDesign::Dynamic { entries: 64, period: 32, threshold: 16 };

fn over(name: &str, forest: Option<ForestDesign>) -> Design {
    let mut design = catalogue::design(name).unwrap();
    design.parts.tree.forest = forest;
    design
}

/// Returns the worst end of a row over these workloads.
fn ends(design: &Design, loss: Loss, bug: Option<Bug>) -> End {
    let worst = |workload| {
        let planted = bug.map_or(PlantedBug::NONE, PlantedBug::new);
        let options = CrashOptions { rows: vec![loss], workload: Some(workload), planted, ..CrashOptions::default() };
        crash(design, &options, &mut |_, _| {}).rows[0].worst
    };
    End::worst_of(WORKLOADS.into_iter().map(worst)).unwrap()
}

/// Returns the worst end of a loss of power.
fn lost(name: &str, forest: ForestDesign, bug: Bug) -> End {
    ends(&over(name, Some(forest)), Loss::PowerLoss, Some(bug))
}

#[test]
fn a_design_without_a_planted_bug_ends_every_tried_power_loss_as_claimed() {
    let names = ["plp-sp", "plp-pipelined", "plp-coalesced", "secpb-cm"];
    let forests = names.iter().flat_map(|name| [(name, STATIC), (name, DYNAMIC)]);
    for (name, forest) in an_eighth(forests.collect(), share_of_tests()) {
        let design = over(name, Some(forest));
        let is_tried = |loss: &&Loss| {
            **loss != Loss::QueueLost && (!loss.is_on_battery() || design.parts.persistence.has_battery())
        };
        for loss in Loss::ALL.iter().filter(is_tried) {
            let (end, claimed) = (ends(&design, *loss, None), design.crash.about(*loss).unwrap());
            // The number of roots decides which workloads meet the worst moment for a battery to die.
            let is_claimed = if *loss == Loss::BatteryLost { !end.is_worse_than(claimed) } else { end == claimed };
            assert!(is_claimed, "{name}, {forest:?}: {loss} ends as {end}, not as {claimed}");
        }
    }
}

#[test]
fn a_tuple_must_update_the_registers_of_all_forest_roots_that_it_changes() {
    for name in ["plp-sp", "plp-coalesced", "secpb-cobcm"] {
        assert_eq!(lost(name, STATIC, Bug::ForestNotRegistered), Verdict::Unrecoverable, "{name}");
    }
    let plain = ends(&over("plp-sp", None), Loss::PowerLoss, Some(Bug::ForestNotRegistered));
    assert_eq!(plain, Verdict::Harmless, "a tree with one root has none of these");
}

#[test]
fn pipelined_tuples_must_set_root_registers_to_their_own_values() {
    assert_eq!(lost("plp-pipelined", STATIC, Bug::RootsAsOnChip), Verdict::Unrecoverable);
    assert_eq!(
        lost("plp-sp", STATIC, Bug::RootsAsOnChip),
        Verdict::Harmless,
        "where they follow one by one there are none"
    );
}

#[test]
fn a_dynamic_forest_must_promote_nodes_with_the_content_of_complete_tuples_only() {
    for name in ["plp-sp", "plp-pipelined"] {
        assert_eq!(lost(name, DYNAMIC, Bug::ReshapedAmongTuples), Verdict::Unrecoverable, "{name}");
        assert_eq!(lost(name, STATIC, Bug::ReshapedAmongTuples), Verdict::Harmless, "{name}");
    }
}

#[test]
fn bugs_in_promoting_dropping_or_folding_a_forest_root_make_memory_unrecoverable() {
    for bug in [Bug::PromotedStaysInParent, Bug::RootDropped, Bug::FoldedStaysRegistered] {
        assert_eq!(lost("plp-sp", DYNAMIC, bug), Verdict::Unrecoverable, "{bug:?}");
        assert_eq!(lost("plp-sp", STATIC, bug), Verdict::Harmless, "{bug:?}: where roots stay what they are");
    }
}

#[test]
fn recovery_must_verify_and_keep_every_root_of_a_forest() {
    let design = over("plp-sp", Some(STATIC));
    let bug = Some(Bug::RecoveryComparesOwnRoot);
    let both = End::from(Verdict::Stale).leaking(true);
    assert_eq!(ends(&design, Loss::TamperingWhileOff, bug), both, "old counters, and their pads once more");
    assert_eq!(ends(&design, Loss::PowerLoss, bug), Verdict::Harmless, "but without an attacker all is well");
    for forest in [STATIC, DYNAMIC] {
        assert_eq!(lost("plp-sp", forest, Bug::RecoveryForgetsForest), Verdict::Unrecoverable, "{forest:?}");
    }
}
