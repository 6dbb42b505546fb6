//! Bugs in permuted lines: bugs by which addresses on the bus reveal the accessed lines of a page chunk, and two
//! further bugs.

use super::Case;
use super::checks::Check::Row;
use super::checks::Found::Ended;
use catalogue::{Attack, Verdict};
use protection::planted::{Bug, PageChunkBug};

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 4);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    let case = |bug, row, ends, other| Case::new(Bug::OfPageChunks(bug), row, ended(ends), other).of("cryptopage");
    let shows = |bug| case(bug, row(Attack::AddressPattern), Verdict::Leaked, row(Attack::FlipData));
    vec![
        // A line always has the same slot,
        shows(PageChunkBug::RecordTableKept),
        // two lines are in slots as far apart as the lines,
        shows(PageChunkBug::TableTurned),
        // most lines are in the slot of their number,
        shows(PageChunkBug::TableBarelyMixed),
        // a line is in the slot that was written in its turn,
        shows(PageChunkBug::SweepByLine),
        // a line is fetched again from its earlier slot, since it has left the cache before its page chunk was
        // permuted.
        shows(PageChunkBug::FillLeavesUnlocked),
        // or all starts of a program with the same keys have the same slots.
        shows(PageChunkBug::DrawsFromKeys),
        // A fill reads a blank slot if no program has used the line.
        case(PageChunkBug::UnusedLinesBlank, row(Attack::AddressAndData), Verdict::Leaked, row(Attack::FlipData)),
        // Two texts of a slot are under one pad.
        case(PageChunkBug::PadNumberKept, row(Attack::FalseAlarm), Verdict::Leaked, row(Attack::AddressPattern)),
        // A line passes in the slot of another line of its page chunk.
        case(
            PageChunkBug::CodeWithoutSlot,
            Row(Attack::SpliceDataTag, 60),
            Verdict::Garbled,
            row(Attack::AddressPattern),
        ),
    ]
}
