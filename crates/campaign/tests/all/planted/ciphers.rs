//! Bugs in the inputs and keys of a cipher.

use super::Case;
use super::checks::Check::{ChosenCiphertext, EqualBlocks, Honest, Overflow, Row, SpliceFrom};
use super::checks::Found::{Alike, Dishonest, Ended, Overflowed};
use casemate_campaign::Finding;
use catalogue::{Attack, Verdict};
use protection::planted::Bug;

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    vec![
        Case::new(Bug::PadWithoutAddress, Honest, Dishonest(Finding::PadReuse), row(Attack::SpliceDataTag)),
        // Lines of one page have different pads, but all pages have the same ones.
        Case::new(Bug::PadAddressTruncated, Honest, Dishonest(Finding::PadReuse), Overflow),
        // Each write of a line has the pad of the one before: here, of the write that filled the page.
        Case::new(Bug::PadWithoutCounter, Overflow, Overflowed(vec![], Some(1)), SpliceFrom(1)),
        // The pads repeat with the minors, whatever the major is.
        Case::new(Bug::PadCounterTruncated, Overflow, Overflowed(vec![127], Some(128)), SpliceFrom(1)),
        // Blocks of a line have the same pad: their difference is visible.
        Case::new(Bug::BlockIndexMissing, EqualBlocks, Alike, row(Attack::FlipData)),
        // One bit in eight of a line's content is visible in memory, and all lines together show it.
        Case::new(
            Bug::PadTopBitsMissing,
            row(Attack::CiphertextHistogram),
            ended(Verdict::Leaked),
            row(Attack::BusDictionary),
        ),
        // Equal blocks are visible too, wherever they are.
        Case::new(
            Bug::BlockIndexMissing,
            row(Attack::CiphertextHistogram),
            ended(Verdict::Leaked),
            row(Attack::BusDictionary),
        ),
        // Bytes recorded before the machine was switched off pass as new.
        Case::new(Bug::KeysSurviveReset, row(Attack::PowerOffRollback), ended(Verdict::Stale), row(Attack::FlipData))
            .of("ctr-mac"),
        // Lines 4 GB apart open in each other's slots.
        Case::new(Bug::AddressWithoutHighBits, row(Attack::SpliceData), ended(Verdict::Forged), row(Attack::FlipData))
            .of("xts"),
        // A line of zeros in a slot reveals the mask of the slot.
        Case::new(Bug::OneKeyForDataAndTweak, ChosenCiphertext, ended(Verdict::Forged), row(Attack::SpliceData))
            .of("xts"),
    ]
}
