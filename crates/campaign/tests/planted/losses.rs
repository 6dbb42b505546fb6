//! Bugs that only a loss of power brings to light. Each is found by the row that is meant for it, and passes another.

use casemate_campaign::{CrashOptions, crash};
use protection::planted::{Bug, Planted};
use systems::{End, Loss, Verdict};

/// A few workloads of each kind: one write, several lines, before an overflow, one after the other and at once.
const WORKLOADS: [usize; 6] = [0, 1, 13, 37, 50, 83];

/// The worst end of a row over these workloads.
fn ends(design: &str, loss: Loss, bug: Option<Bug>) -> End {
    let design = systems::design(design).unwrap();
    let planted = bug.map_or(Planted::NONE, Planted::new);
    let worst = |workload| {
        let options = CrashOptions { rows: vec![loss], workload: Some(workload), seed: 1, planted };
        crash(&design, &options, &mut |_, _| {}).rows[0].worst
    };
    End::worst_of(WORKLOADS.into_iter().map(worst)).unwrap()
}

#[test]
fn without_a_bug_every_row_ends_well() {
    use Loss::{LossInRecovery, PadReuseAfterLoss, PowerLoss, TamperingWhileOff};
    for design in ["plp-sp", "plp-pipelined", "plp-coalesced"] {
        assert_eq!(ends(design, PowerLoss, None), Verdict::Harmless);
        assert_eq!(ends(design, LossInRecovery, None), Verdict::Harmless);
        assert_eq!(ends(design, PadReuseAfterLoss, None), Verdict::Hidden);
        assert_eq!(ends(design, TamperingWhileOff, None), Verdict::Detected);
    }
}

#[test]
fn a_tuple_out_of_order_or_incomplete_cannot_be_recovered() {
    for bug in [Bug::FenceDropped, Bug::CompleteBeforePersist, Bug::CounterNotPersisted, Bug::TagNotPersisted] {
        assert_eq!(ends("plp-sp", Loss::PowerLoss, Some(bug)), Verdict::Unrecoverable, "{bug:?}");
        assert_eq!(ends("plp-sp", Loss::TamperingWhileOff, Some(bug)), Verdict::Detected, "but nobody can use {bug:?}");
    }
}

#[test]
fn a_re_encryption_that_no_register_knows_of_loses_the_lines_that_it_had_not_reached() {
    let bug = Some(Bug::RenewalNotRegistered);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::PadReuseAfterLoss, bug), Verdict::Hidden, "though no pad is used again");
}

#[test]
fn a_re_encryption_forgotten_early_is_lost_when_power_fails_again() {
    let bug = Some(Bug::RenewalForgottenEarly);
    assert_eq!(ends("plp-sp", Loss::LossInRecovery, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but not when it fails once");
}

#[test]
fn tuples_that_share_nodes_complete_with_what_is_not_yet_durable() {
    let bug = Some(Bug::StagesShareNodes);
    assert_eq!(ends("plp-pipelined", Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but not where they follow one by one");
}

#[test]
fn old_images_pass_if_recovery_accepts_any_root() {
    let bug = Some(Bug::RecoveryAcceptsAnyRoot);
    assert_eq!(ends("plp-sp", Loss::TamperingWhileOff, bug), Verdict::Stale);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but without an attacker all is well");
}

#[test]
fn old_nodes_raise_false_alarms_if_recovery_keeps_them() {
    let bug = Some(Bug::RecoveryKeepsNodes);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::TamperingWhileOff, bug), Verdict::Detected);
}

#[test]
fn pads_are_used_again_after_a_loss_if_counters_stand_still() {
    assert_eq!(ends("plp-sp", Loss::PadReuseAfterLoss, Some(Bug::CounterStandsStill)), Verdict::Leaked);
}
