//! Page records: a number drawn at random for a page, and a mark for each of its 64 lines. A line has its mark if it was
//! written under the number (the page information of CryptoPage, Duc and Keryell, ACSAC 2006, section 2.3).
//!
//! ```text
//! bit 0        64                                    448                          512
//!     | number | where each line of the page lies    | mark 0 | mark 1 | ... | mark 63 |
//!     | 64 bit | 64 x 6 bit, left to who permutes it | 1 bit  |                        |
//! ```
//! The effective counter of a line is `number << 1 | mark`. So each number gives a line two pads: one for the
//! re-encryption by a renewal, and one for the single write that may follow. A second write of the line overflows: it
//! draws another number and re-encrypts the whole page under the new number.
//!
//! In the paper, locked lines in the caches cause the renewal of a page before a second write. Here, the marks replace
//! locks, so that a record is safe without locks. The paper has one number for pads and one for codes. One number
//! suffices here, because pads and codes have separate keys. The paper computes pads from the page's number and the
//! line's position in the page. Our pads also depend on the whole address, so that only the draws of one page must
//! differ. About 2^32 draws of 64 bits differ.

use super::{Age, Increment, bits};
use crate::planted::{Bug, PlantedBug};
use units::{LINES_PER_PAGE, Line, ZERO_LINE};

/// Lines of a page.
pub(super) const POSITIONS: usize = LINES_PER_PAGE;

const NUMBER_BITS: u32 = 64;
const MARKS_START: usize = 448;

pub(super) fn read(line: &Line, position: usize) -> u128 {
    let mark = bits::get(line, MARKS_START + position, 1);
    u128::from(bits::get(line, 0, NUMBER_BITS)) << 1 | u128::from(mark)
}

/// Result of one more write of a line with this page record, if `drawn` is the next number. The field with the
/// positions of lines is no counter.
pub(super) fn next(line: &Line, position: usize, drawn: u64, planted: PlantedBug) -> Increment {
    let mut next = *line;
    if bits::get(line, MARKS_START + position, 1) == 0 {
        bits::set(&mut next, MARKS_START + position, 1, 1);
        return Increment::Advanced(next);
    }
    if !planted.has(Bug::MajorNotAdvanced) {
        // A page that was never renewed has the number zero.
        bits::set(&mut next, 0, NUMBER_BITS, drawn.max(1));
    }
    bits::set(&mut next, MARKS_START, POSITIONS as u32, 0);
    Increment::Renewed(next, 0..POSITIONS)
}

/// A blank record overflows at the second write of a line and has no full width, so it serves for every age.
pub(super) fn aged(_: Age) -> Line {
    ZERO_LINE
}
