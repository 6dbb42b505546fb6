//! Table of the most recently seen values: a list without duplicates, in the order of last use.

/// The words that were seen last.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    size: usize,
    /// Words of the table, the last seen first.
    words: Vec<u64>,
}

impl Recent {
    /// Returns a table of `size` words that begins with these.
    pub fn of(size: usize, words: &[u64]) -> Recent {
        Recent { size, words: words.to_vec() }
    }

    /// Moves a word to the front of the list. A new word replaces the oldest one if the list is full.
    pub fn note(&mut self, word: u64) {
        match self.words.iter().position(|held| *held == word) {
            Some(index) => self.words[..=index].rotate_right(1),
            None => {
                self.words.truncate(self.size - 1);
                self.words.insert(0, word);
            }
        }
    }

    /// The words, the last seen first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn the_lru_value_table_lists_the_last_distinct_words() {
        let mut random = Random::new(3);
        for size in [1, 2, 8] {
            let (mut recent, mut log) = (Recent::of(size, &[]), Vec::new());
            for _ in 0..500 {
                let word = random.below(3 * size as u64);
                recent.note(word);
                log.push(word);
                let mut last: Vec<u64> = Vec::new();
                log.iter().rev().for_each(|word| {
                    if !last.contains(word) {
                        last.push(*word);
                    }
                });
                last.truncate(size);
                assert_eq!(recent.words(), last);
            }
        }
    }
}
