//! The claims of class C5 about an attacker who is present at a loss of power hold for every design of the class.

use crate::common::swept::{every_one, share_of_tests, side_by_side};
use casemate_campaign::{CrashOptions, CrashRow, crash};
use catalogue::{Design, End, Loss, Verdict, class, designs};

/// Rows in which an attacker takes part, or from which one may learn.
const ROWS: [Loss; 5] = [
    Loss::PadReuseAfterLoss,
    Loss::TamperingWhileOff,
    Loss::TamperingOnBattery,
    Loss::TamperingOverSessions,
    Loss::BatteryLost,
];
/// One store, several at once, and stores before an overflow, in turn and at once.
const WORKLOADS: [usize; 4] = [1, 13, 50, 83];

fn of_class() -> Vec<Design> {
    designs().into_iter().filter(|design| design.design_class == "C5").collect()
}

/// Returns the end that the class states for a row; `NONE` if the row does not apply to the design.
fn stated(design: &Design, loss: Loss) -> End {
    let applies = design.parts.persistence.has_battery() || !loss.is_on_battery();
    if applies { class("C5").unwrap().crash.about(loss).unwrap() } else { End::NONE }
}

/// Returns the contradictions of the class: an end that is worse than stated, or a stated row that was never tried.
fn contradictions(design: &Design, options: &CrashOptions) -> Vec<String> {
    let contradicts = |row: &CrashRow| {
        let stated = stated(design, row.loss);
        row.worst.is_worse_than(stated) || (row.worst == End::NONE) != (stated == End::NONE)
    };
    let named = |row: CrashRow| format!("{}: {} ended {}", design.name, row.loss, row.worst);
    crash(design, options, &mut |_, _| {}).rows.into_iter().filter(contradicts).map(named).collect()
}

#[test]
fn no_design_of_class_c5_ends_power_loss_tampering_worse_than_its_class_claims() {
    let designs = of_class();
    let with_battery = designs.iter().filter(|design| design.parts.persistence.has_battery()).count();
    assert!(with_battery >= 9 && designs.len() - with_battery >= 5, "{with_battery} of {}", designs.len());
    // Another workload for each share number, or all of them.
    let share = share_of_tests() as usize % WORKLOADS.len();
    let workloads = if every_one() { &WORKLOADS[..] } else { &WORKLOADS[share..=share] };
    side_by_side(designs, |design| {
        for workload in workloads {
            let rows = ROWS.to_vec();
            let options = CrashOptions { rows, workload: Some(*workload), ..CrashOptions::default() };
            assert_eq!(contradictions(&design, &options), Vec::<String>::new());
        }
    });
}

/// The file of a design may claim a better end.
#[test]
fn no_design_file_of_class_c5_claims_a_worse_end_than_its_class() {
    for design in of_class() {
        for loss in ROWS {
            let (claimed, stated) = (design.crash.about(loss), stated(&design, loss));
            assert!(!claimed.unwrap_or(End::NONE).is_worse_than(stated), "{}: {loss}", design.name);
        }
    }
}

#[test]
fn class_c5_says_that_tampering_is_detected_and_that_no_loss_leaks() {
    let says = |loss| class("C5").unwrap().crash.about(loss).unwrap();
    let tampering = [Loss::TamperingWhileOff, Loss::TamperingOnBattery, Loss::TamperingOverSessions];
    assert_eq!(tampering.map(says), [End::from(Verdict::Detected); 3]);
    assert!(ROWS.into_iter().all(|loss| !says(loss).leaks()));
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_planted_unregistered_battery_loss_contradicts_the_claim_of_class_c5() {
    use protection::planted::{Bug, PlantedBug};
    use std::collections::BTreeSet;
    let design = catalogue::design("secpb-cobcm").unwrap();
    let found = |planted| {
        let of_one = |workload| {
            let (rows, workload) = (vec![Loss::TamperingOnBattery], Some(workload));
            let options = CrashOptions { rows, workload, thorough: true, planted, ..CrashOptions::default() };
            contradictions(&design, &options)
        };
        WORKLOADS.into_iter().flat_map(of_one).collect::<BTreeSet<_>>()
    };
    assert_eq!(found(PlantedBug::NONE), BTreeSet::new());
    let stale = "secpb-cobcm: tampering-on-battery ended stale".to_owned();
    assert_eq!(found(PlantedBug::new(Bug::LossNotRegistered)), BTreeSet::from([stale]));
}
