//! Bursts: the unit of transfer between a channel and its controller.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use units::{LineAddr, WORDS_PER_LINE};

/// Number of a group of reads. A channel transfers the bursts of a group in the order in which they were submitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadGroup(NonZeroU32);

impl ReadGroup {
    /// Number of the first group.
    pub const FIRST: ReadGroup = ReadGroup(NonZeroU32::MIN);

    /// Returns the number of the next group: the first one after four billion groups.
    #[must_use]
    pub fn next(self) -> ReadGroup {
        ReadGroup(self.0.checked_add(1).unwrap_or(NonZeroU32::MIN))
    }
}

/// A burst: its first line, and the number of words to transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// First line of the burst, in the line numbers of the channel.
    pub line: LineAddr,
    /// Number of words, at least one.
    pub words: u8,
    /// Group of a read, if the order of several reads matters.
    pub group: Option<ReadGroup>,
}

impl From<LineAddr> for Burst {
    /// A line of 64 bytes.
    fn from(line: LineAddr) -> Burst {
        Burst { line, words: WORDS_PER_LINE as u8, group: None }
    }
}

/// Possible lengths of bursts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BurstLength {
    /// All bursts are lines of 64 bytes, as in DDR memory.
    #[default]
    Fixed,
    /// Bursts contain the requested words, up to a line of 64 bytes, and each word takes `burst_clocks` / 8 clocks.
    /// Memory before DDR could end a burst after any word.
    Any,
}
