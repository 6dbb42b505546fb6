//! Bugs in lines that move: of those that let addresses show which lines of a chunk are accessed, and of some others.

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
        // The same line comes from the same slot,
        shows(ChunkBug::RecordTableKept),
        // two lines from slots as far apart as they are,
        shows(ChunkBug::TableTurned),
        // most from the slot of their number,
        shows(ChunkBug::TableBarelyMixed),
        // a line from the slot that was written when it was its turn,
        shows(ChunkBug::SweepByLine),
        // or once more from the slot that it came from, since it has left the cache before its chunk was permuted.
        shows(ChunkBug::FillLeavesUnlocked),
        // Two texts of a slot are under one pad.
        case(ChunkBug::PadNumberKept, row(Attack::FalseAlarm), Verdict::Leaked, row(Attack::AddressPattern)),
        // A line fits in the slot of another of its chunk.
        case(ChunkBug::CodeWithoutSlot, Row(Attack::SpliceDataTag, 60), Verdict::Garbled, row(Attack::AddressPattern)),
    ]
}
