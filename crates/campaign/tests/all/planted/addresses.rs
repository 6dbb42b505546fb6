//! Bugs in permuted lines: bugs by which addresses on the bus reveal the accessed lines of a chunk, and two further
//! bugs.

use super::Case;
use super::checks::Check::Row;
use super::checks::Found::Ended;
use catalogue::{Attack, Verdict};
use protection::planted::{Bug, ChunkBug};

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 4);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    let case = |bug, row, ends, other| Case::new(Bug::OfChunks(bug), row, ended(ends), other).of("cryptopage");
    let shows = |bug| case(bug, row(Attack::AddressPattern), Verdict::Leaked, row(Attack::FlipData));
    vec![
        // A line always has the same slot,
        shows(ChunkBug::RecordTableKept),
        // two lines are in slots as far apart as the lines,
        shows(ChunkBug::TableTurned),
        // most lines are in the slot of their number,
        shows(ChunkBug::TableBarelyMixed),
        // a line is in the slot that was written in its turn,
        shows(ChunkBug::SweepByLine),
        // a line is fetched again from its earlier slot, since it has left the cache before its chunk was permuted.
        shows(ChunkBug::FillLeavesUnlocked),
        // or all starts of a program with the same keys have the same slots.
        shows(ChunkBug::DrawsFromKeys),
        // A fill reads a blank slot if no program has used the line.
        case(ChunkBug::UnusedLinesBlank, row(Attack::AddressAndData), Verdict::Leaked, row(Attack::FlipData)),
        // Two texts of a slot are under one pad.
        case(ChunkBug::PadNumberKept, row(Attack::FalseAlarm), Verdict::Leaked, row(Attack::AddressPattern)),
        // A line passes in the slot of another line of its chunk.
        case(ChunkBug::CodeWithoutSlot, Row(Attack::SpliceDataTag, 60), Verdict::Garbled, row(Attack::AddressPattern)),
    ]
}
