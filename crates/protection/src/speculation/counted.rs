//! Table of frequent values by counts: the 64-bit words that occur most often in the lines that the chip has seen
//! (section 3.1). The paper keeps "the top N most frequently used data values managed with an LRU policy". It refers to
//! Zhang et al. for their dynamic tracking, without its rules.
//!
//! ```text
//! word ── in the table? ── yes: one more, and used now
//!              └─ no ── among the candidates? ── yes: one more ─┐ more often than the table's word that was not used
//!                              └─ no: takes the place of the one ┘ for longest? they change places
//!                                     that was not used for longest
//! ```
//! The table has four candidates for each of its words. Counts saturate, and are halved after each `PERIOD` of words,
//! so that words of an earlier phase leave.

/// Candidates for each word of the table.
const CANDIDATES: usize = 4;
/// Words between two halvings of all counts.
const PERIOD: u64 = 1 << 16;

/// A word, the number of times that it was seen, and the time when it was last seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SeenWord {
    word: u64,
    count: u16,
    at: u64,
}

/// A table of the most frequent words, with counts.
#[derive(Clone, Debug)]
pub(super) struct CountedWords {
    size: usize,
    /// The words of the table, in no order.
    held: Vec<SeenWord>,
    candidates: Vec<SeenWord>,
    /// Number of words seen so far.
    seen: u64,
}

impl CountedWords {
    /// Returns an empty table of `size` words.
    pub fn new(size: usize) -> CountedWords {
        CountedWords { size, held: Vec::new(), candidates: Vec::new(), seen: 0 }
    }

    /// Returns a table of these words, the most frequent first. Each word starts with a long history, and with a far
    /// higher count than the next word.
    pub fn of(size: usize, words: &[u64]) -> CountedWords {
        let long_seen = |(rank, &word): (usize, &u64)| SeenWord { word, count: u16::MAX - 512 * rank as u16, at: 0 };
        CountedWords { held: words.iter().take(size).enumerate().map(long_seen).collect(), ..CountedWords::new(size) }
    }

    /// Returns a table that has seen these words this number of times, the most frequent first. All counts are halved until
    /// the largest fits.
    pub fn seen(size: usize, words: &[(u64, u64)]) -> CountedWords {
        let most = words.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let halvings = (0..u64::BITS).find(|halvings| most >> halvings <= u64::from(u16::MAX)).unwrap_or(0);
        // The most frequent was used last, so that the rarest is the first to be replaced.
        let seen = |(rank, &(word, count)): (usize, &(u64, u64))| SeenWord {
            word,
            count: (count >> halvings) as u16,
            at: (size - rank) as u64,
        };
        let held = words.iter().take(size).enumerate().map(seen).collect();
        CountedWords { held, seen: size as u64, ..CountedWords::new(size) }
    }

    /// The values, the most frequent first. Among equally frequent values, the last seen is first.
    pub fn words(&self) -> Vec<u64> {
        let mut held = self.held.clone();
        held.sort_unstable_by_key(|seen| std::cmp::Reverse((seen.count, seen.at)));
        held.into_iter().map(|seen| seen.word).collect()
    }

    /// Returns true if a word is one of the values.
    pub fn holds(&self, word: u64) -> bool {
        self.held.iter().any(|seen| seen.word == word)
    }

    /// Counts a word of a line that was filled or written back.
    pub fn note(&mut self, word: u64) {
        self.seen += 1;
        if self.seen.is_multiple_of(PERIOD) {
            self.held.iter_mut().chain(&mut self.candidates).for_each(|seen| seen.count /= 2);
        }
        if let Some(seen) = self.held.iter_mut().find(|seen| seen.word == word) {
            (seen.count, seen.at) = (seen.count.saturating_add(1), self.seen);
            return;
        }
        if self.held.len() < self.size {
            self.held.push(SeenWord { word, count: 1, at: self.seen });
            return;
        }
        let candidate = self.as_candidate(word);
        let Some(oldest) = self.held.iter_mut().min_by_key(|seen| seen.at) else { return };
        if self.candidates[candidate].count > oldest.count {
            std::mem::swap(oldest, &mut self.candidates[candidate]);
        }
    }

    /// Counts a word among the candidates, and returns its index. A new candidate replaces the one that was not seen
    /// for longest, unless the list has room.
    fn as_candidate(&mut self, word: u64) -> usize {
        let candidates = &mut self.candidates;
        let index = candidates.iter().position(|seen| seen.word == word).unwrap_or_else(|| {
            let seen = SeenWord { word, count: 0, at: 0 };
            if candidates.len() < CANDIDATES * self.size {
                candidates.push(seen);
                return candidates.len() - 1;
            }
            let oldest = (0..candidates.len()).min_by_key(|&index| candidates[index].at).unwrap_or(0);
            candidates[oldest] = seen;
            oldest
        });
        let seen = &mut candidates[index];
        (seen.count, seen.at) = (seen.count.saturating_add(1), self.seen);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    fn noted(mut table: CountedWords, words: impl IntoIterator<Item = u64>) -> CountedWords {
        words.into_iter().for_each(|word| table.note(word));
        table
    }

    #[test]
    fn the_counted_table_lists_the_most_frequent_words_in_descending_order() {
        let words = [1, 2, 2, 3, 3, 3, 9, 2, 3];
        assert_eq!(noted(CountedWords::new(4), words).words(), [3, 2, 9, 1]);
    }

    #[test]
    fn a_word_enters_the_counted_table_for_the_lru_value_once_it_is_more_frequent() {
        let table = noted(CountedWords::new(2), [1, 1, 2, 2, 2, 3, 3]);
        assert_eq!(table.words(), [2, 1], "seen as often as the first, and not more");
        let table = noted(table, [3]);
        assert_eq!(table.words(), [3, 2], "the first was not used for longest");
        assert_eq!(noted(table, [1]).words(), [3, 2], "it is a candidate now, with what it had");
    }

    #[test]
    fn the_counted_table_replaces_old_replacement_candidates() {
        let table = noted(CountedWords::new(1), [7, 7, 7, 1, 1, 2, 3, 4, 5]);
        // Four candidates: the fifth replaces 1, so the count of 1 begins again.
        assert_eq!(noted(table.clone(), [1, 1]).words(), [7]);
        assert_eq!(noted(table, [1, 1, 1, 1]).words(), [1]);
    }

    #[test]
    fn the_counted_table_halves_its_counts_so_that_a_new_program_phase_replaces_an_old_one() {
        let phase = |word, times| std::iter::repeat_n(word, times);
        let old = noted(CountedWords::new(1), phase(1, PERIOD as usize - 1));
        assert_eq!(old.held[0].count, u16::MAX);
        let halved = noted(old, [2]);
        assert_eq!(halved.held[0].count, u16::MAX / 2);
        assert_eq!(noted(halved.clone(), phase(2, 32_766)).words(), [1]);
        assert_eq!(noted(halved, phase(2, 32_767)).words(), [2]);
    }

    /// A table that follows the rules literally, over a log of all words seen.
    #[derive(Default)]
    struct NaiveTable {
        held: Vec<u64>,
        candidates: Vec<u64>,
        counts: std::collections::BTreeMap<u64, u32>,
        log: Vec<u64>,
    }

    impl NaiveTable {
        fn latest(&self, word: u64) -> Option<usize> {
            self.log.iter().rposition(|seen| *seen == word)
        }

        fn oldest(&self, of: &[u64]) -> u64 {
            *of.iter().min_by_key(|word| self.latest(**word)).unwrap()
        }

        fn note(&mut self, size: usize, word: u64) {
            if self.held.contains(&word) || self.held.len() < size {
                if !self.held.contains(&word) {
                    self.held.push(word);
                }
                *self.counts.entry(word).or_default() += 1;
                self.log.push(word);
                return;
            }
            if !self.candidates.contains(&word) {
                if self.candidates.len() == 4 * size {
                    let gone = self.oldest(&self.candidates);
                    self.candidates.retain(|candidate| *candidate != gone);
                    self.counts.remove(&gone);
                }
                self.candidates.push(word);
            }
            *self.counts.entry(word).or_default() += 1;
            self.log.push(word);
            let value = self.oldest(&self.held);
            if self.counts[&word] > self.counts[&value] {
                self.held.retain(|held| *held != value);
                self.candidates.retain(|candidate| *candidate != word);
                self.held.push(word);
                self.candidates.push(value);
            }
        }
    }

    #[test]
    fn fvs_rule_6_the_counted_table_equals_a_naive_model() {
        for seed in 0..20 {
            let (mut random, size) = (Random::new(seed), 1 << (seed % 4));
            let (mut table, mut naive) = (CountedWords::new(size), NaiveTable::default());
            for _ in 0..2_000 {
                // Small numbers are frequent. Every 700 words, the frequent numbers shift.
                let word = random.below(1 + random.clone().below(8 * size as u64)) + (table.seen / 700) * 3;
                table.note(word);
                naive.note(size, word);
                let (mut held, mut expected) = (table.words(), naive.held.clone());
                held.sort_unstable();
                expected.sort_unstable();
                assert_eq!(held, expected, "seed {seed} after {}", table.seen);
            }
        }
    }
}
