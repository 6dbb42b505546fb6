//! Batteries that die, in a first session and in later ones: they leave torn memory, and recovery accepts no earlier memory in
//! its place.

use casemate_campaign::CrashOptions;
use casemate_campaign::crash::crash;
use casemate_campaign::crash::dying;
use casemate_campaign::crash::history::History;
use casemate_campaign::crash::revival::Revival;
use casemate_campaign::crash::workload::{LINES, Workload};
use catalogue::{Design, Loss, Verdict, design, designs};
use protection::planted::PlantedBug;

use crate::common::swept::side_by_side;

/// Several stores, with metadata that leaves the chip: in turn and at once, before an overflow and of two cores.
const WORKLOADS: [usize; 4] = [45, 63, 81, 130];

fn with_battery() -> Vec<Design> {
    designs().into_iter().filter(|design| design.parts.persistence.has_battery()).collect()
}

/// Under `bbb` all lines go to memory in tuples, which the queue keeps or discards. All other lines that a battery sends may be
/// torn when it dies: metadata lines, and lines of data that are written in place.
#[test]
fn a_battery_that_dies_tears_lines_except_in_tuples_and_ends_as_claimed() {
    side_by_side(with_battery(), |design| {
        let (mut torn, mut put_back) = (0, 0);
        for workload in WORKLOADS.into_iter().filter(|index| design.parts.persistence.has_buffer() || *index < 117) {
            let (rows, workload) = (vec![Loss::BatteryLost], Some(workload));
            let report = crash(&design, &CrashOptions { rows, workload, ..CrashOptions::default() }, &mut |_, _| {});
            assert_eq!(report.complaints(), Vec::<String>::new());
            (torn, put_back) = (torn + report.torn, put_back + report.tampered);
        }
        assert!(put_back > 0, "{}", design.name);
        assert_eq!(torn > 0, design.name != "bbb", "{}: {torn} torn memories", design.name);
    });
}

/// After each loss of power the same workload continues from the memory that is left, under the same keys.
#[test]
fn a_session_after_a_power_loss_begins_with_the_surviving_stores_of_the_last() {
    let workload = Workload::of_one_core(LINES.repeat(2), true, true);
    for name in ["secpb-cobcm", "secpb-cm", "secpb-nogap", "secure-eadr", "bbb", "eadr"] {
        let design = design(name).unwrap();
        let mut session = History::of(&design, &workload, 1, PlantedBug::NONE);
        for number in 1..4 {
            let left = dying::left(&session, 5);
            let dead = &left[number];
            assert_eq!(Revival::of(&session, dead).judge(&session, &session.allowed(dead), false), Verdict::Harmless);
            let next = session.goes_on_after(dead).expect("nobody tampered");
            assert_eq!(vec![next.before.clone()], session.allowed(dead), "{name}, session {number}");
            assert_eq!(next.earlier.len(), number);
            assert!(next.writes.iter().all(|write| !session.had(write.line, &write.content)), "{name}: other contents");
            let remembers = |line, bytes| next.had(line, &bytes);
            assert!(session.before.iter().all(|(line, bytes)| remembers(*line, *bytes)), "{name}");
            let is_outdated = name == "secure-eadr";
            assert_eq!(next.registers.outdated, is_outdated, "{name}: caches may have stores from now on");
            session = next;
        }
    }
}
