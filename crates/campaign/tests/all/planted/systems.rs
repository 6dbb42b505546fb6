//! Bugs in the rights of an operating system over records of pages.

use super::Case;
use super::checks::Check::Row;
use super::checks::Found::Ended;
use catalogue::{Attack, Verdict};
use protection::planted::{Bug, PageChunkBug};

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 8);
    let case = |bug, attack, ends: Verdict| {
        let other = row(Attack::OsSwappedSiblings);
        Case::new(Bug::OfPageChunks(bug), row(attack), Ended(ends.into(), Vec::new()), other).of("cryptopage-os")
    };
    vec![
        // An old page passes with the parents of its time.
        case(PageChunkBug::ParentFromBuffer, Attack::OsParentInBuffer, Verdict::Stale),
        // The process continues with the record of another page, and reads the lines of that page in its frame.
        case(PageChunkBug::RecordForMissedPage, Attack::OsOtherPage, Verdict::Garbled),
        // An interrupted walk aborts the process, instead of being started again.
        case(PageChunkBug::EmptyLineRaises, Attack::OsNoService, Verdict::Detected),
    ]
}
