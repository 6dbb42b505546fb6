//! Measures the predictability of lines from memory (Shi and Lee, Computing Frontiers 2007, figures 5 and 6).
//! Predictability is the share of the words of a line that a table of frequent values already contains before the line
//! arrives. This is a measurement only: no design uses it.

use crate::word_counts::{FrequentWord, WordCounts};
use protection::speculation::{Predictable, ValueTable, WORDS_MAX};
use serde::Serialize;
use units::{Line, WORD_BYTES, WORDS_PER_LINE};

/// Maximum number of tables in one run.
pub const TABLES_MAX: usize = 4;

/// Prediction result of one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Predicted {
    /// Number of values in the table; zero if the table does not exist.
    pub values: u64,
    /// Lines, words and blocks that the table would have predicted.
    #[serde(flatten)]
    pub predictable: Predictable,
}

/// Prediction results of all tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Predictions([Predicted; TABLES_MAX]);

impl Predictions {
    /// Results of the tables that exist.
    pub fn tables(&self) -> impl Iterator<Item = &Predicted> {
        self.0.iter().filter(|predicted| predicted.values > 0)
    }
}

/// Subtracts an earlier reading: the results since `other` was read.
impl std::ops::Sub for Predictions {
    type Output = Predictions;

    fn sub(self, other: Predictions) -> Predictions {
        Predictions(std::array::from_fn(|table| {
            let (this, before) = (&self.0[table], &other.0[table]);
            Predicted { values: this.values, predictable: this.predictable - before.predictable }
        }))
    }
}

/// Checks the sizes of tables.
///
/// # Errors
///
/// A size that is no power of two or too large, or too many tables.
pub fn check_tables(sizes: &[usize]) -> Result<(), String> {
    let wrong = sizes.iter().find(|size| !size.is_power_of_two() || **size > WORDS_MAX);
    if let Some(size) = wrong {
        return Err(format!("a table of {size} values: expected a power of two from 1 to {WORDS_MAX}, as in 8"));
    }
    if sizes.len() > TABLES_MAX {
        return Err(format!("{} tables of values: expected at most {TABLES_MAX}", sizes.len()));
    }
    Ok(())
}

/// Tables that watch the lines of a run, with their results.
#[derive(Default)]
pub struct Predictability {
    tables: Vec<ValueTable>,
    seen: Predictions,
    /// Counts of all words, if there are tables.
    counts: WordCounts,
}

impl Predictability {
    /// Creates one table for each size, which is the number of values in the table (8, 16 and 32 in figure 5).
    pub fn of(sizes: &[usize]) -> Predictability {
        let tables = sizes.iter().take(TABLES_MAX).map(|&size| ValueTable::new(size)).collect();
        let mut seen = Predictions::default();
        seen.0.iter_mut().zip(sizes).for_each(|(predicted, &size)| predicted.values = size as u64);
        Predictability { tables, seen, counts: WordCounts::default() }
    }

    /// Prediction results up to now.
    pub fn seen(&self) -> Predictions {
        self.seen
    }

    /// The words that were most frequent up to now; none without tables.
    pub fn most_frequent(&self) -> Vec<FrequentWord> {
        self.counts.most_frequent(WORDS_MAX)
    }

    /// Counts the words of a fill that each table holds, then lets the tables learn the line.
    pub fn filled(&mut self, line: &Line) {
        for (table, seen) in self.tables.iter_mut().zip(&mut self.seen.0) {
            let words = words_of(line);
            let held = words.map(|word| table.holds(word));
            seen.predictable.count(held);
            words.into_iter().for_each(|word| table.note(word));
        }
        self.count(line);
    }

    /// Lets the tables learn a line that was written back.
    pub fn written_back(&mut self, line: &Line) {
        self.tables.iter_mut().for_each(|table| words_of(line).into_iter().for_each(|word| table.note(word)));
        self.count(line);
    }

    fn count(&mut self, line: &Line) {
        if !self.tables.is_empty() {
            words_of(line).into_iter().for_each(|word| self.counts.note(word));
        }
    }
}

fn words_of(line: &Line) -> [u64; WORDS_PER_LINE] {
    let (words, _) = line.as_chunks::<WORD_BYTES>();
    std::array::from_fn(|word| u64::from_le_bytes(words[word]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    fn line_of(words: [u64; WORDS_PER_LINE]) -> Line {
        std::array::from_fn(|byte| words[byte / WORD_BYTES].to_le_bytes()[byte % WORD_BYTES])
    }

    /// Shares of the frequent words that are covered by predictable pairs, first in stored order, then after
    /// re-ordering.
    fn coverage(lines: impl Iterator<Item = [u64; WORDS_PER_LINE]>) -> (f64, f64) {
        let mut watched = Predictability::of(&[1]);
        // The table contains only zero, since no other value repeats.
        (0..4).for_each(|_| watched.filled(&line_of([0; WORDS_PER_LINE])));
        let before = watched.seen();
        lines.for_each(|words| watched.filled(&line_of(words)));
        let Predictable { words, pairs, reordered_pairs, .. } = (watched.seen() - before).0[0].predictable;
        (2.0 * pairs as f64 / words as f64, 2.0 * reordered_pairs as f64 / words as f64)
    }

    #[test]
    fn predictability_is_measured_before_the_frequent_value_table_learns_from_the_line() {
        let mut watched = Predictability::of(&[1, 2]);
        watched.filled(&line_of([7; WORDS_PER_LINE]));
        assert!(watched.seen().tables().all(|seen| (seen.predictable.lines, seen.predictable.words) == (1, 0)));
        watched.filled(&line_of([7, 7, 7, 9, 9, 7, 7, 7]));
        let expected = Predictable { lines: 2, words: 6, pairs: 2, reordered_pairs: 3, whole_lines: 0 };
        assert_eq!(watched.seen().0[0].predictable, expected);
        watched.written_back(&line_of([9; WORDS_PER_LINE]));
        watched.filled(&line_of([7, 7, 7, 9, 9, 7, 7, 7]));
        let seen = watched.seen().0[1].predictable;
        assert_eq!((seen.lines, seen.words, seen.whole_lines), (3, 6 + 8, 1));
    }

    #[test]
    fn fvs_rule_8_a_line_counts_as_compressible_only_if_the_table_holds_all_its_words() {
        let mut watched = Predictability::of(&[8]);
        let known: [u64; WORDS_PER_LINE] = std::array::from_fn(|word| 100 + word as u64);
        for _ in 0..4 {
            watched.filled(&line_of(known));
        }
        let before = watched.seen();
        let mut reversed = known;
        reversed.reverse();
        watched.filled(&line_of(reversed));
        for word in 0..WORDS_PER_LINE {
            let mut lacking = known;
            lacking[word] = 7_000 + word as u64;
            watched.filled(&line_of(lacking));
        }
        let seen = (watched.seen() - before).0[0].predictable;
        assert_eq!((seen.lines, seen.whole_lines), (1 + WORDS_PER_LINE as u64, 1));
    }

    #[test]
    fn alternating_frequent_words_form_frequent_pairs_only_after_re_ordering() {
        let mut random = Random::new(5);
        let alternating =
            std::iter::repeat_with(|| std::array::from_fn(|n| if n % 2 == 0 { 0 } else { random.word() | 1 }));
        assert_eq!(coverage(alternating.take(1_000)), (0.0, 1.0));
    }

    /// Expected coverage of words that are independently frequent with probability p. In stored order, a share p of the
    /// frequent words forms a pair with another frequent word. After re-ordering, each line with an odd number k of
    /// frequent words leaves one of them uncovered: the share is (E[k] - P(k odd)) / E[k].
    #[test]
    fn frequent_pairs_of_independent_random_words_have_their_computed_coverage() {
        for (p, percent) in [(0.4, 84.0), (0.6, 90.0), (0.8_f64, 92.0)] {
            let mut random = Random::new(9);
            let independent = std::iter::repeat_with(|| {
                std::array::from_fn(|_| if random.unit() < p { 0 } else { random.word() | 1 })
            });
            let (as_it_is, reordered) = coverage(independent.take(20_000));
            let (n, odd) = (WORDS_PER_LINE as f64, (1.0 - (1.0 - 2.0 * p).powi(WORDS_PER_LINE as i32)) / 2.0);
            assert!((as_it_is - p).abs() < 0.01, "{p}: {as_it_is}");
            let expected = (n * p - odd) / (n * p);
            assert!((reordered - expected).abs() < 0.005, "{p}: {reordered}");
            assert_eq!((100.0 * expected).round(), percent, "{p}");
        }
    }

    #[test]
    fn impossible_sizes_of_tables_are_refused_with_the_possible_ones() {
        assert_eq!(check_tables(&[8, 16, 32, 64]), Ok(()));
        assert!(
            check_tables(&[12]).unwrap_err().contains("a table of 12 values: expected a power of two from 1 to 64")
        );
        assert!(check_tables(&[0]).is_err() && check_tables(&[128]).is_err() && check_tables(&[1; 5]).is_err());
    }
}
