//! How an attack ends, in a word.

use crate::named::named;

named! {
    /// How an attack ends. Ordered from what the defender wants to what it fears.
    Verdict:
    /// There is nothing of the kind to attack.
    NotApplicable = "not-applicable",
    /// The right bytes came out: what was changed does not matter.
    Harmless = "harmless",
    /// What was looked for could not be learned.
    Hidden = "hidden",
    /// Nothing came out: the access was not entitled to it, or it was denied service.
    Refused = "refused",
    /// Reported, and nothing came out.
    Detected = "detected",
    /// Forgeries passed just as seldom as the length of the tag promises.
    Bounded = "bounded",
    /// Nothing was tampered with, and yet memory is refused: what was written is lost, and the design says so.
    Unrecoverable = "unrecoverable",
    /// Wrong bytes came out, and the attacker could not choose them.
    Garbled = "garbled",
    /// Something about the plaintext was learned.
    Leaked = "leaked",
    /// An older version came out.
    Stale = "stale",
    /// Bytes of the attacker's choice came out.
    Forged = "forged",
}

impl Verdict {
    /// Whether the design withstood.
    pub fn is_stopped(self) -> bool {
        self <= Verdict::Bounded
    }
}
