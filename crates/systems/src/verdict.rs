//! How an attack ends, in a word.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How an attack ends. Ordered from what the defender wants to what it fears.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There is nothing of the kind to attack.
    NotApplicable,
    /// The right bytes came out: what was changed does not matter.
    Harmless,
    /// What was looked for could not be learned.
    Hidden,
    /// Who asked was not entitled to it, and nothing came out.
    Refused,
    /// Reported, and nothing came out.
    Detected,
    /// Forgeries passed just as seldom as the length of the tag promises.
    Bounded,
    /// Nobody tampered, and yet memory is refused: what was written is lost, and the design says so.
    Unrecoverable,
    /// Wrong bytes came out, and the attacker could not choose them.
    Garbled,
    /// Something about the plaintext was learned.
    Leaked,
    /// An older version came out.
    Stale,
    /// Bytes of the attacker's choice came out.
    Forged,
}

impl Verdict {
    /// Whether the design withstood.
    pub fn is_stopped(self) -> bool {
        self <= Verdict::Bounded
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NotApplicable => "not-applicable",
            Verdict::Harmless => "harmless",
            Verdict::Hidden => "hidden",
            Verdict::Refused => "refused",
            Verdict::Detected => "detected",
            Verdict::Bounded => "bounded",
            Verdict::Unrecoverable => "unrecoverable",
            Verdict::Garbled => "garbled",
            Verdict::Leaked => "leaked",
            Verdict::Stale => "stale",
            Verdict::Forged => "forged",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
