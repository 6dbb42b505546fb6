//! The tags computed last, so that none is computed twice in a row.
//!
//! A line that the machine started with is put into memory when it is first read, and so its tag is computed twice at once:
//! for the store, and for the check of what came back. A code is a function: for the same line, the same version and the
//! same bytes there is nothing to compute again. Whatever differs in a single bit is computed.

use crate::counter::Counter;
use std::cell::RefCell;
use units::{Line, LineAddr};

/// How many tags are kept: about as many as reads are under way at once.
const KEPT: usize = 64;

/// All that a tag is a function of, but the key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Message {
    line: LineAddr,
    counter: Counter,
    text: Line,
}

/// Tags by the lowest bits of the line's number.
#[derive(Clone, Default)]
pub(super) struct Lately {
    tags: RefCell<Vec<Option<(Message, u64)>>>,
}

impl Lately {
    /// The tag of a line: as computed before, or by `compute`.
    pub fn tag(&self, line: LineAddr, counter: Counter, text: &Line, compute: impl FnOnce() -> u64) -> u64 {
        let message = Message { line, counter, text: *text };
        let mut tags = self.tags.borrow_mut();
        if tags.is_empty() {
            tags.resize(KEPT, None);
        }
        let place = &mut tags[line.0 as usize % KEPT];
        match place {
            Some((known, tag)) if *known == message => *tag,
            _ => place.insert((message, compute())).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_computed_once_for_the_same_message_and_anew_for_any_other() {
        let lately = Lately::default();
        let (line, old, new) = (LineAddr(7), Counter::default(), Counter(9));
        let of = |line, counter, text: u8, tag| lately.tag(line, counter, &[text; 64], || tag);
        assert_eq!([of(line, old, 1, 10), of(line, old, 1, 11)], [10, 10]);
        assert_eq!([of(line, old, 2, 12), of(line, new, 2, 13)], [12, 13]);
        // It has the same place, and takes it.
        assert_eq!([of(LineAddr(7 + 64), new, 2, 14), of(line, new, 2, 15)], [14, 15]);
    }
}
