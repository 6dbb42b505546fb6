//! What the log finds in its memory when it starts again. It shares its layout with the writer and nothing else.

use super::super::durable::{Damage, Held, Image, Recovery};
use super::Records;
use super::layout::{Commit, FRAME_WORDS, Halves, number_and_length};

pub struct LogRecovery {
    pub base: u64,
    pub halves: Halves,
    pub records: Records,
}

impl LogRecovery {
    fn record(&self, image: &mut Image, commit: Commit, at: u64) -> Result<Held, Damage> {
        let start = self.base + self.halves.offset(Commit { words: at, ..commit });
        let (number, length) = number_and_length(image.word(start)?);
        if at + length + FRAME_WORDS > commit.words {
            return Err(Damage::found(format!("record {number} goes on behind what is committed")));
        }
        let words = (0..=length).map(|index| image.word(start + 8 * index)).collect::<Result<Vec<u64>, Damage>>()?;
        if image.word(start + 8 * (length + 1))? != fnv_1a(&words) {
            return Err(Damage::found(format!("record {number} is not what its checksum was made of")));
        }
        Ok(Held { number, words: words[1..].to_vec() })
    }
}

impl Recovery for LogRecovery {
    fn commit_word(&self) -> u64 {
        self.base
    }

    fn recover(&self, image: &mut Image) -> Result<(u64, Vec<Held>), Damage> {
        let commit = Commit::of(image.word(self.base)?);
        if commit.words > self.halves.words {
            return Err(Damage::found("more is committed than a half has room for".to_owned()));
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
            Some((number, record)) => Err(Damage::found(format!("record {} is where {number} was", record.number))),
            None => Ok((commit.records, held)),
        }
    }

    fn asked_for(&self, number: u64) -> Vec<u64> {
        (0..self.records.length(number)).map(|index| self.records.word(number, index)).collect()
    }
}

/// FNV-1a with words of 64 bits in the place of bytes (Fowler, Noll and Vo).
fn fnv_1a(words: &[u64]) -> u64 {
    const OFFSET_BASIS: u64 = 14_695_981_039_346_656_037;
    const PRIME: u64 = 1_099_511_628_211;
    words.iter().fold(OFFSET_BASIS, |hash, word| (hash ^ word).wrapping_mul(PRIME))
}
