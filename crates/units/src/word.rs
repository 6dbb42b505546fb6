//! Words of a line: the units in which a line crosses a data bus of 64 bits, one per beat.

use crate::{LINE_BYTES, Line};
use std::fmt;

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;
/// Words of a line.
pub const WORDS_PER_LINE: usize = LINE_BYTES / WORD_BYTES;

/// Word of a line, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Word(u8);

impl Word {
    /// First word of a line.
    pub const FIRST: Word = Word(0);

    /// Returns the word with the byte at this offset from the start of its line.
    ///
    /// # Panics
    /// If the offset is beyond a line.
    pub const fn at(offset: usize) -> Word {
        assert!(offset < LINE_BYTES);
        Word((offset / WORD_BYTES) as u8)
    }

    /// Returns the bytes of the word in a line.
    pub fn of(self, line: &Line) -> &[u8] {
        &line[self.index() * WORD_BYTES..][..WORD_BYTES]
    }

    /// Returns its number, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of words of a line: one bit for each, the first in the lowest position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Words(u8);

impl Words {
    /// Set without any word.
    pub const NONE: Words = Words(0);
    /// Set of all words.
    pub const ALL: Words = Words(u8::MAX);

    /// Set of one word.
    pub const fn of(word: Word) -> Words {
        Words(1 << word.0)
    }

    /// Returns the words with any of `bytes` bytes from this offset on; bytes beyond the line are ignored.
    pub const fn with_bytes(offset: usize, bytes: usize) -> Words {
        let last = if bytes == 0 { offset } else { offset + bytes - 1 };
        let last = if last < LINE_BYTES { last } else { LINE_BYTES - 1 };
        Words((u8::MAX >> (WORDS_PER_LINE - 1 - last / WORD_BYTES)) & (u8::MAX << (offset / WORD_BYTES)))
    }

    /// Returns the words of the piece of `bytes` that contains `word`; a power of two and at least a word.
    pub const fn of_piece(word: Word, bytes: usize) -> Words {
        Words::with_bytes(word.index() * WORD_BYTES / bytes * bytes, bytes)
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if both sets have a word in common.
    pub const fn overlap(self, other: Words) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns true if the set contains all of `other`.
    pub const fn contains(self, other: Words) -> bool {
        other.0 & !self.0 == 0
    }

    /// Adds the words of `other`.
    pub const fn add(&mut self, other: Words) {
        self.0 |= other.0;
    }

    /// Removes the words of `other`; returns true if any of them was in the set.
    pub const fn remove(&mut self, other: Words) -> bool {
        let overlap = self.overlap(other);
        *self = self.without(other);
        overlap
    }

    /// Returns the set without the words of `other`.
    #[must_use]
    pub const fn without(self, other: Words) -> Words {
        Words(self.0 & !other.0)
    }

    /// Returns each word of the set, in order.
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
    fn a_range_of_bytes_maps_to_the_8_byte_words_that_it_touches() {
        let cases = [(0, 8, vec![0]), (7, 1, vec![0]), (7, 2, vec![0, 1]), (16, 16, vec![2, 3]), (63, 0, vec![7])];
        for (offset, bytes, expected) in cases {
            assert_eq!(numbers(Words::with_bytes(offset, bytes)), expected, "{bytes} bytes at {offset}");
        }
        assert_eq!(Words::with_bytes(0, 64), Words::ALL);
        assert_eq!(numbers(Words::with_bytes(56, 32)), [7], "what lies beyond the line is left out");
    }

    #[test]
    fn a_piece_of_a_line_contains_the_words_of_its_aligned_block() {
        let word = Word::at(29);
        assert_eq!(word.index(), 3);
        for (bytes, expected) in [(8, vec![3]), (16, vec![2, 3]), (32, vec![0, 1, 2, 3])] {
            assert_eq!(numbers(Words::of_piece(word, bytes)), expected);
        }
        assert_eq!(Words::of_piece(word, 64), Words::ALL);
    }
}
