//! Bugs that only trees of counters can have, and the effects of general tree bugs on them.

use casemate_campaign::bus::Structure;
use casemate_campaign::victim::Victim;
use casemate_campaign::{Finding, Options, attack, honest};
use catalogue::{Attack, Design, End, Verdict};
use protection::design::{CounterChoice, Parts, TreeDesign, TreeKind};
use protection::planted::{Bug, PlantedBug};
use units::LineAddr;

/// Bugs that are caught here.
pub const BUGS: [Bug; 4] =
    [Bug::MacWithoutVersion, Bug::RenewalTrustsMemory, Bug::FirstChildNotRenewed, Bug::MacAddressTruncated];

/// SGX's counters below nodes with 3-bit versions, which overflow all the time.
fn design() -> Design {
    let mut design = catalogue::design("sc64-bmt").unwrap();
    design.parts.counters = CounterChoice::Mono56;
    design.parts.tree =
        TreeDesign { levels: vec![CounterChoice::Mono56, CounterChoice::Sc128], ..TreeKind::Counters.into() };
    design
}

fn ends(row: Attack, planted: PlantedBug) -> (End, Vec<End>) {
    let outcome = attack(&design(), row, &Options { trials: 60, seed: 1, planted });
    (outcome.worst, outcome.worst_by_level)
}

fn goes_wrong(parts: &Parts, planted: PlantedBug) -> Option<Finding> {
    honest(parts, 2_000, 1, planted).unwrap().finding
}

/// Replays an old line, its tag and its counters, then writes a neighbour until the node above gives all its children new
/// versions. Returns the verdict on the old line.
fn replay_before_a_renewal(planted: PlantedBug) -> Verdict {
    let mut victim = Victim::blank(&design().parts, 1, planted).unwrap();
    // Children of one node of level 1, so of nodes of level 0 that are renewed together.
    let (target, neighbour) = (LineAddr(0), LineAddr(64));
    let old = [Structure::Data, Structure::Tag, Structure::Counter, Structure::Node(0)];
    victim.write(target, &[1; 64]);
    victim.machine().flush();
    let recorded = victim.attacked(|bus| old.map(|structure| bus.read_structure(structure, target)));
    victim.write(target, &[2; 64]);
    victim.machine().flush();
    victim.attacked(|bus| {
        for (structure, content) in old.into_iter().zip(recorded) {
            let (slot, _) = bus.map().slot_bytes(structure, target).unwrap();
            bus.write(slot, &content.unwrap());
        }
    });
    for write in 0..10 {
        if victim.write(neighbour, &[write; 64]).or(victim.machine().flush()).is_some() {
            return Verdict::Detected;
        }
    }
    victim.oracle().judge(target, &victim.read(target).0, None)
}

#[test]
fn a_tree_without_a_planted_bug_detects_replays_spoofs_and_flips_without_false_alarms() {
    for row in [Attack::ReplayDataTagCounter, Attack::ReplayBelowLevel, Attack::SpoofNode, Attack::FlipNode] {
        assert_eq!(ends(row, PlantedBug::NONE).0, Verdict::Detected, "{row}");
    }
    assert_eq!(goes_wrong(&design().parts, PlantedBug::NONE), None);
    assert_eq!(replay_before_a_renewal(PlantedBug::NONE), Verdict::Detected);
}

#[test]
fn an_old_counter_line_passes_if_its_mac_does_not_cover_the_version() {
    let planted = PlantedBug::new(Bug::MacWithoutVersion);
    assert_eq!(ends(Attack::ReplayDataTagCounter, planted).0, Verdict::Stale);
    assert_eq!(ends(Attack::SpoofNode, planted).0, Verdict::Detected, "but a forged one does not");
}

#[test]
fn a_renewal_that_does_not_verify_old_lines_gives_a_replay_a_valid_mac() {
    let planted = PlantedBug::new(Bug::RenewalTrustsMemory);
    assert_eq!(replay_before_a_renewal(planted), Verdict::Stale);
    assert_eq!(ends(Attack::ReplayBelowLevel, planted).0, Verdict::Detected, "but without a renewal it is found out");
}

#[test]
fn a_tree_child_skipped_by_a_renewal_raises_a_false_alarm() {
    let planted = PlantedBug::new(Bug::FirstChildNotRenewed);
    let found: Vec<Finding> =
        (0..8).filter_map(|seed| honest(&design().parts, 4_000, seed, planted).unwrap().finding).collect();
    let is_child = |finding: &Finding| matches!(finding, Finding::FalseAlarmOfCounter | Finding::FalseAlarmOfNode(_));
    assert!(!found.is_empty() && found.iter().all(is_child), "{found:?}");
    assert_eq!(ends(Attack::ReplayBelowLevel, planted).0, Verdict::Detected, "but old children are found out");
}

#[test]
fn version_trees_need_parent_updates_and_counter_verification() {
    // In a tree of tags this is a false alarm; here the child is sealed under a version that does not advance.
    let planted = PlantedBug::new(Bug::ParentNotUpdated);
    assert_ne!(goes_wrong(&design().parts, planted), None);
    let planted = PlantedBug::new(Bug::CounterUnverified);
    assert_eq!(ends(Attack::ReplayDataTagCounter, planted).0, Verdict::Stale);
}

/// Two counter lines at this distance in slots are written to memory equally often, one with higher counters than the
/// other. They are exchanged, and the line with the higher counter is written. Returns whether the write is refused, and
/// whether it uses a pad again.
fn exchanged_before_a_write(distance: u64, planted: PlantedBug) -> (bool, bool) {
    let mut victim = Victim::blank(&design().parts, 1, planted).unwrap();
    let target = LineAddr(5);
    let other = LineAddr(target.0 + distance * victim.map().lines_each(Structure::Counter));
    for (line, byte) in [(target, 1), (target, 2), (target, 3), (other, 4)] {
        victim.write(line, &[byte; 64]);
    }
    victim.machine().flush();
    victim.attacked(|bus| {
        let slots = [target, other].map(|line| bus.map().slot_bytes(Structure::Counter, line).unwrap().0);
        let content = slots.map(|slot| bus.read(slot));
        bus.write(slots[0], &content[1]);
        bus.write(slots[1], &content[0]);
    });
    let refused = victim.write(target, &[9; 64]).is_some();
    (refused, victim.memory().keystream_reuse().is_some())
}

#[test]
fn counter_lines_4096_apart_can_be_swapped_if_their_macs_truncate_the_address() {
    let planted = PlantedBug::new(Bug::MacAddressTruncated);
    for distance in [1, 8, 4096, 8192] {
        assert_eq!(exchanged_before_a_write(distance, PlantedBug::NONE), (true, false), "{distance}");
    }
    assert_eq!(exchanged_before_a_write(4096, planted), (false, true));
    assert_eq!(exchanged_before_a_write(8, planted), (true, false), "but not those beside each other");
    assert_eq!(ends(Attack::ReplayBelowLevel, planted).0, Verdict::Detected, "nor old ones");
}
