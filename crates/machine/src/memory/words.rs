//! Order in which the words of a line are delivered.

use crate::dram::{Beats, Completion, Wanted};
use serde::{Deserialize, Serialize};
use units::Word;

/// Order and times in which the words of a line are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "WordNotation", into = "WordNotation")]
pub enum WordOrder {
    /// All at once, when the last word has arrived.
    #[default]
    Whole,
    /// In order of arrival, the requested word first. The core gets the requested word early, unless a component on its
    /// path needs the whole line.
    CriticalFirst,
    /// In order of arrival from the first word on, so that chained cipher modes can process each word when it arrives.
    /// The core gets its line whole.
    FromFirst,
}

/// Representation in machine files.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"from-first\"")]
enum WordNotation {
    CriticalFirst(bool),
    Other(String),
}

const FROM_FIRST: &str = "from-first";

impl From<bool> for WordOrder {
    /// Converts true to critical-word first and false to whole lines.
    fn from(critical_word_first: bool) -> WordOrder {
        if critical_word_first { WordOrder::CriticalFirst } else { WordOrder::Whole }
    }
}

impl TryFrom<WordNotation> for WordOrder {
    type Error = String;

    fn try_from(written: WordNotation) -> Result<WordOrder, String> {
        match written {
            WordNotation::CriticalFirst(is_first) => Ok(is_first.into()),
            WordNotation::Other(word) if word == FROM_FIRST => Ok(WordOrder::FromFirst),
            WordNotation::Other(word) => {
                Err(format!("\"{word}\" is not an order of words: expected true, false or \"{FROM_FIRST}\""))
            }
        }
    }
}

impl From<WordOrder> for WordNotation {
    fn from(order: WordOrder) -> WordNotation {
        match order {
            WordOrder::Whole => WordNotation::CriticalFirst(false),
            WordOrder::CriticalFirst => WordNotation::CriticalFirst(true),
            WordOrder::FromFirst => WordNotation::Other(FROM_FIRST.into()),
        }
    }
}

impl WordOrder {
    /// Returns the part of a line that must arrive before its reader continues.
    pub(super) fn wanted(self, wanted: Wanted) -> Wanted {
        match self {
            WordOrder::Whole => Wanted { group: wanted.group, ..Wanted::LINE },
            WordOrder::CriticalFirst => wanted,
            WordOrder::FromFirst => wanted.at_the_beginning(),
        }
    }

    /// Returns the time at which each word can be used, if `from` was requested first.
    pub(super) fn beats(self, answer: &Completion, from: Word) -> Beats {
        match self {
            WordOrder::Whole => Beats::at_once(answer.at),
            WordOrder::CriticalFirst => answer.beats(from),
            WordOrder::FromFirst => answer.beats(Word::FIRST),
        }
    }

    /// Returns true if the core gets no word before its whole line, even if the checker has already released a part of
    /// the line.
    pub fn keeps_lines_whole(self) -> bool {
        self == WordOrder::FromFirst
    }
}
