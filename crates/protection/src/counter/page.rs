//! Page records: a number drawn at random for a page, and for each of its 64 lines whether it was written under it
//! (the page information of CryptoPage, Duc and Keryell, ACSAC 2006, section 2.3).
//!
//! ```text
//! bit 0        64                                    448                          512
//!     | number | where each line of the page lies    | mark 0 | mark 1 | ... | mark 63 |
//!     | 64 bit | 64 x 6 bit, left to who permutes it | 1 bit  |                        |
//! ```
//! The effective counter of a line is `number << 1 | mark`: one pad for what a renewal re-encrypts and one for the single write
//! that may follow. A second write overflows: another number is drawn, and the whole page is re-encrypted under it.
//!
//! In the paper it is the locking of lines in the caches that makes a page renew itself before a second write; the marks
//! take its place, so that a record is safe without it. The paper's two numbers, one for pads and one for codes, are one
//! here, for pads and codes have keys of their own. Its pads name the page's number and the line's place in the page; ours
//! name the whole address, so that only draws of the same page must differ: of 64 bits, about 2^32 of them do.

use super::{Age, Next, bits};
use crate::planted::{Bug, Planted};
use units::{LINES_PER_PAGE, Line, ZERO_LINE};

/// Lines of a page.
pub(super) const POSITIONS: usize = LINES_PER_PAGE;

const NUMBER_BITS: u32 = 64;
const MARKS_START: usize = 448;

pub(super) fn read(line: &Line, position: usize) -> u128 {
    let mark = bits::get(line, MARKS_START + position, 1);
    u128::from(bits::get(line, 0, NUMBER_BITS)) << 1 | u128::from(mark)
}

/// What one more write makes of a record, if `drawn` is the next number. Where lines lie is no line's counter.
pub(super) fn next(line: &Line, position: usize, drawn: u64, planted: Planted) -> Next {
    let mut next = *line;
    if bits::get(line, MARKS_START + position, 1) == 0 {
        bits::set(&mut next, MARKS_START + position, 1, 1);
        return Next::Advanced(next);
    }
    if !planted.has(Bug::MajorStandsStill) {
        // Zero is the number of a page that was never renewed.
        bits::set(&mut next, 0, NUMBER_BITS, drawn.max(1));
    }
    bits::set(&mut next, MARKS_START, POSITIONS as u32, 0);
    Next::Renewed(next, 0..POSITIONS)
}

/// Two writes of a line are a long life already, and there is no full width.
pub(super) fn aged(_: Age) -> Line {
    ZERO_LINE
}
