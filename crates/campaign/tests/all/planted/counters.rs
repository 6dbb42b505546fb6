//! Bugs in counters, and in the re-encryption that follows their overflows.

use super::Case;
use super::checks::Check::{Ageing, Honest, Overflow, Row, TamperBeforeOverflow};
use super::checks::Found::{Dishonest, Ended, Overflowed};
use super::checks::OVERFLOW_WRITES;
use casemate_campaign::Finding;
use catalogue::{Attack, Verdict};
use protection::planted::Bug;

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    let false_alarm = || Dishonest(Finding::FalseAlarmOfTag);
    let reuse = || Dishonest(Finding::PadReuse);
    let morphable = [
        // Minors of one size, read as if they had another: other lines have other counters than they were written under.
        (Bug::ZccSizeNotStepped, false_alarm()),
        // The group is re-encrypted, but under counters that it had.
        (Bug::MorphableToUniformKeepsMajor, reuse()),
        // All of a half goes back, the written line too.
        (Bug::MorphableRebaseLosesBase, reuse()),
        // The other half goes back, and is not re-encrypted.
        (Bug::SetOverflowForgetsOtherHalf, false_alarm()),
        // The written line gets the pad that it has.
        (Bug::MorphableLargestBeforeWrite, reuse()),
        (Bug::MorphableRebaseLosesWrite, reuse()),
    ];
    let morphable = morphable.map(|(bug, finds)| Case::new(bug, Ageing, finds, row(Attack::SpoofNode)).of("morphable"));
    let all = vec![
        // The second write of a line has the pad of the first: here, of the write that filled the page.
        Case::new(Bug::CounterStandsStill, Overflow, Overflowed(vec![], Some(1)), row(Attack::SpoofNode)),
        // The 128th write after the first begins again with its pad; no line is re-encrypted.
        Case::new(Bug::MinorWraps, Overflow, Overflowed(vec![], Some(128)), row(Attack::ReplayBelowLevel)),
        // Re-encryption comes in time, but starts the numbers again.
        Case::new(Bug::MajorStandsStill, Overflow, Overflowed(vec![127], Some(128)), row(Attack::ReplayBelowLevel)),
        // Safe, and ruinous: each write after the first overflow is an overflow. Nothing but counting shows it.
        Case::new(Bug::MinorsNotReset, Overflow, Overflowed((127..=OVERFLOW_WRITES).collect(), None), Honest),
        Case::new(Bug::ReencryptionTrustsMemory, TamperBeforeOverflow, ended(Verdict::Forged), row(Attack::FlipData)),
        // Only a read of the whole group finds it.
        Case::new(Bug::RenewalSkipsFirst, Ageing, false_alarm(), Honest),
        Case::new(Bug::RenewalSkipsLast, Ageing, false_alarm(), Honest),
        // A page that is renewed twice has the pads of the first time.
        Case::new(Bug::DrawsRepeat, Honest, reuse(), row(Attack::FlipData)).of("cryptopage-fixed"),
        // Other lines keep their ciphertext, and their counters do not fit any more.
        Case::new(Bug::RenewalUnderOldCounter, Overflow, Overflowed(vec![], None), row(Attack::ReplayBelowLevel)),
        // Another page's last line counts with this page's.
        Case::new(Bug::PositionTruncated, Ageing, false_alarm(), Honest),
    ];
    // Writes that overflow nothing drop all copies.
    let eager = Case::new(Bug::CopiesOutliveRenewals, Ageing, false_alarm(), row(Attack::StaleCopy)).of("emcc");
    all.into_iter().chain(morphable).chain([eager]).collect()
}
