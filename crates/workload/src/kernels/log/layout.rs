//! Memory layout of the log, shared by its writer and its recovery.
//!
//! ```text
//! commit word │ seven words of nothing ││ half 0: records, one behind the other │ half 1: likewise
//! record:  header (number, length) │ words │ checksum: FNV-1a, by words of 64 bits, over all before
//! ```

use units::LINE_BYTES;

/// Offset of the first half, in bytes from the commit word.
pub const REGION_OFFSET: u64 = LINE_BYTES as u64;
/// Words of a record in addition to its content.
pub const FRAME_WORDS: u64 = 2;

const LENGTH_BITS: u32 = 16;
const WORDS_BITS: u32 = 31;

/// Decoded commit word: the number of records, the half in use, and its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommitWord {
    /// Number of records ever committed.
    pub records: u64,
    /// Index of the half in use.
    pub half: u64,
    /// Words of this half that committed records use.
    pub words: u64,
}

impl CommitWord {
    /// Encodes the commit word.
    pub fn word(self) -> u64 {
        self.records << (WORDS_BITS + 1) | self.half << WORDS_BITS | self.words
    }

    /// Decodes a commit word.
    pub fn of(word: u64) -> CommitWord {
        let words = word & ((1 << WORDS_BITS) - 1);
        CommitWord { records: word >> (WORDS_BITS + 1), half: word >> WORDS_BITS & 1, words }
    }
}

/// Returns the first word of a record.
pub fn header(number: u64, length: u64) -> u64 {
    number << LENGTH_BITS | length
}

/// Number and length of the record with this first word.
pub fn number_and_length(header: u64) -> (u64, u64) {
    (header >> LENGTH_BITS, header & ((1 << LENGTH_BITS) - 1))
}

/// Sizes of the two halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogHalves {
    /// Number of words of each half.
    pub words: u64,
}

impl LogHalves {
    /// Divides a region of `bytes` bytes into halves of whole lines.
    pub fn of(bytes: u64) -> LogHalves {
        LogHalves { words: bytes / 2 / LINE_BYTES as u64 * (LINE_BYTES as u64 / 8) }
    }

    /// Size of both halves, in bytes.
    pub fn bytes(self) -> u64 {
        2 * 8 * self.words
    }

    /// Returns the position of the next record of `length` words: after the last record, or at the start of the other
    /// half.
    pub fn next(self, last: CommitWord, length: u64) -> CommitWord {
        let fits = last.words + length + FRAME_WORDS <= self.words;
        if fits { last } else { CommitWord { half: 1 - last.half, words: 0, ..last } }
    }

    /// Offset of the first byte after the committed records, from the commit word.
    pub fn offset(self, commit: CommitWord) -> u64 {
        REGION_OFFSET + 8 * (commit.half * self.words + commit.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_word_of_the_log_decodes_to_its_fields() {
        for (records, half, words) in [(0, 0, 0), (1, 1, 0), (u64::from(u32::MAX), 0, (1 << 31) - 1), (7, 1, 12)] {
            let commit = CommitWord { records, half, words };
            assert_eq!(CommitWord::of(commit.word()), commit);
        }
    }

    #[test]
    fn a_log_record_that_does_not_fit_is_stored_in_the_other_half() {
        let halves = LogHalves::of(4096);
        assert_eq!((halves.words, halves.bytes()), (256, 4096));
        let last = CommitWord { records: 9, half: 1, words: 250 };
        assert_eq!(halves.next(last, 4), last);
        let turned = halves.next(last, 5);
        assert_eq!(turned, CommitWord { half: 0, words: 0, ..last });
        assert_eq!((halves.offset(last), halves.offset(turned)), (64 + 8 * (256 + 250), 64));
    }
}
