//! Words of a line: the pieces in which a line crosses a data bus of 64 bits, one a beat.

use crate::{LINE_BYTES, Line};
use std::fmt;

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;
/// Words of a line.
pub const WORDS_PER_LINE: usize = LINE_BYTES / WORD_BYTES;

/// A word of a line, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Word(u8);

impl Word {
    /// The first of a line.
    pub const FIRST: Word = Word(0);

    /// The word with the byte at that offset from the start of its line.
    ///
    /// # Panics
    /// If no line has such a byte.
    pub const fn at(offset: usize) -> Word {
        assert!(offset < LINE_BYTES);
        Word((offset / WORD_BYTES) as u8)
    }

    /// Its bytes in a line.
    pub fn of(self, line: &Line) -> &[u8] {
        &line[self.index() * WORD_BYTES..][..WORD_BYTES]
    }

    /// Its number, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Some words of a line: a bit for each, the first at the bottom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Words(u8);

impl Words {
    /// None of them.
    pub const NONE: Words = Words(0);
    /// All of them.
    pub const ALL: Words = Words(u8::MAX);

    /// One of them.
    pub const fn of(word: Word) -> Words {
        Words(1 << word.0)
    }

    /// Those with any of so many bytes from that offset on; what lies beyond the line is left out.
    pub const fn with_bytes(offset: usize, bytes: usize) -> Words {
        let last = if bytes == 0 { offset } else { offset + bytes - 1 };
        let last = if last < LINE_BYTES { last } else { LINE_BYTES - 1 };
        Words((u8::MAX >> (WORDS_PER_LINE - 1 - last / WORD_BYTES)) & (u8::MAX << (offset / WORD_BYTES)))
    }

    /// Those of the piece of `bytes`, a power of two and at least a word, in which a word lies.
    pub const fn of_piece(word: Word, bytes: usize) -> Words {
        Words::with_bytes(word.index() * WORD_BYTES / bytes * bytes, bytes)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether both have any in common.
    pub const fn overlap(self, other: Words) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of `other` are among them.
    pub const fn contains(self, other: Words) -> bool {
        other.0 & !self.0 == 0
    }

    /// Adds `other`.
    pub const fn add(&mut self, other: Words) {
        self.0 |= other.0;
    }

    /// Takes `other` away; returns whether any of it was there.
    pub const fn remove(&mut self, other: Words) -> bool {
        let overlap = self.overlap(other);
        *self = self.without(other);
        overlap
    }

    /// These but for `other`.
    #[must_use]
    pub const fn without(self, other: Words) -> Words {
        Words(self.0 & !other.0)
    }

    /// Each of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Word> {
        (0..WORDS_PER_LINE as u8).map(Word).filter(move |word| self.contains(Words::of(*word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(words: Words) -> Vec<usize> {
        words.iter().map(Word::index).collect()
    }

    #[test]
    fn bytes_are_in_the_words_that_they_touch() {
        let cases = [(0, 8, vec![0]), (7, 1, vec![0]), (7, 2, vec![0, 1]), (16, 16, vec![2, 3]), (63, 0, vec![7])];
        for (offset, bytes, expected) in cases {
            assert_eq!(numbers(Words::with_bytes(offset, bytes)), expected, "{bytes} bytes at {offset}");
        }
        assert_eq!(Words::with_bytes(0, 64), Words::ALL);
        assert_eq!(numbers(Words::with_bytes(56, 32)), [7], "what lies beyond the line is left out");
    }

    #[test]
    fn a_piece_has_the_words_from_its_start() {
        let word = Word::at(29);
        assert_eq!(word.index(), 3);
        for (bytes, expected) in [(8, vec![3]), (16, vec![2, 3]), (32, vec![0, 1, 2, 3])] {
            assert_eq!(numbers(Words::of_piece(word, bytes)), expected);
        }
        assert_eq!(Words::of_piece(word, 64), Words::ALL);
    }
}
