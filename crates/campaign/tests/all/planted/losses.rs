//! Bugs that appear only at a loss of power. For each bug, one row of the crash campaign finds it, and another row
//! passes.

use casemate_campaign::{CrashOptions, Histogram, crash};
use catalogue::{End, Loss, Verdict};
use protection::planted::{Bug, PlantedBug};

/// A few workloads of each kind: one write, several lines, before an overflow, in turn and at once.
const WORKLOADS: [usize; 6] = [0, 1, 13, 37, 50, 83];

/// Returns the worst end of a row over these workloads.
fn ends(design: &str, loss: Loss, bug: Option<Bug>) -> End {
    ends_with(design, loss, bug, false)
}

/// Like [`ends`]; if `in_order`, all lines in flight arrive whole and in order.
fn ends_with(design: &str, loss: Loss, bug: Option<Bug>, in_order: bool) -> End {
    End::worst_of(histogram(design, loss, bug, in_order).into_keys()).unwrap()
}

/// Returns all ends of a row over these workloads.
fn histogram(design: &str, loss: Loss, bug: Option<Bug>, in_order: bool) -> Histogram {
    let design = catalogue::design(design).unwrap();
    let planted = bug.map_or(PlantedBug::NONE, PlantedBug::new);
    let mut all = Histogram::new();
    for workload in WORKLOADS {
        let options =
            CrashOptions { rows: vec![loss], workload: Some(workload), planted, in_order, ..CrashOptions::default() };
        for (verdict, number) in &crash(&design, &options, &mut |_, _| {}).rows[0].histogram {
            *all.entry(*verdict).or_default() += number;
        }
    }
    all
}

#[test]
fn a_design_without_a_planted_bug_ends_every_tried_power_loss_as_claimed() {
    use Loss::{LossInRecovery, PadReuseAfterLoss, PowerLoss, QueueLost, TamperingWhileOff};
    for design in ["plp-sp", "plp-pipelined", "plp-coalesced"] {
        assert_eq!(ends(design, PowerLoss, None), Verdict::Harmless);
        assert_eq!(ends(design, LossInRecovery, None), Verdict::Harmless);
        assert_eq!(ends(design, PadReuseAfterLoss, None), Verdict::Hidden);
        assert_eq!(ends(design, TamperingWhileOff, None), Verdict::Detected);
        let both = End::from(Verdict::Unrecoverable).leaking(true);
        assert_eq!(ends(design, QueueLost, None), both, "as claimed: no such machine holds tuples");
    }
}

#[test]
fn a_missing_fence_is_found_only_if_lines_may_arrive_torn_or_out_of_order() {
    let ends = |in_order| ends_with("plp-sp", Loss::PowerLoss, Some(Bug::FenceDropped), in_order);
    assert_eq!([true, false].map(ends), [Verdict::Harmless, Verdict::Unrecoverable]);
}

/// The old text of the written line fits its old version, which the register of the renewal still contains.
#[test]
fn recovery_that_re_encrypts_an_already_written_line_admits_stale_data_and_reuses_a_pad() {
    let bug = Some(Bug::RecoveryRenewsWritten);
    let found = histogram("plp-sp", Loss::TamperingWhileOff, bug, false);
    assert!([Verdict::Leaked, Verdict::Stale].iter().all(|evil| found.contains_key(&End::from(*evil))), "{found:?}");
    assert_eq!(ends("plp-sp", Loss::PadReuseAfterLoss, bug), Verdict::Leaked);
    assert_eq!(ends("plp-sp", Loss::LossInRecovery, bug), Verdict::Harmless, "but without an attacker all is well");
}

#[test]
fn resetting_the_root_after_refused_recovery_lets_a_pad_be_reused() {
    let bug = Some(Bug::RefusalLeavesBlankRoot);
    assert_eq!(ends("plp-sp", Loss::PadReuseAfterLoss, bug), Verdict::Leaked);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but without an attacker nothing is refused");
}

#[test]
fn out_of_order_or_incomplete_persist_tuples_make_memory_unrecoverable() {
    for bug in [Bug::FenceDropped, Bug::CompleteBeforePersist, Bug::CounterNotPersisted, Bug::TagNotPersisted] {
        assert_eq!(ends("plp-sp", Loss::PowerLoss, Some(bug)), Verdict::Unrecoverable, "{bug:?}");
    }
    let bug = Some(Bug::CounterNotPersisted);
    assert_eq!(ends("plp-sp", Loss::TamperingWhileOff, bug), Verdict::Detected, "but an attacker has no use for it");
}

#[test]
fn an_unregistered_counter_renewal_makes_memory_unrecoverable_after_a_power_loss() {
    let bug = Some(Bug::RenewalNotRegistered);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::PadReuseAfterLoss, bug), Verdict::Hidden, "though no pad is used again");
}

#[test]
fn clearing_the_renewal_register_early_loses_data_in_a_second_power_loss() {
    let bug = Some(Bug::RenewalForgottenEarly);
    assert_eq!(ends("plp-sp", Loss::LossInRecovery, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but not when it fails once");
}

#[test]
fn counters_evicted_within_a_persist_tuple_make_memory_unrecoverable() {
    let bug = Some(Bug::LeavesAmongTuples);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Unrecoverable);
}

#[test]
fn pipelined_persist_tuples_that_share_tree_nodes_make_memory_unrecoverable() {
    let bug = Some(Bug::StagesShareNodes);
    assert_eq!(ends("plp-pipelined", Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but not where they follow one by one");
}

#[test]
fn recovery_that_accepts_any_root_admits_old_memory_images() {
    let bug = Some(Bug::RecoveryAcceptsAnyRoot);
    let both = End::from(Verdict::Stale).leaking(true);
    assert_eq!(ends("plp-sp", Loss::TamperingWhileOff, bug), both, "and the counters of then bring their pads back");
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Harmless, "but without an attacker all is well");
}

#[test]
fn recovery_that_keeps_old_tree_nodes_makes_memory_unrecoverable() {
    let bug = Some(Bug::RecoveryKeepsNodes);
    assert_eq!(ends("plp-sp", Loss::PowerLoss, bug), Verdict::Unrecoverable);
    assert_eq!(ends("plp-sp", Loss::TamperingWhileOff, bug), Verdict::Detected);
}

#[test]
fn pads_are_reused_after_a_loss_if_counters_do_not_advance() {
    assert_eq!(ends("plp-sp", Loss::PadReuseAfterLoss, Some(Bug::CounterNotAdvanced)), Verdict::Leaked);
}
