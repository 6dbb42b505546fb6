//! Counts of the 64-bit words of lines that cross the pins of memory, to find the values that are most frequent in a
//! whole run.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Reverse;

/// Number of different words above which the rarer half of them is dropped.
const WORDS_KEPT: usize = 1 << 20;

/// A word of 64 bits, in files as hexadecimal digits: not every reader of JSON keeps 64 bits of a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HexWord(pub u64);

impl Serialize for HexWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for HexWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HexWord, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits.map(HexWord).ok_or_else(|| {
            serde::de::Error::custom(format!("'{text}' is no word of 64 bits: expected hexadecimal digits, as in 0x1f"))
        })
    }
}

/// A word with the number of times that it crossed the pins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequentWord {
    /// The counted word of 64 bits.
    pub word: HexWord,
    /// Number of times that it was in a line from memory, or in a line that was written back. In a run with more than a
    /// million different words, a lower bound: occurrences before the word was last dropped are missing.
    pub count: u64,
}

/// Counts of the words of lines.
#[derive(Default)]
pub struct WordCounts {
    counts: FxHashMap<u64, u64>,
}

impl WordCounts {
    /// Counts a word. If there are too many different words, the rarer half leaves; among equally frequent words, the
    /// larger ones leave. So new words have room to become frequent before the next words leave.
    pub fn note(&mut self, word: u64) {
        *self.counts.entry(word).or_default() += 1;
        if self.counts.len() > WORDS_KEPT {
            let mut ranked: Vec<(Reverse<u64>, u64)> = self.ranked().collect();
            let (kept, _, _) = ranked.select_nth_unstable(WORDS_KEPT / 2);
            self.counts = kept.iter().map(|(Reverse(count), word)| (*word, *count)).collect();
        }
    }

    fn ranked(&self) -> impl Iterator<Item = (Reverse<u64>, u64)> + '_ {
        self.counts.iter().map(|(&word, &count)| (Reverse(count), word))
    }

    /// Returns the most frequent words, at most `number` of them, the most frequent first; among equally frequent
    /// words, the smallest first.
    pub fn most_frequent(&self, number: usize) -> Vec<FrequentWord> {
        let mut words: Vec<(Reverse<u64>, u64)> = self.ranked().collect();
        words.sort_unstable();
        let first = words.into_iter().take(number);
        first.map(|(Reverse(count), word)| FrequentWord { word: HexWord(word), count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_words_come_first_and_the_smaller_of_equally_frequent_ones() {
        let mut counts = WordCounts::default();
        [9, 7, 3, 7, 3, 5].into_iter().for_each(|word| counts.note(word));
        let words: Vec<(u64, u64)> = counts.most_frequent(3).iter().map(|found| (found.word.0, found.count)).collect();
        assert_eq!(words, [(3, 2), (7, 2), (5, 1)]);
    }

    #[test]
    fn frequent_words_stay_when_too_many_rare_words_are_counted() {
        let mut counts = WordCounts::default();
        (0..10).for_each(|_| counts.note(u64::MAX));
        (0..2 * WORDS_KEPT as u64).for_each(|word| counts.note(word));
        assert!(counts.counts.len() <= WORDS_KEPT);
        assert_eq!(counts.most_frequent(1)[0], FrequentWord { word: HexWord(u64::MAX), count: 10 });
    }

    #[test]
    fn a_word_that_becomes_frequent_after_a_million_others_is_counted() {
        let mut counts = WordCounts::default();
        for _ in 0..2 {
            (1..=WORDS_KEPT as u64).for_each(|word| counts.note(word));
        }
        (0..100).for_each(|_| [u64::MAX, u64::MAX - 1].into_iter().for_each(|word| counts.note(word)));
        let found: Vec<(u64, u64)> = counts.most_frequent(2).iter().map(|found| (found.word.0, found.count)).collect();
        // The first of the two makes the map too large, and leaves with the rarer half.
        assert_eq!(found, [(u64::MAX - 1, 100), (u64::MAX, 99)]);
        assert_eq!(counts.counts.len(), WORDS_KEPT / 2 + 2);
    }

    #[test]
    fn a_word_in_a_file_keeps_all_its_bits_and_a_wrong_one_is_refused() {
        let text = serde_json::to_string(&HexWord(u64::MAX - 1)).unwrap();
        assert_eq!(text, "\"0xfffffffffffffffe\"");
        assert_eq!(serde_json::from_str::<HexWord>(&text).unwrap(), HexWord(u64::MAX - 1));
        for wrong in ["\"12\"", "\"0x\"", "\"0x1ffffffffffffffff\""] {
            assert!(serde_json::from_str::<HexWord>(wrong).unwrap_err().to_string().contains("as in 0x1f"), "{wrong}");
        }
    }
}
