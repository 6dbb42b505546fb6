//! The frequent value table: which words of 64 bits lines hold most often, as far as the chip has seen.
//!
//! What it holds never leaves the chip. It learns from the words of lines that are filled and written back, where their plaintext
//! passes anyway, and it says at a miss what the line may hold. How it learns is a part of its own.

use super::counted::CountedWords;
use super::recent::Recent;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The largest table.
pub const WORDS_MAX: usize = 64;

/// How a table learns which values are frequent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// It counts them, and those of candidates for their place.
    #[default]
    Counted,
    /// It keeps those that were seen last.
    Lru,
    /// Not at all: it holds what it began with.
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
    /// An empty table of so many words, which counts.
    ///
    /// # Panics
    /// As [`ValueTable::of`].
    pub fn new(size: usize) -> ValueTable {
        ValueTable::of(size, Tracking::Counted, &[])
    }

    /// A table of so many words, which learns so and begins with these, the most frequent first.
    ///
    /// # Panics
    /// If it is to have none, or more than [`WORDS_MAX`].
    pub fn of(size: usize, tracking: Tracking, words: &[u64]) -> ValueTable {
        assert!((1..=WORDS_MAX).contains(&size), "a table of {size} values");
        let words = &words[..words.len().min(size)];
        ValueTable(match tracking {
            Tracking::Counted => HeldValues::Counted(CountedWords::of(size, words)),
            Tracking::Lru => HeldValues::Lru(Recent::of(size, words)),
            Tracking::Fixed => HeldValues::Fixed(words.to_vec()),
        })
    }

    /// Whether a word is one of the values.
    pub fn holds(&self, word: u64) -> bool {
        match &self.0 {
            HeldValues::Counted(counted) => counted.holds(word),
            HeldValues::Lru(recent) => recent.words().contains(&word),
            HeldValues::Fixed(words) => words.contains(&word),
        }
    }

    /// A line that was filled or written back holds this word.
    pub fn note(&mut self, word: u64) {
        match &mut self.0 {
            HeldValues::Counted(counted) => counted.note(word),
            HeldValues::Lru(recent) => recent.note(word),
            HeldValues::Fixed(_) => {}
        }
    }

    /// The values, the most frequent first, or those seen last.
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
    fn tables_begin_with_what_they_are_given_and_learn_each_in_its_way() {
        for tracking in Tracking::VARIANTS {
            assert_eq!(words_after(*tracking, &[]), [8, 9], "{tracking:?}");
        }
        assert_eq!(words_after(Tracking::Counted, &[7, 7, 9]), [8, 9], "they were seen for long");
        assert_eq!(words_after(Tracking::Lru, &[7, 7, 9]), [9, 7]);
        assert_eq!(words_after(Tracking::Fixed, &[7, 7, 9]), [8, 9]);
    }

    #[test]
    fn a_table_of_two_begins_with_no_more_than_two() {
        for tracking in Tracking::VARIANTS {
            assert_eq!(ValueTable::of(2, *tracking, &[1, 2, 3]).words(), [1, 2]);
        }
    }
}
