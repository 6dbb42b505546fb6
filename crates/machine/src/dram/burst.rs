//! What moves between a channel and its controller at once.

use serde::{Deserialize, Serialize};
use units::{LineAddr, WORDS_PER_LINE};

/// A burst: the line that it begins with, and how many words move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// The line, as the channels of memory number lines.
    pub line: LineAddr,
    /// Words, at least one.
    pub words: u8,
}

impl From<LineAddr> for Burst {
    /// A line of 64 bytes.
    fn from(line: LineAddr) -> Burst {
        Burst { line, words: WORDS_PER_LINE as u8 }
    }
}

/// How long bursts can be.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BurstLength {
    /// A line of 64 bytes each, as DDR memory moves them.
    #[default]
    Fixed,
    /// As many words as are asked for, up to a line of 64 bytes, at `burst_clocks` / 8 each: memory before DDR could end a burst
    /// after any word.
    Any,
}
