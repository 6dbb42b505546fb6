//! Bugs in the records of a battery, and in their use by recovery. Only the rows with tampering on battery or with a dying battery
//! find them.

use casemate_campaign::{CrashOptions, crash};
use catalogue::{End, Loss, Verdict, design};
use protection::planted::{Bug, PlantedBug};

/// One write, several lines, before an overflow; in turn and at once.
const WORKLOADS: [usize; 6] = [0, 1, 13, 37, 50, 83];

/// Workloads for a row that visits every event of a drain, in two sessions: the first are enough.
const ON_BATTERY: [usize; 2] = [0, 1];

/// Returns the worst end of a row over these workloads.
fn ends(name: &str, loss: Loss, bug: Bug) -> End {
    let design = design(name).unwrap();
    let workloads = if loss == Loss::TamperingOnBattery { &ON_BATTERY[..] } else { &WORKLOADS };
    let worst = |workload| {
        let planted = PlantedBug::new(bug);
        let options = CrashOptions {
            rows: vec![loss],
            workload: Some(workload),
            planted,
            thorough: true,
            ..CrashOptions::default()
        };
        crash(&design, &options, &mut |_, _| {}).rows[0].worst
    };
    End::worst_of(workloads.iter().copied().map(worst)).unwrap()
}

#[test]
fn a_planted_bug_that_skips_the_battery_loss_register_admits_stale_memory() {
    for bug in [Bug::LossNotRegistered, Bug::LossForgotten] {
        assert_eq!(ends("secpb-cobcm", Loss::TamperingOnBattery, bug), Verdict::Stale, "{bug:?}");
        assert_eq!(ends("secpb-cobcm", Loss::PowerLoss, bug), Verdict::Harmless, "{bug:?}: nothing is lost");
        assert_eq!(ends("secpb-cobcm", Loss::TamperingWhileOff, bug), Verdict::Detected, "{bug:?}");
    }
}

#[test]
fn a_root_saved_despite_faults_on_battery_lets_tampering_pass() {
    let bug = Bug::RootSavedDespiteFaults;
    let found = ends("secure-eadr", Loss::TamperingOnBattery, bug);
    assert!(found.is_worse_than(End::from(Verdict::Detected)), "{found}");
    assert_eq!(ends("secure-eadr", Loss::TamperingWhileOff, bug), Verdict::Detected);
}

#[test]
fn a_root_kept_after_its_session_lets_the_memory_of_the_previous_session_pass() {
    let bug = Bug::RootOutlivesSession;
    assert_eq!(ends("secure-eadr", Loss::BatteryLost, bug), End::from(Verdict::Stale).leaking(true));
    assert_eq!(ends("secure-eadr", Loss::PowerLoss, bug), Verdict::Harmless);
}

/// Only a session that follows another has a register that was set.
#[test]
fn a_root_valid_until_the_first_memory_write_lets_a_lost_battery_pass_unnoticed() {
    let bug = Bug::RootValidUntilWritten;
    assert_eq!(ends("secure-eadr", Loss::BatteryLost, bug), Verdict::Stale);
    assert_eq!(ends("secure-eadr", Loss::PowerLoss, bug), Verdict::Harmless);
    assert_eq!(ends("secure-eadr", Loss::TamperingOnBattery, bug), Verdict::Detected);
}

#[test]
fn initialising_a_line_again_after_recovery_garbles_it_and_reuses_a_pad() {
    let bug = Bug::BootsAfterRecovery;
    for name in ["plp-sp", "plp-coalesced", "secpb-cobcm", "secure-eadr"] {
        let found = ends(name, Loss::TamperingWhileOff, bug);
        assert_eq!(found, End::from(Verdict::Garbled).leaking(true), "{name}");
        assert_eq!(ends(name, Loss::PowerLoss, bug), Verdict::Harmless, "{name}");
    }
}
