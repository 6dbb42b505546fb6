//! The end of an attack: the worst output of memory, and whether the attacker also learned something of the plaintext.
//!
//! A dropped write can restore an old version, and also make two texts share a pad. Each of these harms counts
//! separately, so an end has two axes: the worst output of memory, and whether anything leaked. If an attack was
//! stopped but leaked something, its end is only the leak: "detected, but leaked" is `leaked`.
//!
//! In a design file an end is one verdict, or a list of two: `replay-data = "stale"`, `drop-write = ["stale", "leaked"]`.
//! Everywhere else it is one text: `stale + leaked`.

use crate::verdict::Verdict;
use serde::de::{Error, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The end of an attack. Ends are ordered by their verdicts, and an end with a leak follows the same end without a
/// leak.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End {
    /// The verdict; `Leaked` for an end with only a leak.
    verdict: Verdict,
    leaked: bool,
}

/// Separator of two verdicts in a text.
const AND: &str = " + ";

impl End {
    /// The end of an attack that has no target.
    pub const NONE: End = End { verdict: Verdict::NotApplicable, leaked: false };

    /// The same end, with a leak of plaintext as well if `leaks`.
    #[must_use]
    pub fn leaking(self, leaks: bool) -> End {
        match leaks {
            false => self,
            true if self.verdict.is_stopped() => End::from(Verdict::Leaked),
            true => End { leaked: true, ..self },
        }
    }

    /// The worse of two ends, separately on each axis.
    #[must_use]
    pub fn worst(self, other: End) -> End {
        let output = self.output().max(other.output());
        End::from(output).leaking(self.leaked || other.leaked)
    }

    /// The worst of several ends, separately on each axis; `None` for an empty list.
    pub fn worst_of(ends: impl IntoIterator<Item = End>) -> Option<End> {
        ends.into_iter().reduce(End::worst)
    }

    /// The verdict; `Leaked` for an end with only a leak.
    pub fn verdict(self) -> Verdict {
        self.verdict
    }

    /// Returns true if the attacker learned something about the plaintext.
    pub fn leaks(self) -> bool {
        self.leaked
    }

    /// Returns true if the design stopped the attack.
    pub fn is_stopped(self) -> bool {
        self.verdict.is_stopped()
    }

    /// Returns true if the end is worse than another on either axis.
    pub fn is_worse_than(self, other: End) -> bool {
        // If the other end has a leak, the verdict of a stopped attack does not matter.
        let has_worse_output = self.output() > other.output() && !(self.is_stopped() && other.leaked);
        has_worse_output || (self.leaked && !other.leaked)
    }

    /// The worst output of memory, without any leak.
    fn output(self) -> Verdict {
        if self.verdict == Verdict::Leaked { Verdict::NotApplicable } else { self.verdict }
    }

    /// The end as text.
    pub fn name(self) -> &'static str {
        match (self.leaked, self.verdict) {
            (true, Verdict::Unrecoverable) => "unrecoverable + leaked",
            (true, Verdict::Garbled) => "garbled + leaked",
            (true, Verdict::Stale) => "stale + leaked",
            (true, Verdict::Forged) => "forged + leaked",
            (_, verdict) => verdict.name(),
        }
    }

    /// Joins two verdicts to an end, if one is `leaked` and the other is not the verdict of a stopped attack.
    fn of_two(one: Verdict, other: Verdict) -> Result<End, String> {
        let (evil, leak) = if one == Verdict::Leaked { (other, one) } else { (one, other) };
        if leak != Verdict::Leaked {
            return Err(format!(
                "\"{one}\" and \"{other}\" cannot be combined: expected one verdict, or one and \"leaked\""
            ));
        }
        if evil == Verdict::Leaked || evil.is_stopped() {
            return Err(format!(
                "\"{evil}\" cannot be combined with \"leaked\": expected only \"leaked\", or \"leaked\" with \
                 \"unrecoverable\", \"garbled\", \"stale\" or \"forged\""
            ));
        }
        Ok(End::from(evil).leaking(true))
    }
}

impl From<Verdict> for End {
    fn from(verdict: Verdict) -> End {
        End { verdict, leaked: verdict == Verdict::Leaked }
    }
}

/// An end equals a verdict if it has no additional leak.
impl PartialEq<Verdict> for End {
    fn eq(&self, verdict: &Verdict) -> bool {
        *self == End::from(*verdict)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for End {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<End, D::Error> {
        deserializer.deserialize_any(EndVisitor)
    }
}

struct EndVisitor;

fn verdict<E: Error>(name: &str) -> Result<Verdict, E> {
    Verdict::deserialize(name.into_deserializer())
}

impl<'de> Visitor<'de> for EndVisitor {
    type Value = End;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a verdict as in \"stale\", or a list of two as in [\"stale\", \"leaked\"]")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<End, E> {
        match text.split_once(AND) {
            None => Ok(End::from(verdict(text)?)),
            Some((one, other)) => End::of_two(verdict(one)?, verdict(other)?).map_err(E::custom),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<End, A::Error> {
        let mut listed = Vec::new();
        while let Some(verdict) = list.next_element()? {
            listed.push(verdict);
        }
        match listed[..] {
            [one, other] => End::of_two(one, other).map_err(A::Error::custom),
            _ => Err(A::Error::invalid_length(listed.len(), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<End, String> {
        #[derive(Deserialize)]
        struct File {
            claim: End,
        }
        toml::from_str(&format!("claim = {text}")).map(|file: File| file.claim).map_err(|error| error.to_string())
    }

    #[test]
    fn a_combined_attack_outcome_names_a_failure_and_a_leak_and_omits_a_stopped_attack() {
        let (stale, leaked, detected) = (Verdict::Stale, Verdict::Leaked, Verdict::Detected);
        let both = End::from(stale).leaking(true);
        assert_eq!(both.to_string(), "stale + leaked");
        assert_eq!(End::worst_of([stale, leaked, detected].map(End::from)), Some(both));
        assert_eq!(End::from(detected).leaking(true), leaked);
        assert_eq!(End::from(detected).worst(leaked.into()), leaked);
        assert_eq!(End::from(Verdict::Garbled).worst(leaked.into()).name(), "garbled + leaked");
        assert_eq!(End::from(stale).leaking(false), stale);
    }

    #[test]
    fn an_attack_outcome_is_worse_if_its_integrity_or_confidentiality_verdict_is_worse() {
        let [stale, leaked, detected, hidden] =
            [Verdict::Stale, Verdict::Leaked, Verdict::Detected, Verdict::Hidden].map(End::from);
        let both = stale.worst(leaked);
        for (worse, better) in
            [(both, stale), (both, leaked), (leaked, detected), (stale, detected), (detected, hidden)]
        {
            assert!(worse.is_worse_than(better) && !better.is_worse_than(worse), "{worse}, {better}");
        }
        assert!(stale.is_worse_than(leaked) && leaked.is_worse_than(stale), "neither excuses the other");
    }

    #[test]
    fn an_attack_outcome_is_parsed_from_one_verdict_a_list_of_two_or_joined_text() {
        let both = End::from(Verdict::Stale).leaking(true);
        assert_eq!(read("\"stale\"").unwrap(), Verdict::Stale);
        assert_eq!(read("[\"stale\", \"leaked\"]").unwrap(), both);
        assert_eq!(read("[\"leaked\", \"stale\"]").unwrap(), both);
        assert_eq!(read("\"stale + leaked\"").unwrap(), both);
        assert_eq!(toml::Value::try_from(both).unwrap(), toml::Value::from("stale + leaked"));
    }

    #[test]
    fn an_invalid_attack_outcome_in_a_claim_is_refused_with_the_valid_forms() {
        for (text, expected) in [
            ("\"stail\"", "unknown variant `stail`"),
            ("[\"stale\", \"leekt\"]", "unknown variant `leekt`"),
            ("[\"stale\"]", "a list of two as in"),
            ("[\"stale\", \"forged\"]", "or one and \"leaked\""),
            ("[\"detected\", \"leaked\"]", "expected only \"leaked\""),
            ("7", "expected a verdict"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
