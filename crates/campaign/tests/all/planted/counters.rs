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
        // Minors are read with the wrong size, so that some lines have other counters than they were written under.
        (Bug::ZccSizeNotStepped, false_alarm()),
        // The group is re-encrypted, but under earlier counters.
        (Bug::MorphableToUniformKeepsMajor, reuse()),
        // All counters of a half are reset, including that of the written line.
        (Bug::MorphableRebaseLosesBase, reuse()),
        // The counters of the other half are reset, and its lines are not re-encrypted.
        (Bug::SetOverflowForgetsOtherHalf, false_alarm()),
        // The written line gets its present pad again.
        (Bug::MorphableLargestBeforeWrite, reuse()),
        (Bug::MorphableRebaseLosesWrite, reuse()),
    ];
    let morphable = morphable.map(|(bug, finds)| Case::new(bug, Ageing, finds, row(Attack::SpoofNode)).of("morphable"));
    let all = vec![
        // The second write of a line has the pad of the first: here, of the write that filled the page.
        Case::new(Bug::CounterNotAdvanced, Overflow, Overflowed(vec![], Some(1)), row(Attack::SpoofNode)),
        // The 128th write after the first starts again with its pad; no line is re-encrypted.
        Case::new(Bug::MinorWraps, Overflow, Overflowed(vec![], Some(128)), row(Attack::ReplayBelowLevel)),
        // Re-encryption happens in time, but starts the numbers again.
        Case::new(Bug::MajorNotAdvanced, Overflow, Overflowed(vec![127], Some(128)), row(Attack::ReplayBelowLevel)),
        // Safe, but ruinous: each write after the first overflow is an overflow. Only the count of overflows shows it.
        Case::new(Bug::MinorsNotReset, Overflow, Overflowed((127..=OVERFLOW_WRITES).collect(), None), Honest),
        Case::new(Bug::ReencryptionTrustsMemory, TamperBeforeOverflow, ended(Verdict::Forged), row(Attack::FlipData)),
        // Only a read of the whole group finds it.
        Case::new(Bug::RenewalSkipsFirst, Ageing, false_alarm(), Honest),
        Case::new(Bug::RenewalSkipsLast, Ageing, false_alarm(), Honest),
        // A page that is renewed twice has the pads of the first time.
        Case::new(Bug::DrawsRepeat, Honest, reuse(), row(Attack::FlipData)).of("cryptopage-fixed"),
        // Other lines keep their ciphertext, and their counters do not match any more.
        Case::new(Bug::RenewalUnderOldCounter, Overflow, Overflowed(vec![], None), row(Attack::ReplayBelowLevel)),
        // Two lines of a page have one position, and so one counter.
        Case::new(Bug::PositionTruncated, Ageing, false_alarm(), Honest),
    ];
    // Writes without an overflow drop all copies.
    let eager = Case::new(Bug::CopiesOutliveRenewals, Ageing, false_alarm(), row(Attack::StaleCopy)).of("emcc");
    all.into_iter().chain(morphable).chain([eager]).collect()
}
