//! Latest results of authentication codes, so that the simulator does not compute the code of a message twice in a row.
//!
//! The first read of a line puts the start-up content of the line into memory. The codec then encrypts the line and
//! decrypts it at once, and needs its tag twice: for the store and for the check of the fetched line. A node that has
//! just left the chip is hashed again when it returns; with the smallest caches, nearly all hashes are of this kind. A
//! code is a function: the same place, version and bytes have the same code. A message that differs in a single bit is
//! computed anew.

use std::cell::{Cell, RefCell};
use units::Line;

/// Binary logarithm of the number of results that are kept: about as many as small programs have metadata lines in
/// use.
const KEPT_LOG2: u32 = 8;

/// All inputs of an authentication code, except for the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct MacInput {
    pub line_number: u64,
    pub version: u128,
    pub bitmap: u8,
    pub text: Line,
}

/// Results of a code, by place.
pub(crate) struct Memo<T> {
    kept: RefCell<Vec<Option<(MacInput, T)>>>,
    computed: Cell<u64>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { kept: RefCell::new(Vec::new()), computed: Cell::new(0) }
    }
}

impl<T: Copy> Memo<T> {
    /// Returns the code of a message: the kept result, or the result of `compute`.
    pub fn of(&self, message: &MacInput, compute: impl FnOnce() -> T) -> T {
        self.known(message).unwrap_or_else(|| {
            self.computed.set(self.computed.get() + 1);
            let result = compute();
            self.learn(message, result);
            result
        })
    }

    /// Number of results that had to be computed.
    pub fn computed(&self) -> u64 {
        self.computed.get()
    }

    /// Returns the code of a message, if it is still kept.
    pub fn known(&self, message: &MacInput) -> Option<T> {
        let kept = self.kept.borrow();
        let (known, result) = kept.get(index(message.line_number))?.as_ref()?;
        (known == message).then_some(*result)
    }

    /// Keeps the code of a message.
    pub fn learn(&self, message: &MacInput, result: T) {
        let mut kept = self.kept.borrow_mut();
        if kept.is_empty() {
            kept.resize(1 << KEPT_LOG2, None);
        }
        kept[index(message.line_number)] = Some((*message, result));
    }
}

/// Index of the result for a place. Lines in use are at regular distances. So the index is the highest bits of the line
/// number times 2^64 over the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
fn index(line_number: u64) -> usize {
    (line_number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KEPT_LOG2)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memoised_mac_is_reused_only_for_the_same_message() {
        let memo = Memo::default();
        let of_bitmap = |bitmap, line_number, version, text: u8, result| {
            memo.of(&MacInput { line_number, version, bitmap, text: [text; 64] }, || result)
        };
        let of = |line_number, version, text, result| of_bitmap(0, line_number, version, text, result);
        assert_eq!([of(7, 0, 1, 10), of(7, 0, 1, 11)], [10, 10]);
        assert_eq!([of(7, 0, 2, 12), of(7, 9, 2, 13)], [12, 13]);
        assert_eq!([of_bitmap(1, 7, 9, 2, 16), of(7, 9, 2, 13)], [16, 13]);
        // It has the same index, and takes it.
        let other = (8..).find(|other| index(*other) == index(7)).unwrap_or_default();
        assert_eq!([of(other, 9, 2, 14), of(7, 9, 2, 15)], [14, 15]);
    }
}
