//! Order and times of the words of a line on the data bus.
//!
//! A burst begins with the requested word and continues in the interleaved order of JEDEC's SDRAM (JESD79-4, its table
//! of burst orders). The number of the n-th word to arrive is the number of the first word XOR n. The number of words
//! in a piece of a line is a power of two. So the piece that contains the requested word arrives before the remaining
//! words, for any position of that word.

use super::ReadGroup;
use units::{Duration, LINE_BYTES, Time, WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// Part of a line that must arrive before its reader continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The word that arrives first.
    pub from: Word,
    /// Words that must have arrived.
    pub words: Words,
    /// Group of the read, if the line must arrive after the other lines of this group that were requested before.
    pub group: Option<ReadGroup>,
}

impl Wanted {
    /// All words of a line, in any order.
    pub const LINE: Wanted = Wanted { from: Word::FIRST, words: Words::ALL, group: None };

    /// Returns the piece of `bytes` bytes, a power of two, that contains this word. The remaining words follow on the
    /// bus.
    #[inline]
    pub fn piece(word: Word, bytes: usize) -> Wanted {
        let words = if bytes == LINE_BYTES { Words::ALL } else { Words::of_piece(word, bytes) };
        Wanted { from: word, words, group: None }
    }

    /// Returns a request for the same number of words, rounded up to a power of two, from the first word of the line
    /// on.
    pub fn at_the_beginning(self) -> Wanted {
        let bytes = self.words.iter().count() * WORD_BYTES;
        Wanted { group: self.group, ..Wanted::piece(Word::FIRST, bytes.next_power_of_two()) }
    }

    /// Returns the same request as a read of this group.
    #[must_use]
    pub fn in_group(self, group: ReadGroup) -> Wanted {
        Wanted { group: Some(group), ..self }
    }
}

/// Arrival times of the words of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beats {
    from: Word,
    words: u8,
    first: Time,
    last: Time,
}

impl Beats {
    /// Creates the times of a line of 64 bytes. Its burst begins with the word `from`; `first` and `last` are the
    /// arrivals of the first and last words.
    pub fn new(from: Word, first: Time, last: Time) -> Beats {
        Beats::of_burst((from, WORDS_PER_LINE as u8), first, last)
    }

    /// Creates the times of a burst of `words` words that begins with the word `from`.
    pub fn of_burst((from, words): (Word, u8), first: Time, last: Time) -> Beats {
        Beats { from, words, first, last }
    }

    /// Creates the times of a line that arrives all at once.
    pub fn at_once(at: Time) -> Beats {
        Beats::new(Word::FIRST, at, at)
    }

    /// Returns true if some words of the line arrive before the last.
    pub fn come_apart(&self) -> bool {
        self.first < self.last
    }

    /// Returns the arrival of the last of these words, or that of the line's first word if there are no words.
    pub fn when(&self, words: Words) -> Time {
        if words == Words::ALL {
            return self.last;
        }
        let turn = words.iter().map(|word| word.index() ^ self.from.index()).max().unwrap_or(0);
        let all = u128::from(self.last.since(self.first).as_fs());
        let part = (all * turn as u128).div_ceil(u128::from(self.words).max(2) - 1);
        self.first + Duration::from_fs(part as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first word arrives after 100 ns, and one more every 5 ns.
    fn sdram(from: usize) -> Beats {
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        Beats::new(Word::at(8 * from), at(100), at(135))
    }

    fn when(from: usize, words: Words) -> u64 {
        sdram(from).when(words).as_fs() / 1_000_000
    }

    #[test]
    fn the_words_arrive_in_jedecs_interleaved_order() {
        let order = |from| {
            let mut words: Vec<usize> = (0..8).collect();
            words.sort_by_key(|word| when(from, Words::of(Word::at(8 * word))));
            words
        };
        assert_eq!(order(0), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(3), [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(order(6), [6, 7, 4, 5, 2, 3, 0, 1]);
    }

    #[test]
    fn a_piece_of_a_line_arrives_with_its_last_word_and_the_requested_piece_arrives_first() {
        for from in 0..8 {
            for (bytes, expected) in [(8, 100), (16, 105), (32, 115), (64, 135)] {
                assert_eq!(when(from, Words::of_piece(Word::at(8 * from), bytes)), expected);
            }
        }
        assert_eq!(when(0, Words::of_piece(Word::at(16), 16)), 115, "the second piece of 16 bytes");
        assert_eq!((when(5, Words::ALL), when(5, Words::NONE)), (135, 100));
    }

    #[test]
    fn a_requested_piece_moved_to_the_line_start_keeps_its_length() {
        for word in 0..8 {
            for bytes in [8, 16, 32, 64] {
                let wanted = Wanted::piece(Word::at(8 * word), bytes).at_the_beginning();
                assert_eq!(wanted, Wanted::piece(Word::FIRST, bytes));
            }
        }
    }

    #[test]
    fn no_word_arrives_earlier_than_its_share_of_the_burst() {
        let beats = Beats::new(Word::FIRST, Time::from_fs(0), Time::from_fs(10));
        let times: Vec<u64> = Words::ALL.iter().map(|word| beats.when(Words::of(word)).as_fs()).collect();
        assert_eq!(times, [0, 2, 3, 5, 6, 8, 9, 10]);
    }

    #[test]
    fn a_short_line_arrives_with_its_last_word_at_the_end_of_its_burst() {
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let beats = Beats::of_burst((Word::at(16), 4), at(80), at(95));
        let order: Vec<u64> =
            (0..4).map(|word| beats.when(Words::of(Word::at(8 * word))).as_fs() / 1_000_000).collect();
        assert_eq!((order, beats.when(Words::ALL)), (vec![90, 95, 80, 85], at(95)));
        assert_eq!(Beats::of_burst((Word::FIRST, 1), at(80), at(80)).when(Words::of(Word::FIRST)), at(80));
    }
}
