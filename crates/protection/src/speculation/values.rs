//! The frequent value table: the 64-bit words that occur most often in the lines that the chip has seen.
//!
//! The content of the table never leaves the chip. The table learns from lines that are filled or written back, because
//! the controller has their plaintext at that time. At a miss, the table predicts the words of the line. Each method of
//! learning is a separate module.

use super::counted::CountedWords;
use super::recent::Recent;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Maximum number of words in a table.
pub const WORDS_MAX: usize = 64;

/// Method by which a table learns the frequent values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// The table counts its words, and candidates that may replace them.
    #[default]
    Counted,
    /// The table keeps the words that were seen last.
    Lru,
    /// The table does not learn, and keeps its initial words.
    Fixed,
}

/// A table of frequent values.
#[derive(Clone, Debug)]
pub struct ValueTable(HeldValues);

#[derive(Clone, Debug)]
enum HeldValues {
    Counted(CountedWords),
    Lru(Recent),
    Fixed(Vec<u64>),
}

impl ValueTable {
    /// Returns an empty table of `size` words, which counts words.
    ///
    /// # Panics
    /// The panics of [`ValueTable::of`].
    pub fn new(size: usize) -> ValueTable {
        ValueTable::of(size, Tracking::Counted, &[])
    }

    /// Returns a table of `size` words that begins with these, the most frequent first.
    ///
    /// # Panics
    /// If the size is 0 or more than [`WORDS_MAX`].
    pub fn of(size: usize, tracking: Tracking, words: &[u64]) -> ValueTable {
        assert!((1..=WORDS_MAX).contains(&size), "a table of {size} values");
        let words = &words[..words.len().min(size)];
        ValueTable(match tracking {
            Tracking::Counted => HeldValues::Counted(CountedWords::of(size, words)),
            Tracking::Lru => HeldValues::Lru(Recent::of(size, words)),
            Tracking::Fixed => HeldValues::Fixed(words.to_vec()),
        })
    }

    /// Returns a table of `size` words that has seen these words this number of times, the most frequent first.
    ///
    /// # Panics
    /// The panics of [`ValueTable::of`].
    pub fn seen(size: usize, tracking: Tracking, words: &[(u64, u64)]) -> ValueTable {
        let first: Vec<u64> = words.iter().take(size).map(|(word, _)| *word).collect();
        match tracking {
            Tracking::Counted => ValueTable(HeldValues::Counted(CountedWords::seen(size, words))),
            Tracking::Lru | Tracking::Fixed => ValueTable::of(size, tracking, &first),
        }
    }

    /// Returns true if a word is one of the values.
    pub fn holds(&self, word: u64) -> bool {
        match &self.0 {
            HeldValues::Counted(counted) => counted.holds(word),
            HeldValues::Lru(recent) => recent.words().contains(&word),
            HeldValues::Fixed(words) => words.contains(&word),
        }
    }

    /// Learns from a word of a line that was filled or written back.
    pub fn note(&mut self, word: u64) {
        match &mut self.0 {
            HeldValues::Counted(counted) => counted.note(word),
            HeldValues::Lru(recent) => recent.note(word),
            HeldValues::Fixed(_) => {}
        }
    }

    /// The values, the most frequent first, or the last seen first.
    pub fn words(&self) -> Vec<u64> {
        match &self.0 {
            HeldValues::Counted(counted) => counted.words(),
            HeldValues::Lru(recent) => recent.words().to_vec(),
            HeldValues::Fixed(words) => words.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_after(tracking: Tracking, noted: &[u64]) -> Vec<u64> {
        let mut table = ValueTable::of(2, tracking, &[8, 9]);
        noted.iter().for_each(|word| table.note(*word));
        assert!(table.words().iter().all(|word| table.holds(*word)) && !table.holds(77));
        table.words()
    }

    #[test]
    fn frequent_value_tables_begin_with_their_list_and_learn_as_configured() {
        for tracking in Tracking::VARIANTS {
            assert_eq!(words_after(*tracking, &[]), [8, 9], "{tracking:?}");
        }
        assert_eq!(words_after(Tracking::Counted, &[7, 7, 9]), [8, 9], "they were seen for long");
        assert_eq!(words_after(Tracking::Lru, &[7, 7, 9]), [9, 7]);
        assert_eq!(words_after(Tracking::Fixed, &[7, 7, 9]), [8, 9]);
    }

    #[test]
    fn a_frequent_value_table_that_has_seen_words_replaces_them_when_another_word_is_more_frequent() {
        let noted = |count| {
            let mut table = ValueTable::seen(2, Tracking::Counted, &[(8, 900), (9, 3), (7, 2)]);
            (0..count).for_each(|_| table.note(1));
            table.words()
        };
        assert_eq!((noted(3), noted(4)), (vec![8, 9], vec![8, 1]));
        let million = ValueTable::seen(2, Tracking::Counted, &[(8, 1 << 40), (9, 1 << 39)]);
        assert_eq!(million.words(), [8, 9], "counts that are too large are halved");
    }

    #[test]
    fn a_frequent_value_table_of_two_begins_with_two_values_of_a_longer_list() {
        for tracking in Tracking::VARIANTS {
            assert_eq!(ValueTable::of(2, *tracking, &[1, 2, 3]).words(), [1, 2]);
        }
    }
}
