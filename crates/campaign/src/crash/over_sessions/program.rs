//! The program of a machine under attack: the texts that it stores, and the judge of the texts that it reads.

use crate::oracle::{Oracle, ReadResult};
use catalogue::Verdict;
use std::collections::BTreeMap;
use units::{LINE_BYTES, Line, LineAddr, WORD_BYTES};

/// The stores of a program, and the verdict on its reads.
#[derive(Clone)]
pub struct StoringProgram {
    /// Acknowledged stores, and stores in doubt.
    pub stores: Oracle,
    /// Number of stores to each line so far, which determines the next text.
    texts: BTreeMap<LineAddr, u64>,
    /// Worst verdict on a read so far, and the line of that read.
    pub worst: (Verdict, Option<LineAddr>),
}

impl StoringProgram {
    /// Returns a program before its first store.
    pub fn new() -> StoringProgram {
        StoringProgram { stores: Oracle::default(), texts: BTreeMap::new(), worst: (Verdict::Harmless, None) }
    }

    /// Number of stores to each line so far.
    pub fn texts(&self) -> &BTreeMap<LineAddr, u64> {
        &self.texts
    }

    /// Returns the text of the next store to a line: another one for each store.
    pub fn next_text(&mut self, line: LineAddr) -> Line {
        let number = self.texts.entry(line).or_default();
        *number += 1;
        let mut text = [0; LINE_BYTES];
        let word = (line.0 << 16 | *number) * 0x0101_0101 + 1;
        text.chunks_exact_mut(WORD_BYTES).for_each(|bytes| bytes.copy_from_slice(&word.to_le_bytes()));
        text
    }

    /// Notes the result of a read. A content that was released decides which store in doubt has happened.
    pub fn has_read(&mut self, line: LineAddr, answer: &ReadResult, is_attacked: bool) {
        let verdict = self.judge(line, answer, is_attacked);
        if verdict > self.worst.0 {
            self.worst = (verdict, Some(line));
        }
        if let (Some(bytes), Verdict::Harmless) = (answer.released, verdict) {
            self.stores.note(line, &bytes);
        }
    }

    /// Judges the result of a read. A report without an attacker is a loss.
    pub fn judge(&self, line: LineAddr, answer: &ReadResult, is_attacked: bool) -> Verdict {
        let verdict = self.stores.judge(line, answer, None);
        if verdict == Verdict::Detected && !is_attacked { Verdict::Unrecoverable } else { verdict }
    }
}
