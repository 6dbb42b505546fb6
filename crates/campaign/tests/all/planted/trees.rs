//! Bugs in trees, and in how metadata comes to the chip and leaves it.

use super::Case;
use super::checks::Check::{EqualNodes, Honest, Row, ZeroCounters, ZeroLine};
use super::checks::Found::{Alike, Dishonest, Ended, Overflowed};
use casemate_campaign::Finding;
use catalogue::{Attack, Verdict};
use protection::planted::Bug;

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    let (detected, stale) = (Verdict::Detected.into(), Verdict::Stale.into());
    vec![
        // Only the replay of the last stored level too is missed: everything below is still checked.
        Case::new(
            Bug::TreeStopsALevelEarly,
            row(Attack::ReplayBelowLevel),
            Ended(stale, vec![detected, detected, detected, stale]),
            row(Attack::ReplayDataTagCounter),
        ),
        // The replay of the lowest nodes, too: everything above is still checked.
        Case::new(
            Bug::LowestNodesUnverified,
            row(Attack::ReplayBelowLevel),
            Ended(stale, vec![detected, stale, detected, detected]),
            row(Attack::ReplayDataTagCounter),
        ),
        // The opposite: old counters pass, whatever the node above says; old nodes are still found out.
        Case::new(
            Bug::CounterUnverified,
            row(Attack::ReplayDataTagCounter),
            ended(Verdict::Stale),
            row(Attack::SpoofNode),
        ),
        // No way to use this is known, since each node is pinned by its parent; but the attacker learns which nodes are alike.
        Case::new(Bug::NodeWithoutAddress, EqualNodes, Alike, row(Attack::ReplayBelowLevel)),
        // A write under counters that are zero again: its pad is that of the first write.
        Case::new(Bug::BlankFits, ZeroCounters, Overflowed(vec![], Some(1)), row(Attack::SpoofCounter)),
        Case::new(Bug::ParentNotUpdated, Honest, Dishonest(Finding::FalseAlarmOfCounter), row(Attack::SpoofData)),
        Case::new(Bug::RootNotUpdated, Honest, Dishonest(Finding::FalseAlarmOfNode(2)), EqualNodes),
        Case::new(Bug::TagsDropped, Honest, Dishonest(Finding::FalseAlarmOfTag), EqualNodes),
        Case::new(Bug::CountersDropped, Honest, Dishonest(Finding::FalseAlarmOfCounter), ZeroLine),
        Case::new(Bug::NodesDropped, Honest, Dishonest(Finding::FalseAlarmOfNode(0)), ZeroLine),
        // Memory and its parent have an older one, which comes back.
        Case::new(Bug::CalledBackClean, Honest, Dishonest(Finding::FalseAlarmOfNode(1)), ZeroLine),
        // Nothing but memory's older counters is left.
        Case::new(Bug::RecalledClean, Honest, Dishonest(Finding::PadReuse), ZeroLine).of("sc64-bmt-llc"),
        // Neither memory nor any node above knows: the old counter is used again.
        Case::new(Bug::EvictionForgetsDirty, Honest, Dishonest(Finding::PadReuse), ZeroLine),
    ]
}
