//! Bugs in tags, in how they are compared, and in what is done about it.

use super::Case;
use super::checks::Check::{EveryBit, Honest, Overflow, Row, SpliceFrom, ZeroLine, ZeroTag};
use super::checks::Found::{Ended, Unnoticed};
use catalogue::{Attack, Verdict};
use protection::planted::Bug;

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    let garbled = || ended(Verdict::Garbled);
    vec![
        // A line's data and tag, moved to a line whose counter happens to be equal, fit there.
        Case::new(Bug::TagWithoutAddress, row(Attack::SpliceDataTag), garbled(), row(Attack::ReplayDataTag)),
        // They fit at the same place of another page,
        Case::new(Bug::TagAddressTruncated, SpliceFrom(64), garbled(), SpliceFrom(1)),
        // or with their own.
        Case::new(Bug::TagNamesLineOfTags, SpliceFrom(1), garbled(), SpliceFrom(8)),
        // A line's old data and old tag fit each other under any counter.
        Case::new(Bug::TagWithoutCounter, row(Attack::ReplayDataTag), garbled(), row(Attack::SpliceDataTag)),
        // Flips there come out, one for one.
        Case::new(Bug::TagWithoutLastBlock, row(Attack::FlipData), ended(Verdict::Forged), SpliceFrom(1)),
        // So do flips in the last of four lines under one tag.
        Case::new(Bug::GroupTagWithoutLast, row(Attack::FlipData), ended(Verdict::Forged), Honest).of("sc64-bmt-mac4"),
        // One forgery in 256 passes: many tries, and only many.
        Case::new(Bug::ShortComparison, Row(Attack::SpoofData, 2_000), garbled(), Honest),
        // No way to use this is known, but 8 bits of each tag in use can be anything: another tenant's message, say.
        Case::new(
            Bug::SpareTagBitsIgnored,
            EveryBit("tag"),
            Unnoticed(65 * 8, Verdict::Detected),
            row(Attack::SpoofTag),
        ),
        Case::new(Bug::ZeroTagFits, ZeroTag, garbled(), row(Attack::SpoofTag)),
        Case::new(Bug::BlankLinePasses, ZeroLine, garbled(), row(Attack::SpoofData)),
        // The alarm comes, but the flipped bit is out already.
        Case::new(Bug::ReleaseBeforeVerdict, row(Attack::FlipData), ended(Verdict::Forged), Honest),
        // Nothing comes out, and nothing is said: the core waits for ever.
        Case::new(Bug::FaultSwallowed, row(Attack::FlipData), garbled(), Overflow),
    ]
}
