//! The moment at which a permutation begins in the background, before an access needs a way of the cache.
//!
//! It begins when the cache, or one set of the cache, "is almost full" (section 2.2 of CryptoPage's paper). The papers do
//! not say how full the cache is then.

use super::locks::LockingCache;
use serde::{Deserialize, Serialize};
use units::LineAddr;

/// Condition under which an access starts a permutation in the background.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "StartNotation", into = "StartNotation")]
pub enum BackgroundStart {
    /// At most this number of ways in the set of the access is unlocked. The page chunk is one of those with lines in
    /// the set.
    WaysLeft(usize),
    /// At least this share of the cache's lines is locked, in thousandths. The page chunk is the one with most locked
    /// lines.
    LockedShare(u16),
    /// Never: permutations begin when an access needs a way.
    Never,
}

impl Default for BackgroundStart {
    fn default() -> BackgroundStart {
        BackgroundStart::WaysLeft(1)
    }
}

impl BackgroundStart {
    /// Returns the page chunk to permute in the background after an access to a line, if any.
    pub(super) fn chunk(self, cache: &dyn LockingCache, line: LineAddr) -> Option<u64> {
        match self {
            BackgroundStart::WaysLeft(ways) if cache.unlocked_ways(line) <= ways => cache.chunk_to_permute(line),
            BackgroundStart::LockedShare(thousandths) => {
                let (locked, lines) = cache.locked_lines();
                let is_due = locked as u64 * WHOLE as u64 >= lines as u64 * u64::from(thousandths);
                if is_due { cache.chunk_with_most_locks() } else { None }
            }
            BackgroundStart::WaysLeft(_) | BackgroundStart::Never => None,
        }
    }
}

/// Representation in design files.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of ways, a share of the lines such as 0.75, or \"never\"")]
enum StartNotation {
    Ways(usize),
    Share(f64),
    Word(String),
}

const NEVER: &str = "never";
const WHOLE: f64 = 1000.0;

impl TryFrom<StartNotation> for BackgroundStart {
    type Error = String;

    fn try_from(written: StartNotation) -> Result<BackgroundStart, String> {
        match written {
            StartNotation::Ways(ways) => Ok(BackgroundStart::WaysLeft(ways)),
            StartNotation::Share(share) => {
                let thousandths = (share * WHOLE).round();
                if (0.0..=1.0).contains(&share) && (thousandths - share * WHOLE).abs() < 1e-6 {
                    Ok(BackgroundStart::LockedShare(thousandths as u16))
                } else {
                    Err(format!("{share}: expected a share of the cache's lines from 0 to 1, in whole thousandths"))
                }
            }
            StartNotation::Word(word) if word == NEVER => Ok(BackgroundStart::Never),
            StartNotation::Word(word) => Err(format!(
                "\"{word}\": expected a number of unlocked ways, such as 1, a share of the cache's lines, such as 0.75, or \
                 \"{NEVER}\""
            )),
        }
    }
}

impl From<BackgroundStart> for StartNotation {
    fn from(start: BackgroundStart) -> StartNotation {
        match start {
            BackgroundStart::WaysLeft(ways) => StartNotation::Ways(ways),
            BackgroundStart::LockedShare(thousandths) => StartNotation::Share(f64::from(thousandths) / WHOLE),
            BackgroundStart::Never => StartNotation::Word(NEVER.into()),
        }
    }
}
