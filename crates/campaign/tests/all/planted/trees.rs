//! Bugs in trees, and in the transfer of metadata between chip and memory.

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
        // The design misses only a replay that includes the last stored level: it still checks everything below.
        Case::new(
            Bug::TreeStopsALevelEarly,
            row(Attack::ReplayBelowLevel),
            Ended(stale, vec![detected, detected, detected, stale]),
            row(Attack::ReplayDataTagCounter),
        ),
        // The design misses a replay that includes the lowest nodes: it still checks everything above.
        Case::new(
            Bug::LowestNodesUnverified,
            row(Attack::ReplayBelowLevel),
            Ended(stale, vec![detected, stale, detected, detected]),
            row(Attack::ReplayDataTagCounter),
        ),
        // The opposite: old counters pass, whatever the node above contains; old nodes are still detected.
        Case::new(
            Bug::CounterUnverified,
            row(Attack::ReplayDataTagCounter),
            ended(Verdict::Stale),
            row(Attack::SpoofNode),
        ),
        // No attack with this bug is known, since each node is verified by its parent; but the attacker learns which nodes are
        // equal.
        Case::new(Bug::NodeWithoutAddress, EqualNodes, Alike, row(Attack::ReplayBelowLevel)),
        // A write under counters that are zero again: its pad is that of the first write.
        Case::new(Bug::BlankFits, ZeroCounters, Overflowed(vec![], Some(1)), row(Attack::SpoofCounter)),
        Case::new(Bug::ParentNotUpdated, Honest, Dishonest(Finding::FalseAlarmOfCounter), row(Attack::SpoofData)),
        Case::new(Bug::RootNotUpdated, Honest, Dishonest(Finding::FalseAlarmOfNode(2)), EqualNodes),
        Case::new(Bug::TagsDropped, Honest, Dishonest(Finding::FalseAlarmOfTag), EqualNodes),
        Case::new(Bug::CountersDropped, Honest, Dishonest(Finding::FalseAlarmOfCounter), ZeroLine),
        Case::new(Bug::NodesDropped, Honest, Dishonest(Finding::FalseAlarmOfNode(0)), ZeroLine),
        // Memory and its parent have an older copy, and the chip fetches it again.
        Case::new(Bug::CalledBackClean, Honest, Dishonest(Finding::FalseAlarmOfNode(1)), ZeroLine),
        // Only the older counters in memory remain.
        Case::new(Bug::RecalledClean, Honest, Dishonest(Finding::PadReuse), ZeroLine).of("sc64-bmt-llc"),
        // Neither memory nor any node above has the new counter: the old one is used again.
        Case::new(Bug::EvictionForgetsDirty, Honest, Dishonest(Finding::PadReuse), ZeroLine),
    ]
}
