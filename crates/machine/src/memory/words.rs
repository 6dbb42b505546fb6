//! In which order the words of a line are handed on.

use crate::dram::{Beats, Completion, Wanted};
use serde::{Deserialize, Serialize};
use units::Word;

/// In which order the words of a line are handed on, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "WordNotation", into = "WordNotation")]
pub enum WordOrder {
    /// All at once, when the last is there.
    #[default]
    Whole,
    /// As they come, the asked-for one first; the core gets that before the rest where nothing needs the line as a whole.
    CriticalFirst,
    /// As they come, from the first on, so that what is chained goes along with them; the core gets its line whole.
    FromFirst,
}

/// How files write it.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"from-first\"")]
enum WordNotation {
    CriticalFirst(bool),
    Other(String),
}

const FROM_FIRST: &str = "from-first";

impl From<bool> for WordOrder {
    /// Whether the critical word comes first.
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
                Err(format!("\"{word}\" is no order: expected true, false or \"{FROM_FIRST}\""))
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
    /// What of a line has to be there before its reader goes on.
    pub(super) fn wanted(self, wanted: Wanted) -> Wanted {
        match self {
            WordOrder::Whole => Wanted::LINE,
            WordOrder::CriticalFirst => wanted,
            WordOrder::FromFirst => wanted.at_the_beginning(),
        }
    }

    /// When each word can be used, if that one was asked for first.
    pub(super) fn beats(self, answer: &Completion, from: Word) -> Beats {
        match self {
            WordOrder::Whole => Beats::at_once(answer.at),
            WordOrder::CriticalFirst => answer.beats(from),
            WordOrder::FromFirst => answer.beats(Word::FIRST),
        }
    }

    /// Whether the core gets no word before the rest of its line, though a checker may be done with it.
    pub fn keeps_lines_whole(self) -> bool {
        self == WordOrder::FromFirst
    }
}
