//! The bug that only forests can have, and the effects of general tree bugs on them.

use casemate_campaign::{Finding, Options, attack, honest};
use catalogue::{Attack, Design, End, Verdict};
use protection::planted::{Bug, PlantedBug};
use protection::tree::ForestDesign;

/// The bug that is caught here.
pub const BUGS: [Bug; 1] = [Bug::RootDropped];

/// A forest with room for two roots, so that they change all the time.
fn design() -> Design {
    let mut design = catalogue::design("dbmf").unwrap();
    design.parts.tree.forest = Some(ForestDesign::Dynamic { entries: 2, period: 4, threshold: 2 });
    design
}

fn goes_wrong(planted: PlantedBug) -> Option<Finding> {
    honest(&design().parts, 2_000, 1, planted).unwrap().finding
}

fn ends(row: Attack, planted: PlantedBug) -> End {
    attack(&design(), row, &Options { trials: 60, seed: 1, planted }).worst
}

#[test]
fn a_tree_without_a_planted_bug_detects_replays_spoofs_and_flips_without_false_alarms() {
    for row in [Attack::ReplayDataTagCounter, Attack::ReplayBelowLevel, Attack::SpoofNode, Attack::FlipNode] {
        assert_eq!(ends(row, PlantedBug::NONE), Verdict::Detected, "{row}");
    }
    assert_eq!(goes_wrong(PlantedBug::NONE), None);
}

#[test]
fn dropping_a_forest_root_without_folding_raises_a_false_alarm() {
    let planted = PlantedBug::new(Bug::RootDropped);
    // An older copy of the root returns, and passes; its later updates do not match it.
    let expected = [Finding::FalseAlarmOfCounter, Finding::FalseAlarmOfNode(0), Finding::FalseAlarmOfNode(1)];
    assert!(goes_wrong(planted).is_some_and(|finding| expected.contains(&finding)), "{:?}", goes_wrong(planted));
    assert_eq!(ends(Attack::SpoofNode, planted), Verdict::Detected, "but a forged one does not pass");
}

#[test]
fn forest_roots_or_parents_without_updates_raise_a_false_alarm() {
    for bug in [Bug::ParentNotUpdated, Bug::RootNotUpdated] {
        assert_ne!(goes_wrong(PlantedBug::new(bug)), None, "{bug:?}");
    }
}
