//! The claims of every design about a loss of power hold at every point of every short workload.

use crate::common::lost::tried;
use crate::common::swept::{an_eighth, every_one, share_of_tests, side_by_side, swept};
use casemate_campaign::CrashOptions;
use casemate_campaign::crash::{crash, workload};
use catalogue::{Design, End, Loss, Verdict, design};
use protection::design::{CipherChoice, MacChoice, MacDesign, TagLocation};

/// Returns true if a design's tuples are durable at the controller, so that each workload can end differently.
fn is_at_controller(design: &Design) -> bool {
    design.parts.persistence.is_in_tuples() && !design.parts.persistence.has_battery()
}

#[test]
fn a_controller_with_durable_tuples_survives_a_loss_at_every_point() {
    for design in swept().into_iter().filter(is_at_controller) {
        let report = tried(&design.name, &[Loss::PowerLoss], None);
        assert_eq!(report.complaints(), Vec::<String>::new());
        assert_eq!(report.workloads, workload::all().len());
        assert!(report.memories > report.workloads, "a workload leaves more than one memory behind");
    }
}

#[test]
fn the_example_of_a_volatile_design_states_its_intent_and_no_recovery() {
    for name in ["cryptopage", "cryptopage-os", "sc64-bmt"] {
        let row = tried(name, &[Loss::PowerLoss], Some(0)).rows.remove(0);
        assert_eq!((row.worst, row.agrees), (Verdict::Unrecoverable.into(), true), "{name}");
        let story = row.example.unwrap().story;
        assert!(story.contains("keeps no data over a loss of power, by intent"), "{name}: {story}");
        assert!(!story.contains("recover") && !story.contains("root"), "{name}: {story}");
    }
}

/// Designs with a battery run their workloads again for each event, so they try only a share of the workloads, as do designs
/// without durability. A claim covers all workloads together. `CASEMATE_SWEEPS=all` tries all.
#[test]
fn designs_without_controller_persistence_end_power_losses_exactly_as_claimed() {
    let share = if every_one() { 1 } else { 18 };
    for (number, design) in swept().into_iter().filter(|design| !is_at_controller(design)).enumerate() {
        let workloads = workload::all_for(design.parts.persistence.has_buffer()).len();
        let tried = |workload| tried(&design.name, &[Loss::PowerLoss], Some(workload)).rows.remove(0);
        let rows: Vec<_> = (number % share..workloads).step_by(share).map(tried).collect();
        let worst = End::worst_of(rows.iter().map(|row| row.worst)).unwrap();
        assert_eq!(Some(worst), rows[0].claim, "{}", design.name);
    }
}

#[test]
fn returned_writes_survive_losses_during_recovery_and_tampering_is_found() {
    for name in ["plp-sp", "plp-pipelined", "plp-coalesced"] {
        for workload in [3, 37, 60, 100] {
            let report = tried(name, &Loss::ALL[1..], Some(workload));
            assert_eq!(report.complaints(), Vec::<String>::new());
            let mut without_battery = report.rows.iter().filter(|row| !row.loss.is_on_battery());
            assert!(without_battery.all(|row| row.histogram.values().sum::<u64>() > 0));
        }
    }
}

/// Tags that take two words with their line, so that one may be torn off, and tags that fill a separate line.
#[test]
fn long_tags_survive_a_loss_and_torn_tags_are_found() {
    let of = |name, cipher: Option<CipherChoice>, mac: MacDesign| {
        let mut design = design(name).unwrap();
        design.parts.cipher = cipher.unwrap_or(design.parts.cipher);
        design.parts.mac = mac;
        design
    };
    let behind = MacDesign { place: TagLocation::Inline, code: MacChoice::Gmac, ..MacDesign::default() };
    let chunks = MacDesign { code: MacChoice::OcbChunks, ..MacDesign::default() };
    for design in [
        of("plp-pipelined", None, behind.with_line_bits(128)),
        of("plp-coalesced", Some(CipherChoice::TdesOcbChunks), chunks.with_chunk_bits(64)),
    ] {
        for workload in [3, 37] {
            let options = CrashOptions { workload: Some(workload), ..CrashOptions::default() };
            let report = crash(&design, &options, &mut |_, _| {});
            assert_eq!(report.complaints(), Vec::<String>::new(), "{:?}", design.parts.mac);
            assert!(report.torn > 0, "{:?}", design.parts.mac);
        }
    }
}

/// A design that keeps no data over a loss of power runs one of this many workloads for each share number.
const VOLATILE_SHARE: usize = 31;

/// `casemate crash DESIGN` without options runs all rows over all workloads. A design without persistence leaves hundreds of
/// thousands of memories and loses all of them, so it runs only a share of the workloads.
#[test]
fn the_default_crash_campaign_of_every_design_ends_as_its_file_claims() {
    let share = share_of_tests();
    side_by_side(an_eighth(swept(), share), |design| {
        let workloads = workload::all().len();
        let chosen: Vec<Option<usize>> = match design.parts.persistence.exists() || every_one() {
            true => vec![None],
            false => (share as usize % VOLATILE_SHARE..workloads).step_by(VOLATILE_SHARE).map(Some).collect(),
        };
        for workload in chosen {
            let report = crash(&design, &CrashOptions { workload, ..CrashOptions::default() }, &mut |_, _| {});
            assert_eq!(report.complaints(), Vec::<String>::new());
            assert!(report.agrees && (workload.is_some() || report.workloads >= workloads), "{}", design.name);
        }
    });
}

/// Every dead memory of the shortest workloads, attacked in every way, also while lines are being re-encrypted. No old or wrong
/// content is released, and no pad hides two texts before the loss, during recovery or afterwards.
#[test]
fn tampering_while_power_is_off_neither_restores_old_data_nor_reuses_a_pad() {
    for name in ["plp-sp", "plp-pipelined", "plp-coalesced", "plp-sp-sbmf", "plp-sp-dbmf"] {
        for workload in [0, 1, 3] {
            let report = tried(name, &[Loss::TamperingWhileOff, Loss::PadReuseAfterLoss], Some(workload));
            assert_eq!(report.complaints(), Vec::<String>::new());
            assert!(report.tampered > 100, "{} memories are too few to have tried all", report.tampered);
        }
    }
}

/// Nodes of the tree leave the chip in stores that no access waits for, so they are in flight when power fails.
#[test]
fn stores_in_flight_yield_more_possible_memory_images_than_points_of_power_loss() {
    let design = design("plp-sp").unwrap();
    let three_writes = workload::all().iter().position(|work| work.writes == workload::LINES && !work.at_once).unwrap();
    let left = |in_order| {
        let (rows, workload) = (vec![Loss::PowerLoss], Some(three_writes));
        crash(&design, &CrashOptions { rows, workload, in_order, ..CrashOptions::default() }, &mut |_, _| {})
    };
    let (any, in_order) = (left(false), left(true));
    assert_eq!(in_order.torn, 0);
    assert_eq!(any.memories, in_order.memories + any.torn);
    assert!(any.memories > any.points, "{} memories at {} points", any.memories, any.points);
}

#[test]
fn a_volatile_design_is_unrecoverable_after_a_power_loss_and_other_losses_do_not_apply() {
    let report = tried("sc64-bmt", Loss::ALL, Some(0));
    assert_eq!(report.rows[0].worst, Verdict::Unrecoverable);
    assert!(report.rows[1..].iter().all(|row| row.worst == Verdict::NotApplicable && row.agrees));
}

#[test]
fn equal_seeds_give_equal_power_loss_reports_and_another_seed_the_same_verdict() {
    let once = tried("plp-coalesced", &[Loss::PowerLoss], Some(37));
    assert_eq!(once, tried("plp-coalesced", &[Loss::PowerLoss], Some(37)));
    let other = CrashOptions { rows: vec![Loss::PowerLoss], workload: Some(37), seed: 7, ..CrashOptions::default() };
    assert_eq!(crash(&design("plp-coalesced").unwrap(), &other, &mut |_, _| {}).rows[0].worst, once.rows[0].worst);
}
