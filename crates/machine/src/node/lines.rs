//! Words of lines, and the line sizes of private caches.
//!
//! All components beyond L2, the protection and the memory included, use memory lines only. The requested word of a
//! memory line may arrive before the remaining words. A cache near the core may have shorter lines than memory, as the
//! caches of 2005 had. So inside a node an access names a *word*, and the tags of each cache are keyed by `word >>
//! shift`. The shift is 3 for cache lines of 64 bytes. Each memory line has eight word numbers; a memory line shorter
//! than 64 bytes uses only the first of these numbers. A miss requests the line of the next level that contains the
//! word, and fills only the part that the cache above stores.

use crate::node::interface::{NodeStep, Touch};
use units::{Bytes, LINE_BYTES, LineAddr, LineLength, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// Bytes of the shortest line that a cache may have.
pub(super) const SHORT_LINE_BYTES: u64 = LINE_BYTES as u64 / 2;

/// Number of a word in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WordAddr(pub(super) u64);

impl WordAddr {
    /// Returns the word that contains the byte at `offset` of `line`.
    #[inline]
    pub(super) fn of(line: LineAddr, offset: u8) -> WordAddr {
        WordAddr(line.0 * WORDS_PER_LINE as u64 + u64::from(offset) / WORD_BYTES as u64)
    }

    /// Returns the word that contains the byte at `address`.
    pub(super) fn at(address: u64) -> WordAddr {
        WordAddr(address / WORD_BYTES as u64)
    }

    /// Returns the first word of a touch.
    #[inline]
    pub(super) fn touched(touch: &Touch) -> WordAddr {
        WordAddr::of(touch.line, touch.offset)
    }

    /// Returns the line that contains the word.
    #[inline]
    pub(super) fn line(self) -> LineAddr {
        LineAddr(self.0 / WORDS_PER_LINE as u64)
    }

    /// Returns the position of the word in its line.
    #[inline]
    pub(super) fn word(self) -> Word {
        Word::at(self.0 as usize % WORDS_PER_LINE * WORD_BYTES)
    }
}

/// Line size of a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSize {
    shift: u32,
    memory: LineLength,
}

impl LineSize {
    /// Creates a size that `NodeConfig::check` accepts, 32 or 64 bytes, over memory lines of this length.
    pub(super) fn new(bytes: Bytes, memory: LineLength) -> LineSize {
        let within_line = bytes.0 * memory.per_recorded_line();
        LineSize { shift: (within_line / WORD_BYTES as u64).trailing_zeros(), memory }
    }

    /// Returns the key of the cache line that contains `word`.
    #[inline]
    pub(super) fn key(self, word: WordAddr) -> u64 {
        word.0 >> self.shift
    }

    /// Returns the first word of the cache line with this key.
    pub(super) fn first(self, key: u64) -> WordAddr {
        WordAddr(key << self.shift)
    }

    /// Returns 8 times the number of word numbers of a cache line: 64 for a cache line as long as a memory line.
    pub(super) fn bytes(self) -> u64 {
        (WORD_BYTES as u64) << self.shift
    }

    /// Returns the number of bytes that a cache line stores.
    pub(super) fn stored_bytes(self) -> u64 {
        self.bytes() / self.memory.per_recorded_line()
    }

    /// Returns all words of the cache line that contains `word`.
    #[inline]
    pub(super) fn covered(self, word: WordAddr) -> Words {
        if self.bytes() == LINE_BYTES as u64 { Words::ALL } else { Words::of_piece(word.word(), self.bytes() as usize) }
    }

    /// Returns the first words of the cache lines that make up a memory line.
    pub(super) fn within(self, line: LineAddr) -> impl Iterator<Item = WordAddr> + use<> {
        (0..WORDS_PER_LINE as u64).step_by(1 << self.shift).map(move |word| WordAddr(WordAddr::of(line, 0).0 + word))
    }

    /// Returns the first words of those cache lines in a memory line that contain any of `words`.
    pub(super) fn some_of(self, line: LineAddr, words: Words) -> impl Iterator<Item = WordAddr> + use<> {
        self.within(line).filter(move |word| words.overlap(self.covered(*word)))
    }
}

/// Cuts touches at the boundaries of L1D lines, if L1D lines are shorter than memory lines.
#[derive(Clone, Debug)]
pub(super) struct Cutter {
    cuts: bool,
    pieces: Vec<Touch>,
}

impl Cutter {
    pub(super) fn new(size: LineSize) -> Cutter {
        Cutter { cuts: size.bytes() == SHORT_LINE_BYTES, pieces: Vec::new() }
    }

    /// Returns true if L1D lines are shorter than memory lines, so touches are cut.
    #[inline]
    pub(super) fn cuts(&self) -> bool {
        self.cuts
    }

    /// Returns the number of pieces of a touch, if touches are cut.
    pub(super) fn pieces(touch: &Touch) -> u8 {
        let end = SHORT_LINE_BYTES as u8;
        1 + u8::from(touch.offset < end && touch.offset + touch.bytes > end)
    }

    /// Returns the step with its touches cut so that no touch crosses a boundary of L1D lines.
    #[inline]
    pub(super) fn cut<'a>(&'a mut self, step: NodeStep<'a>) -> NodeStep<'a> {
        if !self.cuts {
            return step;
        }
        self.pieces.clear();
        let end = SHORT_LINE_BYTES as u8;
        for touch in step.touches {
            let lower = end.saturating_sub(touch.offset).min(touch.bytes);
            if lower > 0 {
                self.pieces.push(Touch { bytes: lower, ..*touch });
            }
            if lower < touch.bytes || touch.bytes == 0 {
                self.pieces.push(Touch { offset: touch.offset + lower, bytes: touch.bytes - lower, ..*touch });
            }
        }
        NodeStep { touches: &self.pieces, ..step }
    }
}
