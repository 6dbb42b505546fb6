//! Stores that are durable in a persist buffer: the battery completes all work in progress.

use crate::common::lost::tried;
use casemate_campaign::crash::dying;
use casemate_campaign::crash::history::History;
use casemate_campaign::crash::revival::Revival;
use casemate_campaign::crash::workload::{self, LINES, Workload};
use casemate_campaign::crash::{CrashOptions, crash};
use catalogue::{Loss, Verdict, design};
use proptest::prelude::*;
use protection::planted::PlantedBug;
use units::random::Random;

/// The six schemes of SecPB.
const SCHEMES: [&str; 6] = ["secpb-cobcm", "secpb-obcm", "secpb-bcm", "secpb-cm", "secpb-m", "secpb-nogap"];

#[test]
fn a_loss_at_any_event_of_a_store_leaves_exactly_the_accepted_stores() {
    for name in SCHEMES.into_iter().chain(["bbb"]) {
        for index in [0, 1] {
            let report = tried(name, &[Loss::PowerLoss], Some(index));
            assert_eq!(report.complaints(), Vec::<String>::new());
            assert_eq!(report.memories, 2, "{name}: with the store and without");
        }
    }
}

#[test]
fn a_persist_buffer_keeps_its_claims_under_loss_in_recovery_pad_reuse_and_tampering() {
    for name in SCHEMES {
        for workload in [3, 37, 60, 100] {
            let rows = [Loss::LossInRecovery, Loss::PadReuseAfterLoss, Loss::TamperingWhileOff];
            let report = tried(name, &rows, Some(workload));
            assert_eq!(report.complaints(), Vec::<String>::new());
            assert!(report.rows.iter().all(|row| row.histogram.values().sum::<u64>() > 0));
        }
    }
}

/// Stores to three lines, which share a buffer of two entries while counters overflow and metadata leaves the chip.
#[test]
fn a_power_loss_leaves_exactly_the_stores_that_the_persist_buffer_has_accepted() {
    const STORES: usize = 25;
    for (seed, name) in (1..).zip(SCHEMES) {
        let mut random = Random::new(seed);
        let writes = (0..STORES).map(|_| random.pick(&LINES).unwrap()).collect();
        let history =
            History::of(&design(name).unwrap(), &Workload::of_one_core(writes, true, true), seed, PlantedBug::NONE);
        let left = dying::left(&history, 60);
        let accepted: Vec<usize> = left.iter().map(|dead| dead.progress.least).collect();
        assert!(accepted.contains(&STORES) && accepted[0] < 2 && accepted.is_sorted(), "{name}: {accepted:?}");
        for dead in &left {
            assert_eq!(dead.progress.least, dead.progress.most);
            assert_eq!(
                Revival::of(&history, dead).judge(&history, &history.allowed(dead), false),
                Verdict::Harmless,
                "{name} at {}",
                dead.point
            );
        }
    }
}

/// Two cores store in turn to three lines, and one of the cores reads each line before: entries are flushed and change buffers all
/// the time.
#[test]
fn a_power_loss_leaves_exactly_the_accepted_stores_of_two_cores() {
    const STORES: usize = 24;
    for (seed, name) in (1..).zip(SCHEMES.into_iter().chain(["bbb"])) {
        let mut random = Random::new(seed);
        let writes = (0..STORES).map(|_| random.pick(&LINES).unwrap()).collect();
        let workload = Workload { turns_from: Some(seed as usize % 2), ..Workload::of_one_core(writes, true, true) };
        let history = History::of(&design(name).unwrap(), &workload, seed, PlantedBug::NONE);
        let left = dying::left(&history, 60);
        assert_eq!(left.iter().map(|dead| dead.progress.least).max(), Some(STORES), "{name}");
        for dead in &left {
            let verdict = Revival::of(&history, dead).judge(&history, &history.allowed(dead), false);
            assert_eq!(verdict, Verdict::Harmless, "{name} at {}", dead.point);
        }
    }
}

/// The first entry of core 1 has its counter early. So when the store of core 0 overflows, that entry must complete before the group
/// is renewed. Meanwhile core 1 stores to a third line of the group, and this store must get a new counter.
#[test]
fn a_store_during_another_cores_overflow_gets_a_renewed_counter() {
    let [overflows, neighbour, far] = LINES;
    for name in ["secpb-obcm", "secpb-bcm"] {
        for writes in
            [[workload::BYSTANDER, overflows, neighbour, far], [workload::BYSTANDER, far, neighbour, overflows]]
        {
            let of_one_core = Workload::of_one_core(writes.to_vec(), true, true);
            let workload = Workload { turns_from: Some(1), ..of_one_core };
            let history = History::of(&design(name).unwrap(), &workload, 1, PlantedBug::NONE);
            let ended = dying::left(&history, 1).pop().unwrap();
            assert_eq!(ended.progress.least, writes.len());
            let revival = Revival::of(&history, &ended);
            let found = revival.judge(&history, &history.allowed(&ended), false);
            let (later, leaked) = revival.goes_on(&history, &mut Random::new(1));
            assert_eq!((found, later, leaked), (Verdict::Harmless, Verdict::Harmless, false), "{name}: {workload}");
        }
    }
}

#[test]
fn every_short_workload_of_two_cores_keeps_its_accepted_stores() {
    let workloads = workload::all_for(true).len();
    for (number, name) in SCHEMES.into_iter().chain(["bbb"]).enumerate() {
        // Each scheme tries a share of the workloads; the campaign tries all.
        for index in (workload::all().len() + number..workloads).step_by(SCHEMES.len() + 1) {
            let report = tried(name, &[Loss::PowerLoss], Some(index));
            assert_eq!(report.complaints(), Vec::<String>::new());
        }
    }
}

/// A claim of a design is the worst end over all workloads.
#[test]
fn a_single_workload_meets_a_claim_if_it_ends_no_worse_than_claimed() {
    let rows = [Loss::PowerLoss, Loss::LossInRecovery];
    let at_once = workload::all().iter().position(|work| work.writes.len() == 2 && work.at_once);
    let report = tried("bbb-gap", &rows, at_once);
    assert!(report.rows.iter().any(|row| row.claim != Some(row.worst)), "{:?}", report.rows);
    assert!(report.agrees, "{:?}", report.complaints());
    let mut hopeful = design("bbb-gap").unwrap();
    hopeful.crash = design("secpb-cm").unwrap().crash;
    let options = CrashOptions { rows: rows.to_vec(), workload: at_once, ..CrashOptions::default() };
    assert!(!crash(&hopeful, &options, &mut |_, _| {}).agrees);
}

/// SecPB, Figure 1b: the content of the buffer is persistent, but its metadata is not.
#[test]
fn a_battery_that_drains_no_metadata_leaves_a_recoverability_gap() {
    let at_once = workload::all().iter().position(|work| work.writes.len() == 2 && work.at_once).unwrap();
    let report = tried("bbb-gap", &[Loss::PowerLoss], Some(at_once));
    assert_eq!(report.complaints(), Vec::<String>::new());
    let found = report.rows[0].example.as_ref().unwrap();
    let gap = "power failed when 1 of 2 stores had been accepted, and of their lines only the buffer had 0x2, recovery \
               verified the root, and reads of 0x2 are refused";
    assert_eq!(found.story, gap);
    assert_eq!(design("bbb-gap").unwrap().parts.weaknesses(), ["recoverability gap"]);
}

fn some_workload() -> impl Strategy<Value = Workload> {
    let writes = proptest::collection::vec(0..LINES.len(), 1..14);
    (writes, any::<bool>(), proptest::option::of(0..2usize)).prop_map(|(writes, old, turns_from)| {
        let writes = writes.into_iter().map(|line| LINES[line]).collect();
        Workload { turns_from, ..Workload::of_one_core(writes, true, old) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// An observer after a loss sees no store without all those that were accepted before it, and the number of stores never falls
    /// with later losses.
    #[test]
    fn recovery_after_a_loss_finds_exactly_the_prefix_of_accepted_stores(
        scheme in 0..SCHEMES.len(),
        workload in some_workload(),
        seed in 0..1_000_000u64,
    ) {
        let history = History::of(&design(SCHEMES[scheme]).unwrap(), &workload, seed, PlantedBug::NONE);
        let mut before = 0;
        for dead in dying::left(&history, 12) {
            let accepted = dead.accepted.clone().unwrap();
            let revival = Revival::of(&history, &dead);
            // Contents are random, so no two prefixes look equal.
            let seen: Vec<usize> = (0..=accepted.len())
                .filter(|writes| {
                    let allowed = [history.content_with(accepted[..*writes].iter().copied())];
                    revival.judge(&history, &allowed, false) == Verdict::Harmless
                })
                .collect();
            prop_assert_eq!(seen, [accepted.len()], "at {}", dead.point);
            prop_assert!(accepted.len() >= before, "at {}", dead.point);
            before = accepted.len();
        }
    }
}
