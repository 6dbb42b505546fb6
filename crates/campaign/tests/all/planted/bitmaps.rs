//! Bugs in the bitmaps of re-ordered lines.

use super::Case;
use super::checks::Check::{Honest, Row};
use super::checks::Found::{Dishonest, Ended};
use super::codes::REORDERED_COUNTER;
use casemate_campaign::Finding;
use catalogue::{Attack, Verdict};
use protection::planted::Bug;

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let garbled = Ended(Verdict::Garbled.into(), Vec::new());
    vec![
        // Words that are verified change places.
        Case::new(Bug::TagWithoutBitmap, row(Attack::FlipBitmap), garbled, Honest).of("fvs-aes"),
        // The tags are those of another order.
        Case::new(Bug::BitmapNotWritten, Honest, Dishonest(Finding::FalseAlarmOfTag), row(Attack::FlipData))
            .of("fvs-aes"),
        // A line comes out in another order than it was written in, verified.
        Case::new(Bug::OrderOfPresentTable, Honest, Dishonest(Finding::WrongValue), row(Attack::FlipData))
            .of("fvs-aes"),
        // Two lines of bitmaps have one pad.
        Case::new(Bug::BitmapValueRepeats, Honest, Dishonest(Finding::PadReuse), row(Attack::FlipData))
            .of(REORDERED_COUNTER),
    ]
}
