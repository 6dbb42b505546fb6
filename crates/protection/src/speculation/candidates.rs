//! Candidates for the content of a chunk: every value of the table, or every ordered pair of values if a cipher block
//! is two words long (C.1 rule 3). Candidates are in order of frequency: a pair is before all pairs with a rarer value.
//!
//! ```text
//! place in line:   0      1      2      3      4      5      6      7      8
//! pair of ranks:   0 0    0 1    1 1    1 0    0 2    1 2    2 2    2 0    2 1
//! ```

use units::{LINE_BYTES, Line, WORD_BYTES, WORDS_PER_LINE};

/// The values of a table at one moment, the most frequent first, and the chunks made of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidates {
    words: Vec<u64>,
    /// Bytes of a chunk: 8 for one word, 16 for two.
    chunk_bytes: usize,
}

impl Candidates {
    /// Returns the candidates made of these words, with `chunk_bytes` bytes each.
    ///
    /// # Panics
    /// If a chunk is neither one word nor two.
    pub fn of(words: Vec<u64>, chunk_bytes: usize) -> Candidates {
        assert!([WORD_BYTES, 2 * WORD_BYTES].contains(&chunk_bytes), "a chunk of {chunk_bytes} bytes");
        Candidates { words, chunk_bytes }
    }

    /// Returns the number of candidates for each position of a line.
    pub fn count(&self) -> usize {
        if self.chunk_bytes == WORD_BYTES { self.words.len() } else { self.words.len() * self.words.len() }
    }

    /// Returns the bytes of a chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Returns the index of the candidate that equals the chunk, if there is one.
    pub fn position_of(&self, chunk: &[u8]) -> Option<usize> {
        let mut ranks = words_of(chunk).map(|word| self.rank(word));
        let first = ranks.next()??;
        let Some(second) = ranks.next() else { return Some(first) };
        let second = second?;
        let rarer = first.max(second);
        let turn = if second == rarer { first } else { rarer + 1 + second };
        Some(rarer * rarer + turn)
    }

    /// Returns a line in which every chunk is this candidate.
    pub fn line(&self, index: usize) -> Line {
        let words = self.words_at(index).map(u64::to_le_bytes);
        let mut line = [0; LINE_BYTES];
        let of_line = line.as_chunks_mut::<WORD_BYTES>().0.iter_mut();
        of_line.zip(words.iter().cycle()).for_each(|(bytes, word)| *bytes = *word);
        line
    }

    /// Returns the two words of a pair, or one value twice.
    fn words_at(&self, index: usize) -> [u64; 2] {
        if self.chunk_bytes == WORD_BYTES {
            return [self.words[index]; 2];
        }
        let rarer = index.isqrt();
        let turn = index - rarer * rarer;
        let (first, second) = if turn <= rarer { (turn, rarer) } else { (rarer, turn - rarer - 1) };
        [self.words[first], self.words[second]]
    }

    fn rank(&self, word: u64) -> Option<usize> {
        self.words.iter().position(|value| *value == word)
    }

    /// Returns for each word of a line whether it is among the values.
    pub fn frequent(&self, line: &Line) -> [bool; WORDS_PER_LINE] {
        let mut words = words_of(line);
        std::array::from_fn(|_| words.next().is_some_and(|word| self.rank(word).is_some()))
    }
}

/// Returns the words of a part of a line.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks::<WORD_BYTES>().0.iter().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [u64; 8] = [40, 30, 50, 10, 20, 70, 60, 0];

    #[test]
    fn every_value_or_every_ordered_pair_of_values_is_a_candidate_once() {
        for (chunk_bytes, expected) in [(8, 8), (16, 64)] {
            let candidates = Candidates::of(WORDS.to_vec(), chunk_bytes);
            assert_eq!(candidates.count(), expected);
            let lines: std::collections::BTreeSet<Line> = (0..expected).map(|index| candidates.line(index)).collect();
            assert_eq!(lines.len(), expected);
            for index in 0..expected {
                let line = candidates.line(index);
                let chunks = line.chunks(chunk_bytes);
                assert!(chunks.into_iter().all(|chunk| candidates.position_of(chunk) == Some(index)), "{index}");
            }
        }
    }

    #[test]
    fn the_numbers_of_candidates_per_line_are_those_of_the_paper() {
        // FVS5: per position N or N squared; per line eight times or four times that number.
        for (values, chunk_bytes, of_line) in
            [(8, 8, 64), (16, 8, 128), (32, 8, 256), (8, 16, 256), (16, 16, 1_024), (32, 16, 4_096)]
        {
            let candidates = Candidates::of((0..values).collect(), chunk_bytes);
            assert_eq!(candidates.count() * LINE_BYTES / chunk_bytes, of_line);
        }
    }

    #[test]
    fn candidate_pairs_of_frequent_values_precede_all_pairs_with_a_rarer_value() {
        let pairs = Candidates::of(WORDS.to_vec(), 16);
        let rarer = |index: usize| pairs.words_at(index).iter().map(|word| pairs.rank(*word).unwrap()).max().unwrap();
        assert_eq!(pairs.words_at(0), [40, 40]);
        assert!((1..pairs.count()).all(|index| rarer(index - 1) <= rarer(index)));
        // The candidates of a smaller table are the first ones of a larger table.
        let fewer = Candidates::of(WORDS[..3].to_vec(), 16);
        assert!((0..fewer.count()).all(|index| fewer.line(index) == pairs.line(index)));
    }

    #[test]
    fn a_chunk_with_a_word_outside_the_frequent_value_table_is_no_candidate() {
        let pairs = Candidates::of(WORDS.to_vec(), 16);
        let chunk = |words: [u64; 2]| words.map(u64::to_le_bytes).concat();
        assert_eq!(pairs.position_of(&chunk([40, 41])), None);
        assert_eq!(pairs.position_of(&chunk([41, 40])), None);
        assert_eq!(pairs.position_of(&chunk([40, 30])), Some(1));
        assert_eq!(Candidates::of(Vec::new(), 8).position_of(&[0; 8]), None);
    }
}
