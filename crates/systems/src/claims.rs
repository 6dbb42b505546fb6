//! What a design claims about attacks, as data.
//!
//! A claim is compared with what happens in both directions: a design that falls where it claims to stand is broken,
//! and a design that stands where it claims to fall has a stale claim. Either way something must be made right.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

macro_rules! attacks {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal),* $(,)?) => {
        /// What an attacker does to the memory while nobody looks.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Attack { $($(#[doc = $doc])+ $name),* }

        impl Attack {
            /// Every attack, in the order of the tables.
            pub const ALL: &'static [Attack] = &[$(Attack::$name),*];

            /// The name used in files and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Attack::$name => $text),* }
            }

            /// What the attacker does, in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Attack::$name => concat!($($doc),+)),* }
            }
        }
    };
}

attacks! {
    /// Writes bytes of its own over a line of data.
    SpoofData = "spoof-data",
    /// Writes bytes of its own over a stored tag.
    SpoofTag = "spoof-tag",
    /// Writes bytes of its own over a line of counters.
    SpoofCounter = "spoof-counter",
    /// Writes bytes of its own over a node of the tree.
    SpoofNode = "spoof-node",
    /// Flips one chosen bit of a line of data.
    FlipData = "flip-data",
    /// Flips one bit of a stored tag.
    FlipTag = "flip-tag",
    /// Flips one bit of a line of counters.
    FlipCounter = "flip-counter",
    /// Flips one bit of a node of the tree.
    FlipNode = "flip-node",
    /// Puts the data of one line in the place of another.
    SpliceData = "splice-data",
    /// Puts the data and the tag of one line in the place of another.
    SpliceDataTag = "splice-data-tag",
    /// Puts the data, the tag and the counters of one line in the place of another.
    SpliceDataTagCounter = "splice-data-tag-counter",
    /// Brings back an old version of the data.
    ReplayData = "replay-data",
    /// Brings back an old version of the data and its tag.
    ReplayDataTag = "replay-data-tag",
    /// Brings back an old version of the data, its tag and its counters.
    ReplayDataTagCounter = "replay-data-tag-counter",
    /// Brings back an old version of everything in memory below some level of the tree, for each level.
    ReplayBelowLevel = "replay-below-level",
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How an attack ends. Ordered from what the defender wants to what it fears.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There is nothing of the kind to attack.
    NotApplicable,
    /// The right bytes came out: what was changed does not matter.
    Harmless,
    /// Reported, and nothing came out.
    Detected,
    /// Wrong bytes came out, and the attacker could not choose them.
    Garbled,
    /// An older version came out.
    Stale,
    /// Bytes of the attacker's choice came out.
    Forged,
}

impl Verdict {
    /// Whether the design withstood.
    pub fn is_stopped(self) -> bool {
        self <= Verdict::Detected
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NotApplicable => "not-applicable",
            Verdict::Harmless => "harmless",
            Verdict::Detected => "detected",
            Verdict::Garbled => "garbled",
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

/// The worst end of each attack that a design admits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Claims(BTreeMap<Attack, Verdict>);

impl Claims {
    /// What is claimed about an attack.
    pub fn about(&self, attack: Attack) -> Option<Verdict> {
        self.0.get(&attack).copied()
    }

    /// The first attack about which nothing is claimed.
    pub(crate) fn missing(&self) -> Option<Attack> {
        Attack::ALL.iter().copied().find(|attack| !self.0.contains_key(attack))
    }
}
