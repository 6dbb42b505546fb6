//! The oracle: a plain list of every version of every line. It contains no ciphers, counters or trees, so it cannot
//! repeat their mistakes.

use crate::bus::flip;
use crate::tap::ReadOutcome;
use catalogue::Verdict;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::{Line, LineAddr, Words};

/// Content that the attacker wants a read of the target to release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// No particular content, or an old version of the target, which the oracle knows.
    None,
    /// Exactly these bytes of the line.
    Bytes(Line),
    /// The right bytes except for this bit.
    Flipped(usize),
    /// The present content of another line, in place of the target's.
    ContentOf(LineAddr),
}

/// Result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadResult {
    /// Bytes that were released to the core, if any.
    pub released: Option<Line>,
    /// Words that were released: all, unless the line was refused after some words were released.
    pub words: Words,
    /// True if the chip reported tampering.
    pub reported: bool,
}

/// All versions of a line, oldest first.
#[derive(Clone, Debug, Default, Hash)]
struct LineVersions {
    /// A twin of the oracle shares the versions until the line is written again.
    versions: Rc<Vec<Line>>,
    /// Index of the first version that the line may hold now. More than one is possible after a write that was reported.
    settled: usize,
}

/// All versions of all lines, including start-up contents.
#[derive(Clone, Debug, Default, Hash)]
pub struct Oracle {
    lines: BTreeMap<LineAddr, LineVersions>,
}

impl Oracle {
    /// Records a write, or the start-up content of a line.
    pub fn note(&mut self, line: LineAddr, content: &Line) {
        let history = self.lines.entry(line).or_default();
        history.settled = history.versions.len();
        Rc::make_mut(&mut history.versions).push(*content);
    }

    /// Records a write that ended with a report: it may have happened or not.
    pub fn note_in_doubt(&mut self, line: LineAddr, content: &Line) {
        let history = self.lines.entry(line).or_default();
        Rc::make_mut(&mut history.versions).push(*content);
    }

    /// Returns every recorded line, in order.
    pub fn lines(&self) -> Vec<LineAddr> {
        self.lines.keys().copied().collect()
    }

    /// Returns the current content of a line.
    pub fn current(&self, line: LineAddr) -> Option<&Line> {
        self.lines.get(&line)?.versions.last()
    }

    /// Returns the bytes that would fulfil the attacker's wish about `target`.
    pub fn wished_bytes(&self, target: LineAddr, wish: Wish) -> Option<Line> {
        match wish {
            Wish::None => None,
            Wish::Bytes(bytes) => Some(bytes),
            Wish::Flipped(bit) => self.current(target).map(|content| {
                let mut flipped = *content;
                flip(&mut flipped, bit);
                flipped
            }),
            Wish::ContentOf(other) => self.current(other).copied(),
        }
    }

    /// Returns the result of a read of `line`. Words that were released before their line was refused are no answer, unless they
    /// are wrong.
    pub fn result(&self, line: LineAddr, outcome: &ReadOutcome) -> ReadResult {
        let wrong_first = outcome.first.filter(|(bytes, words)| !self.holds(line, bytes, *words));
        let output = outcome.released.map(|bytes| (bytes, Words::ALL)).or(wrong_first);
        let (released, words) = output.map_or((None, Words::NONE), |(bytes, words)| (Some(bytes), words));
        ReadResult { released, words, reported: outcome.fault.is_some() }
    }

    /// Judges the result of a read of `line`. If the chip released content, this content decides the verdict: a report
    /// is too late for bytes already released. A read with neither bytes nor a report is as bad as garbage: the core
    /// waits for ever.
    pub fn judge(&self, line: LineAddr, answer: &ReadResult, wished: Option<Line>) -> Verdict {
        let ReadResult { released, words, reported } = *answer;
        match released {
            None if reported => Verdict::Detected,
            None => Verdict::Garbled,
            Some(bytes) if self.holds(line, &bytes, words) && reported => Verdict::Detected,
            Some(bytes) if self.holds(line, &bytes, words) => Verdict::Harmless,
            Some(bytes) if wished.is_some_and(|wished| are_alike(&wished, &bytes, words)) => Verdict::Forged,
            Some(bytes) if self.held(line, &bytes, words) => Verdict::Stale,
            Some(_) => Verdict::Garbled,
        }
    }

    /// Returns true if a version that the line may hold now has these words of `bytes`.
    pub fn holds(&self, line: LineAddr, bytes: &Line, words: Words) -> bool {
        self.lines.get(&line).is_some_and(|history| any_is_alike(&history.versions[history.settled..], bytes, words))
    }

    /// Returns true if any version of the line had these words of `bytes`.
    pub fn held(&self, line: LineAddr, bytes: &Line, words: Words) -> bool {
        self.lines.get(&line).is_some_and(|history| any_is_alike(&history.versions, bytes, words))
    }
}

fn any_is_alike(versions: &[Line], bytes: &Line, words: Words) -> bool {
    versions.iter().any(|version| are_alike(version, bytes, words))
}

/// Returns true if these words of two lines are equal.
fn are_alike(one: &Line, other: &Line, words: Words) -> bool {
    words.iter().all(|word| word.of(one) == word.of(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_write_that_reported_a_fault_the_oracle_accepts_old_and_new_content() {
        let mut oracle = Oracle::default();
        let judge = |oracle: &Oracle, byte| {
            oracle.judge(
                LineAddr(3),
                &ReadResult { released: Some([byte; 64]), words: Words::ALL, reported: false },
                None,
            )
        };
        oracle.note(LineAddr(3), &[1; 64]);
        oracle.note(LineAddr(3), &[2; 64]);
        oracle.note_in_doubt(LineAddr(3), &[3; 64]);
        assert_eq!([1, 2, 3].map(|byte| judge(&oracle, byte)), [Verdict::Stale, Verdict::Harmless, Verdict::Harmless]);
        oracle.note(LineAddr(3), &[4; 64]);
        assert_eq!([2, 3, 4].map(|byte| judge(&oracle, byte)), [Verdict::Stale, Verdict::Stale, Verdict::Harmless]);
    }

    #[test]
    fn the_oracle_gives_each_kind_of_outcome_its_verdict() {
        let (line, other) = (LineAddr(3), LineAddr(4));
        let mut oracle = Oracle::default();
        oracle.note(line, &[1; 64]);
        oracle.note(line, &[2; 64]);
        oracle.note(other, &[9; 64]);
        let judge = |released, reported, wish| {
            oracle.judge(line, &ReadResult { released, words: Words::ALL, reported }, oracle.wished_bytes(line, wish))
        };
        let mut flipped = [2; 64];
        flipped[1] = 3;
        assert_eq!(judge(Some([2; 64]), false, Wish::None), Verdict::Harmless);
        assert_eq!(judge(Some([1; 64]), false, Wish::None), Verdict::Stale);
        assert_eq!(judge(Some([7; 64]), false, Wish::None), Verdict::Garbled);
        assert_eq!(judge(Some([7; 64]), false, Wish::Bytes([7; 64])), Verdict::Forged);
        assert_eq!(judge(Some([9; 64]), false, Wish::ContentOf(other)), Verdict::Forged);
        assert_eq!(judge(Some(flipped), false, Wish::Flipped(8)), Verdict::Forged);
        assert_eq!(judge(None, true, Wish::None), Verdict::Detected);
        assert_eq!(judge(Some(flipped), true, Wish::Flipped(8)), Verdict::Forged, "the report came too late");
        assert_eq!(judge(None, false, Wish::None), Verdict::Garbled, "silence is no answer");
    }

    #[test]
    fn only_wrong_words_before_a_refusal_are_a_result() {
        let mut oracle = Oracle::default();
        oracle.note(LineAddr(3), &[1; 64]);
        let result = |first: u8, released: Option<Line>| {
            let first = Some(([first; 64], Words::with_bytes(0, 16)));
            let result = oracle.result(LineAddr(3), &ReadOutcome { released, first, fault: None });
            (result.released, result.words)
        };
        assert_eq!(result(1, None), (None, Words::NONE));
        assert_eq!(result(2, None), (Some([2; 64]), Words::with_bytes(0, 16)));
        assert_eq!(result(2, Some([3; 64])), (Some([3; 64]), Words::ALL));
    }

    #[test]
    fn the_verdict_on_a_refused_line_counts_only_its_released_words() {
        let mut oracle = Oracle::default();
        [[1; 64], [2; 64]].iter().for_each(|content| oracle.note(LineAddr(3), content));
        let judge = |first: u8, wished| {
            let mut released = [77; 64];
            released[..16].fill(first);
            let answer = ReadResult { released: Some(released), words: Words::with_bytes(0, 16), reported: true };
            oracle.judge(LineAddr(3), &answer, wished)
        };
        assert_eq!([1, 2, 3].map(|first| judge(first, None)), [Verdict::Stale, Verdict::Detected, Verdict::Garbled]);
        assert_eq!(judge(3, Some([3; 64])), Verdict::Forged);
    }
}
