//! Bugs of a persist buffer. A loss of power finds each of them, and each passes if its condition does not occur.

use casemate_campaign::crash::workload::{LINES, Workload, all};
use casemate_campaign::{CrashOptions, crash};
use catalogue::{End, Loss, Verdict, design};
use protection::planted::{Bug, PlantedBug};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A few workloads of each kind: one store, several lines, before an overflow, in turn and at once.
const WORKLOADS: [usize; 7] = [0, 1, 13, 37, 50, 83, 100];

/// Returns the worst end of a row over these workloads.
fn ends(name: &str, loss: Loss, bug: Bug) -> End {
    End::worst_of(WORKLOADS.into_iter().map(|workload| end(name, loss, bug, workload))).unwrap()
}

/// Returns the worst end of a row over one workload.
fn end(name: &str, loss: Loss, bug: Bug, workload: usize) -> End {
    let planted = PlantedBug::new(bug);
    let options = CrashOptions { rows: vec![loss], workload: Some(workload), planted, ..CrashOptions::default() };
    crash(&design(name).unwrap(), &options, &mut |_, _| {}).rows[0].worst
}

/// Returns true if the chip that wrote the memory refuses it during the workload.
fn alarms(name: &str, bug: Bug) -> bool {
    let found = catch_unwind(AssertUnwindSafe(|| ends(name, Loss::PowerLoss, bug)));
    let said = |panic: Box<dyn std::any::Any + Send>| panic.downcast_ref::<String>().cloned().unwrap_or_default();
    found.is_err_and(|panic| said(panic).starts_with("without tampering: "))
}

#[test]
fn early_ciphertexts_and_tags_of_a_buffer_entry_must_be_recomputed_by_each_store() {
    let bug = Bug::CiphertextOfOlderText;
    assert_eq!(ends("secpb-m", Loss::PowerLoss, bug), Verdict::Stale);
    assert_eq!(ends("secpb-cm", Loss::PowerLoss, bug), Verdict::Harmless, "no ciphertext is early there");
    assert!(alarms("secpb-nogap", Bug::TagOfOlderText));
    assert_eq!(ends("secpb-m", Loss::PowerLoss, Bug::TagOfOlderText), Verdict::Harmless, "no tag is early there");
}

#[test]
fn a_counter_must_advance_exactly_once_per_residency_of_a_persist_buffer_entry() {
    assert_eq!(ends("secpb-obcm", Loss::PowerLoss, Bug::CountedOnceMore), Verdict::Unrecoverable);
    assert_eq!(
        ends("secpb-cobcm", Loss::PowerLoss, Bug::CountedOnceMore),
        Verdict::Harmless,
        "no counter is early there"
    );
    assert!(alarms("secpb-cm", Bug::CountedByEachStore), "the root knows of the first alone");
    assert_eq!(
        ends("secpb-bcm", Loss::PowerLoss, Bug::CountedByEachStore),
        Verdict::Harmless,
        "the root learns of it later"
    );
    for name in ["secpb-cobcm", "secpb-nogap"] {
        assert_eq!(ends(name, Loss::PadReuseAfterLoss, Bug::NotCounted), Verdict::Leaked, "{name}");
        assert_eq!(ends(name, Loss::PowerLoss, Bug::NotCounted), Verdict::Harmless, "{name}: but all comes back");
    }
}

#[test]
fn using_one_persist_buffer_entry_for_two_tuples_loses_a_store_or_reuses_a_pad() {
    assert_eq!(ends("secpb-obcm", Loss::PadReuseAfterLoss, Bug::EntryOutlivesTuple), Verdict::Leaked);
    let again = Workload::of_one_core(vec![LINES[0], LINES[1], LINES[0]], true, false);
    let again = all().iter().position(|work| *work == again).unwrap();
    let lost = end("secpb-cobcm", Loss::PowerLoss, Bug::DrainedEntryWritten, again);
    assert_eq!(lost, Verdict::Stale, "a store to a line that is leaving");
}

#[test]
fn a_drain_that_skips_a_late_root_update_raises_a_false_alarm() {
    assert!(alarms("secpb-bcm", Bug::EntryDrainedBeforeRoot));
    assert_eq!(ends("secpb-cm", Loss::PowerLoss, Bug::EntryDrainedBeforeRoot), Verdict::Harmless);
}

#[test]
fn overflow_bugs_that_lose_a_store_or_skip_resident_lines_are_found() {
    for name in ["secpb-cobcm", "secpb-bcm", "secpb-nogap"] {
        for loss in [Loss::PowerLoss, Loss::TamperingWhileOff] {
            assert_eq!(ends(name, loss, Bug::OverflowLosesStore), Verdict::Stale, "{name}: {loss}");
        }
    }
    assert!(alarms("secpb-obcm", Bug::RenewalForgetsEntries));
    assert_eq!(
        ends("secpb-cobcm", Loss::PowerLoss, Bug::RenewalForgetsEntries),
        Verdict::Harmless,
        "none is ahead there"
    );
}

#[test]
fn a_battery_must_drain_every_entry_as_a_whole_tuple() {
    let stops = |name| ends(name, Loss::PowerLoss, Bug::BatteryStopsEarly);
    assert_eq!(stops("secpb-bcm"), Verdict::Unrecoverable, "what was accepted last is lost, and named");
    assert_eq!(stops("secpb-cm"), Verdict::Unrecoverable, "and where the root knows of it, all is");
    assert_eq!(ends("secpb-cobcm", Loss::PowerLoss, Bug::BatteryMovesData), Verdict::Unrecoverable);
    assert_eq!(
        ends("secpb-cobcm", Loss::PadReuseAfterLoss, Bug::BatteryMovesData),
        Verdict::Leaked,
        "whose pad was lost"
    );
}
