//! The verdict on an attack, in a word.

use crate::named::named;

named! {
    /// Result of an attack, in order from the best for the defender to the worst.
    Verdict:
    /// The design has no target for the attack.
    NotApplicable = "not-applicable",
    /// Memory returned the right bytes: the change does not matter.
    Harmless = "harmless",
    /// The attacker could not learn the secret.
    Hidden = "hidden",
    /// Memory returned no bytes: it denied the access, or the attacker denied service.
    Refused = "refused",
    /// Memory reported tampering and returned no bytes.
    Detected = "detected",
    /// Memory accepted forgeries only as rarely as the length of the tag promises.
    Bounded = "bounded",
    /// Memory is refused without tampering: the written data is lost, and the design reports it.
    Unrecoverable = "unrecoverable",
    /// Memory returned wrong bytes that the attacker could not choose.
    Garbled = "garbled",
    /// The attacker learned something about the plaintext.
    Leaked = "leaked",
    /// Memory returned an older version.
    Stale = "stale",
    /// Memory returned bytes that the attacker chose.
    Forged = "forged",
}

impl Verdict {
    /// Returns true if the design stopped the attack.
    pub fn is_stopped(self) -> bool {
        self <= Verdict::Bounded
    }
}
