//! Re-ordering: stores the frequent words of a line before its other words, so that blocks of two words are predictable
//! (C.1 rule 7; section 3.2.2).
//!
//! ```text
//! words:      0  1  2  3  4  5  6  7        frequent: 1, 4, 5, 6
//! bitmap:     .  1  .  .  1  1  1  .
//! as it lies: 1  4 | 5  6 | 0  2 | 3  7     two blocks of frequent words, where there was one
//! ```
//! The frequent words keep their order, and so do the other words. The controller re-orders a line when it seals the
//! line, by the present table of frequent values. Only the bitmap is needed to restore the order, so a later change of
//! the table causes misses but no wrong words.

use units::{LINE_BYTES, Line, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// Marks the words of a line that were frequent when it was sealed. The lowest bit is the first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bitmap(pub u8);

impl Bitmap {
    /// The bitmap of a line without frequent words or without re-ordering: the words keep their order.
    pub const NONE: Bitmap = Bitmap(0);

    /// Returns the bitmap of a line with these frequent words.
    pub fn of(frequent: [bool; WORDS_PER_LINE]) -> Bitmap {
        Bitmap((0..).zip(frequent).map(|(bit, is)| u8::from(is) << bit).sum())
    }

    /// Returns true if every word keeps its position in the line.
    fn moves_nothing(self) -> bool {
        self.0 & self.0.wrapping_add(1) == 0
    }

    /// Returns the words in their stored order.
    fn words(self) -> [Word; WORDS_PER_LINE] {
        let all = || Words::ALL.iter();
        let is_frequent = |word: &Word| self.0 >> word.index() & 1 == 1;
        let mut lying = all().filter(is_frequent).chain(all().filter(|word| !is_frequent(word)));
        std::array::from_fn(|_| lying.next().unwrap_or(Word::FIRST))
    }

    /// Returns a line in its stored order.
    pub fn arrange(self, line: &Line) -> Line {
        self.moved(line, |words, position| (words[position].index(), position))
    }

    /// Returns the line that has this stored order.
    pub fn restore(self, lying: &Line) -> Line {
        self.moved(lying, |words, position| (position, words[position].index()))
    }

    fn moved(self, line: &Line, from_to: impl Fn(&[Word; WORDS_PER_LINE], usize) -> (usize, usize)) -> Line {
        if self.moves_nothing() {
            return *line;
        }
        let (words, mut moved) = (self.words(), [0; LINE_BYTES]);
        for position in 0..WORDS_PER_LINE {
            let (from, to) = from_to(&words, position);
            moved[to * WORD_BYTES..][..WORD_BYTES].copy_from_slice(&line[from * WORD_BYTES..][..WORD_BYTES]);
        }
        moved
    }

    /// Returns the stored position of a word of the line.
    pub fn position_of(self, word: Word) -> Word {
        if self.moves_nothing() {
            return word;
        }
        let position = self.words().iter().position(|lying| *lying == word).unwrap_or_default();
        Word::at(position * WORD_BYTES)
    }

    /// Returns the words of the line at these stored positions.
    pub fn words_at(self, tag_layout: Words) -> Words {
        if self.moves_nothing() {
            return tag_layout;
        }
        let (words, mut there) = (self.words(), Words::NONE);
        tag_layout.iter().for_each(|position| there.add(Words::of(words[position.index()])));
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn fvs_rule_7_re_ordering_puts_frequent_words_first_and_keeps_the_order_in_both_groups() {
        let line: Line = std::array::from_fn(|byte| (byte / WORD_BYTES) as u8);
        let lying = Bitmap(0b0111_0010).arrange(&line);
        let words: Vec<u8> = lying.chunks(WORD_BYTES).map(|word| word[0]).collect();
        assert_eq!(words, [1, 4, 5, 6, 0, 2, 3, 7]);
        assert_eq!(Bitmap::of([false, true, false, false, true, true, true, false]), Bitmap(0b0111_0010));
    }

    #[test]
    fn fvs_rule_7_the_bitmap_alone_restores_the_order_of_words() {
        let line = Random::new(3).line();
        for bitmap in (0..=u8::MAX).map(Bitmap) {
            let lying = bitmap.arrange(&line);
            assert_eq!(bitmap.restore(&lying), line);
            assert_eq!(lying == line, bitmap.moves_nothing(), "{bitmap:?}");
            for word in Words::ALL.iter() {
                let position = bitmap.position_of(word);
                assert_eq!(position.of(&lying), word.of(&line));
                assert_eq!(bitmap.words_at(Words::of(position)), Words::of(word));
            }
        }
    }

    #[test]
    fn re_ordering_k_frequent_words_fills_k_over_2_wholly_frequent_blocks() {
        for bitmap in 0..=u8::MAX {
            let frequent: Line = std::array::from_fn(|byte| bitmap >> (byte / WORD_BYTES) & 1);
            let lying = Bitmap(bitmap).arrange(&frequent);
            let blocks = lying.chunks(2 * WORD_BYTES).filter(|block| block.iter().all(|byte| *byte == 1)).count();
            assert_eq!(blocks as u32, bitmap.count_ones() / 2);
        }
    }
}
