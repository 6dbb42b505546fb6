//! Recovery of the log: reads and checks its memory after a restart. It shares the layout and the expected records with
//! the writer.

use super::super::durable::{Damage, Image, RecoveredOperation, Recovery};
use super::LogRecords;
use super::layout::{CommitWord, FRAME_WORDS, LogHalves, number_and_length};

pub struct LogRecovery {
    pub base: u64,
    pub halves: LogHalves,
    pub records: LogRecords,
}

impl LogRecovery {
    fn record(&self, image: &mut Image, commit: CommitWord, at: u64) -> Result<RecoveredOperation, Damage> {
        let start = self.base + self.halves.offset(CommitWord { words: at, ..commit });
        let (number, length) = number_and_length(image.word(start)?);
        if at + length + FRAME_WORDS > commit.words {
            return Err(Damage::found(format!("record {number} continues after the committed words")));
        }
        let words = (0..=length).map(|index| image.word(start + 8 * index)).collect::<Result<Vec<u64>, Damage>>()?;
        if image.word(start + 8 * (length + 1))? != fnv_1a(&words) {
            return Err(Damage::found(format!("record {number} does not match its checksum")));
        }
        Ok(RecoveredOperation { number, words: words[1..].to_vec() })
    }
}

impl Recovery for LogRecovery {
    fn commit_word(&self) -> u64 {
        self.base
    }

    fn recover(&self, image: &mut Image) -> Result<(u64, Vec<RecoveredOperation>), Damage> {
        let commit = CommitWord::of(image.word(self.base)?);
        if commit.words > self.halves.words {
            return Err(Damage::found("more words are committed than a half holds".to_owned()));
        }
        let (mut at, mut held) = (0, Vec::new());
        while at < commit.words {
            let record = self.record(image, commit, at)?;
            at += record.words.len() as u64 + FRAME_WORDS;
            held.push(record);
        }
        let first = commit.records.checked_sub(held.len() as u64);
        let first = first.ok_or_else(|| Damage::found("there are more records than were committed".to_owned()))?;
        match (first..).zip(&held).find(|(number, record)| record.number != *number) {
            Some((number, record)) => {
                Err(Damage::found(format!("record {} is in the place of {number}", record.number)))
            }
            None => Ok((commit.records, held)),
        }
    }

    fn expected_words(&self, number: u64) -> Vec<u64> {
        (0..self.records.length(number)).map(|index| self.records.word(number, index)).collect()
    }
}

/// Computes FNV-1a over words of 64 bits instead of bytes (Fowler, Noll and Vo).
fn fnv_1a(words: &[u64]) -> u64 {
    const OFFSET_BASIS: u64 = 14_695_981_039_346_656_037;
    const PRIME: u64 = 1_099_511_628_211;
    words.iter().fold(OFFSET_BASIS, |hash, word| (hash ^ word).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::super::layout::{REGION_OFFSET, header};
    use super::*;

    /// Recovers a log of two one-word records with these numbers and correct checksums, after seven commits.
    fn found(numbers: [u64; 2]) -> Result<u64, Damage> {
        let records = numbers.map(|number| [header(number, 1), 100 + number]);
        let framed = records.iter().flat_map(|record| [record[0], record[1], fnv_1a(record)]);
        let commit = CommitWord { records: 7, half: 0, words: 6 };
        let behind_commit = [0; REGION_OFFSET as usize / 8 - 1];
        let words: Vec<u64> = [commit.word()].into_iter().chain(behind_commit).chain(framed).collect();
        let mut memory: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        memory.resize(128, 0);
        let log = LogRecovery { base: 0, halves: LogHalves::of(4096), records: LogRecords { salt: 0, longest: 1 } };
        let mut read = |addr: u64| memory[addr as usize..].first_chunk().copied();
        log.recover(&mut Image::new(&mut read)).map(|(records, _)| records)
    }

    #[test]
    fn log_recovery_refuses_records_other_than_the_last_committed_ones_in_order() {
        assert_eq!(found([5, 6]), Ok(7));
        for (numbers, wrong) in [([6, 5], "record 6 is in the place of 5"), ([5, 7], "record 7 is in the place of 6")] {
            assert_eq!(found(numbers), Err(Damage::found(wrong.to_owned())));
        }
        assert_eq!(
            found([4, 5]),
            Err(Damage::found("record 4 is in the place of 5".to_owned())),
            "the last one is missing"
        );
    }
}
