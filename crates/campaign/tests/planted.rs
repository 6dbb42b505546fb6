//! The test of the tests: is every planted bug caught, and caught for its own reason?
//!
//! Each bug stands beside the check that catches it and the finding expected of it, and beside a check that it gets past:
//! one that catches a bug of another kind. So no check earns its place by catching everything, and no bug is caught by
//! some accident of another. The control is the design without a bug, which passes every check named here.

use casemate_campaign::bus::Structure;
use casemate_campaign::victim::Victim;
use casemate_campaign::{Finding, Options, ageing, attack, honest, overflow, tamper_before_overflow};
use protection::counter::Age;
use protection::design::CounterChoice;
use protection::mac;
use protection::planted::{Bug, Planted};
use std::collections::BTreeSet;
use systems::{Attack, Design, Verdict};
use units::LineAddr;

/// A named check of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    /// A row of a campaign, with this many trials, against its claim.
    Row(Attack, u64),
    /// An honest run: false alarms, wrong values, reused pads.
    Honest,
    /// A page whose hot line overflows three times.
    Overflow,
    /// Two groups written at random from before a renewal on: each change of format, each kind of overflow.
    Ageing,
    /// A bit flipped before a page is re-encrypted.
    TamperBeforeOverflow,
    /// Equal lines of counters in different places must have different tags in their parent.
    EqualNodes,
}

/// What a check finds.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Found {
    Nothing,
    /// A row ended so, and not as claimed; for rows with levels, how each level ended.
    Ended(Verdict, Vec<Verdict>),
    /// The honest run went wrong.
    Dishonest(Finding),
    /// Pages were re-encrypted at these writes, and a pad was reused at that one.
    Overflowed(Vec<u64>, Option<u64>),
    /// The attacker can see that two nodes are alike.
    Alike,
}

const HONEST_ACCESSES: u64 = 2_000;
/// Enough for counters to become uniform, to be rebased and to overflow on both sides.
const AGEING_WRITES: u64 = 6_000;
/// Three overflows of a 7-bit counter that the filling of the page has moved to one already.
const OVERFLOW_WRITES: u64 = 127 + 128 + 128;

fn run(check: Check, design: &Design, planted: Planted) -> Found {
    let parts = &design.parts;
    match check {
        Check::Row(row, trials) => {
            let outcome = attack(design, row, &Options { trials, seed: 1, planted });
            if outcome.agrees { Found::Nothing } else { Found::Ended(outcome.worst, outcome.worst_by_level) }
        }
        Check::Honest => match honest(parts, HONEST_ACCESSES, 1, planted).unwrap().finding {
            Some(finding) => Found::Dishonest(finding),
            None => Found::Nothing,
        },
        Check::Overflow => {
            let report = overflow(parts, OVERFLOW_WRITES, 1, planted).unwrap();
            match (report.renewals.as_slice(), report.pad_reuse, report.readable) {
                ([127, 255, 383], None, true) => Found::Nothing,
                _ => Found::Overflowed(report.renewals, report.pad_reuse),
            }
        }
        Check::Ageing => match ageing(parts, Age::BeforeRenewal, AGEING_WRITES, 1, planted).unwrap().finding {
            Some(finding) => Found::Dishonest(finding),
            None => Found::Nothing,
        },
        Check::TamperBeforeOverflow => match tamper_before_overflow(parts, OVERFLOW_WRITES, 1, planted).unwrap() {
            Verdict::Detected => Found::Nothing,
            other => Found::Ended(other, Vec::new()),
        },
        Check::EqualNodes => equal_nodes(design, planted),
    }
}

/// Two pages with one write each, to the same line of each, have equal lines of counters side by side.
fn equal_nodes(design: &Design, planted: Planted) -> Found {
    let mut victim = Victim::blank(&design.parts, 1, planted).unwrap();
    let lines = [LineAddr(3), LineAddr(64 + 3)];
    for line in lines {
        victim.write(line, &[line.0 as u8; 64]);
    }
    victim.flush();
    let [first, second] = lines.map(|line| victim.attacked(|bus| bus.read_place(Structure::Counter, line)));
    assert!(first.is_some() && first == second, "the scene is set: equal counters");
    let node = victim.attacked(|bus| bus.read_place(Structure::Node(0), lines[0])).unwrap();
    if mac::entry(&node, 0) == mac::entry(&node, 1) { Found::Alike } else { Found::Nothing }
}

/// A bug, the check that catches it, what that finds, and a check that the bug gets past.
type Case = (Bug, Check, Found, Check);

fn cases() -> Vec<Case> {
    use Check::{Ageing, EqualNodes, Honest, Overflow, Row, TamperBeforeOverflow};
    use Found::{Alike, Dishonest, Ended, Overflowed};
    let row = |attack| Row(attack, 60);
    let ended = |verdict| Ended(verdict, Vec::new());
    let detected = Verdict::Detected;
    vec![
        // A line's data and tag, moved to a line whose counter happens to be equal, fit there.
        (Bug::TagWithoutAddress, row(Attack::SpliceDataTag), ended(Verdict::Garbled), row(Attack::ReplayDataTag)),
        // A line's old data and old tag fit each other under any counter.
        (Bug::TagWithoutCounter, row(Attack::ReplayDataTag), ended(Verdict::Garbled), row(Attack::SpliceDataTag)),
        // One forgery in 256 passes: many tries, and only many.
        (Bug::ShortComparison, Row(Attack::SpoofData, 2_000), ended(Verdict::Garbled), Honest),
        // The alarm comes, but the flipped bit is out already.
        (Bug::ReleaseBeforeVerdict, row(Attack::FlipData), ended(Verdict::Forged), Honest),
        (Bug::PadWithoutAddress, Honest, Dishonest(Finding::PadReuse), row(Attack::SpliceDataTag)),
        // The second write of a line has the pad of the first: here, of the write that filled the page.
        (Bug::CounterStandsStill, Overflow, Overflowed(vec![], Some(1)), row(Attack::SpoofNode)),
        // The 128th write after the first begins again with its pad; nobody is re-encrypted.
        (Bug::MinorWraps, Overflow, Overflowed(vec![], Some(128)), row(Attack::ReplayBelowLevel)),
        // Re-encryption comes in time, but starts the numbers again.
        (Bug::MajorStandsStill, Overflow, Overflowed(vec![127], Some(128)), row(Attack::ReplayBelowLevel)),
        // Safe, and ruinous: each write after the first overflow is an overflow. Nothing but counting shows it.
        (Bug::MinorsNotReset, Overflow, Overflowed((127..=OVERFLOW_WRITES).collect(), None), Honest),
        // Minors of one size, read as if they had another: other lines have other counters than they were written under.
        (Bug::ZccSizeNotStepped, Ageing, Dishonest(Finding::FalseAlarmOfTag), row(Attack::SpoofNode)),
        // The group is re-encrypted, but under counters that it had.
        (Bug::MorphableToUniformKeepsMajor, Ageing, Dishonest(Finding::PadReuse), row(Attack::SpoofNode)),
        // All of a half goes back, the written line too.
        (Bug::MorphableRebaseLosesBase, Ageing, Dishonest(Finding::PadReuse), row(Attack::SpoofNode)),
        // The other half goes back, and nobody re-encrypts it.
        (Bug::SetOverflowForgetsOtherHalf, Ageing, Dishonest(Finding::FalseAlarmOfTag), row(Attack::SpoofNode)),
        (Bug::ReencryptionTrustsMemory, TamperBeforeOverflow, ended(Verdict::Forged), row(Attack::FlipData)),
        // Only the replay of the last stored level too is missed: everything below is still checked.
        (
            Bug::TreeStopsALevelEarly,
            row(Attack::ReplayBelowLevel),
            Ended(Verdict::Stale, vec![detected, detected, detected, Verdict::Stale]),
            row(Attack::ReplayDataTagCounter),
        ),
        // The opposite: old counters pass, whatever the node above says; old nodes are still found out.
        (Bug::CounterUnverified, row(Attack::ReplayDataTagCounter), ended(Verdict::Stale), row(Attack::SpoofNode)),
        // No way to use this is known, since each node is pinned by its parent; but the attacker learns who is alike.
        (Bug::NodeWithoutAddress, EqualNodes, Alike, row(Attack::ReplayBelowLevel)),
        (Bug::ParentNotUpdated, Honest, Dishonest(Finding::FalseAlarmOfCounter), row(Attack::SpoofData)),
        (Bug::TagsDropped, Honest, Dishonest(Finding::FalseAlarmOfTag), EqualNodes),
        (Bug::RootNotUpdated, Honest, Dishonest(Finding::FalseAlarmOfNode(2)), EqualNodes),
    ]
}

/// The design with a tree, with the counters that have the bug.
fn design(bug: Bug) -> Design {
    let mut design = systems::design("sc64-bmt").unwrap();
    let of_morphable = [
        Bug::ZccSizeNotStepped,
        Bug::MorphableToUniformKeepsMajor,
        Bug::MorphableRebaseLosesBase,
        Bug::SetOverflowForgetsOtherHalf,
    ];
    if of_morphable.contains(&bug) {
        design.parts.counters = CounterChoice::Morphable;
    }
    design
}

#[test]
fn every_planted_bug_is_caught_for_its_own_reason() {
    let mut wrong = Vec::new();
    for (bug, check, expected, _) in cases() {
        let found = run(check, &design(bug), Planted::new(bug));
        if found != expected {
            wrong.push(format!("{bug:?}: {check:?} found {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_planted_bug_gets_past_a_check_that_is_meant_for_others() {
    for (bug, _, _, other) in cases() {
        assert_eq!(run(other, &design(bug), Planted::new(bug)), Found::Nothing, "{bug:?}: {other:?}");
    }
}

#[test]
fn the_design_without_a_bug_passes_the_very_same_checks() {
    for (bug, check, _, other) in cases() {
        for check in [check, other] {
            assert_eq!(run(check, &design(bug), Planted::NONE), Found::Nothing, "{check:?}");
        }
    }
}

/// The bugs that only trees of counters can have; `planted_in_trees.rs` has their cases.
const IN_TREES_OF_COUNTERS: [Bug; 2] = [Bug::MacWithoutVersion, Bug::RenewalTrustsMemory];

#[test]
fn no_planted_bug_is_forgotten() {
    let caught: BTreeSet<Bug> = cases().iter().map(|case| case.0).chain(IN_TREES_OF_COUNTERS).collect();
    assert!(caught.into_iter().eq(BTreeSet::from(Bug::ALL)));
}
