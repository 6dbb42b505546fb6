//! Bugs of the battery of durable caches, which a loss of power finds.

use casemate_campaign::bus::{Map, Structure};
use casemate_campaign::crash::dying;
use casemate_campaign::crash::history::History;
use casemate_campaign::crash::states::DeadMemory;
use casemate_campaign::crash::workload::{LINES, Workload};
use casemate_campaign::{CrashOptions, crash};
use catalogue::{End, Loss, Verdict, design};
use protection::planted::{Bug, PlantedBug};

/// A few workloads of each kind: one store, several lines, before an overflow, in turn and at once.
const WORKLOADS: [usize; 6] = [0, 1, 37, 50, 83, 100];

/// Returns the worst end of a row over these workloads.
fn ends(name: &str, loss: Loss, bug: Bug) -> End {
    let worst = |workload| {
        let (rows, planted) = (vec![loss], PlantedBug::new(bug));
        let options = CrashOptions { rows, workload: Some(workload), planted, ..CrashOptions::default() };
        crash(&design(name).unwrap(), &options, &mut |_, _| {}).rows[0].worst
    };
    End::worst_of(WORKLOADS.into_iter().map(worst)).unwrap()
}

/// Returns the memory that the battery leaves at the end of a workload's stores, with its history.
fn left(bug: Option<Bug>) -> (History, DeadMemory) {
    let workload = Workload::of_one_core(LINES.to_vec(), true, false);
    let planted = bug.map_or(PlantedBug::NONE, PlantedBug::new);
    let history = History::of(&design("secure-eadr").unwrap(), &workload, 1, planted);
    let last = dying::left(&history, 1).pop().unwrap();
    (history, last)
}

#[test]
fn a_battery_that_stops_before_the_last_line_loses_a_store() {
    let bug = Bug::DirtyLineForgotten;
    assert_eq!(ends("eadr", Loss::PowerLoss, bug), Verdict::Stale);
    assert_eq!(
        ends("secure-eadr", Loss::PowerLoss, bug),
        Verdict::Stale,
        "nothing vouches for what never left the caches"
    );
    assert_eq!(ends("secure-eadr", Loss::PadReuseAfterLoss, bug), Verdict::Hidden, "but no pad serves twice");
    assert_eq!(
        ends("secure-eadr", Loss::TamperingWhileOff, bug),
        Verdict::Stale,
        "what recovery makes of the memory is no excuse if somebody tampers"
    );
}

#[test]
fn a_battery_that_leaves_metadata_or_the_root_on_the_chip_makes_memory_unrecoverable() {
    for bug in [Bug::MetadataNotFlushed, Bug::MetadataBeforeLines, Bug::RootNotSaved] {
        assert_eq!(ends("secure-eadr", Loss::PowerLoss, bug), Verdict::Unrecoverable, "{bug:?}");
        assert_eq!(ends("eadr", Loss::PowerLoss, bug), Verdict::Harmless, "{bug:?}: there is none");
    }
}

/// Power fails again while the chip has no root: before its recovery, or after recovery has refused the memory.
#[test]
fn a_battery_that_saves_an_unrecovered_root_loses_memory_and_accepts_forged_memory() {
    let bug = Bug::RootSavedUnrecovered;
    assert_eq!(ends("secure-eadr", Loss::PowerLoss, bug), Verdict::Harmless);
    assert!(ends("secure-eadr", Loss::LossInRecovery, bug).is_worse_than(Verdict::Harmless.into()));
    assert!(ends("secure-eadr", Loss::TamperingWhileOff, bug).is_worse_than(Verdict::Detected.into()));
}

/// Compares the memory with that of a complete drain: the wrong kinds of lines, and whether the root is right.
#[test]
fn each_planted_battery_bug_of_caches_omits_exactly_its_kind_of_lines_or_the_root() {
    let (history, whole) = left(None);
    let map = Map::new(&history.layout);
    for (bug, lacks_data, lacks_metadata, has_root) in [
        (Bug::DirtyLineForgotten, true, true, true),
        (Bug::MetadataNotFlushed, false, true, true),
        (Bug::MetadataBeforeLines, false, true, true),
        (Bug::RootNotSaved, false, false, false),
    ] {
        let (_, dead) = left(Some(bug));
        assert_eq!((dead.progress, &dead.resident), (whole.progress, &whole.resident), "{bug:?}");
        let other = whole.image.slots().filter(|(slot, content)| dead.image.get(*slot) != Some(*content));
        let (data, metadata): (Vec<_>, Vec<_>) =
            other.map(|(slot, _)| map.structure(slot)).partition(|structure| *structure == Structure::Data);
        assert_eq!((!data.is_empty(), !metadata.is_empty()), (lacks_data, lacks_metadata), "{bug:?}: {metadata:?}");
        assert_eq!(!dead.registers.root.is_empty(), has_root, "{bug:?}");
    }
}
