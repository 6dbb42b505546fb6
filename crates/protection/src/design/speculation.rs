//! The speculation of a design, as its file says it.
//!
//! ```toml
//! speculation = { values = 8 }                                            # ciphertext and tags, values counted
//! speculation = { values = 16, of = ["tag"] }                             # over counter mode, whose pads are ahead anyway
//! speculation = { values = 2, tracking = "fixed", list = [0, -1] }        # what the table holds and goes on holding
//! ```

use super::Parts;
use super::macs::{MacChoice, Over};
use crate::codec::LineCodec;
use crate::scheme::Release;
use crate::speculation::{Speculation, Target, Tracking, WORDS_MAX};
use serde::{Deserialize, Serialize};

/// The speculation of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeculationDesign {
    /// Frequent values in the table: a power of two up to 64, or 0 for none of it.
    pub values: usize,
    /// What is speculated on: ciphertext, tags, or both.
    #[serde(default = "both")]
    pub of: Vec<Target>,
    /// How the table learns.
    #[serde(default)]
    pub tracking: Tracking,
    /// What the table holds at power-on, the most frequent first; each as a signed number of 64 bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<i64>,
}

fn both() -> Vec<Target> {
    vec![Target::Ciphertext, Target::Tag]
}

impl Default for SpeculationDesign {
    fn default() -> SpeculationDesign {
        SpeculationDesign { values: 0, of: both(), tracking: Tracking::default(), list: Vec::new() }
    }
}

impl SpeculationDesign {
    /// Whether there is any.
    pub fn exists(&self) -> bool {
        self.values > 0
    }

    /// Whether the file says nothing that differs from having none.
    pub(super) fn is_left_out(&self) -> bool {
        *self == SpeculationDesign::default()
    }

    /// The rule that is broken, and what would mend it.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), String> {
        let values = self.values;
        if !self.exists() {
            return Ok(());
        }
        if !values.is_power_of_two() || values > WORDS_MAX {
            let nearest = values.next_power_of_two().min(WORDS_MAX);
            return Err(format!(
                "speculation.values is {values}: expected a power of two from 1 to {WORDS_MAX}, as in {nearest}, or 0 for no \
                 speculation"
            ));
        }
        if self.list.len() > values {
            return Err(format!(
                "speculation.list has {} values, and the table has room for {values}",
                self.list.len()
            ));
        }
        let of = |target| self.of.contains(&target);
        let rules = [
            (
                self.of.is_empty(),
                "speculation.of names nothing: expected [\"ciphertext\", \"tag\"], or one of them; or set values = 0",
            ),
            (
                self.tracking == Tracking::Fixed && self.list.is_empty(),
                "speculation.tracking = \"fixed\" learns nothing, and the table is empty: give it speculation.list = [0], or \
                 set tracking = \"counted\"",
            ),
            (
                of(Target::Ciphertext) && !parts.cipher.opens_by_chunks(),
                "speculation of ciphertext needs a cipher that opens a line chunk by chunk, each by itself, when it comes: set \
                 cipher = \"aes256-ocb-chunks\", \"aes128-ocb-chunks\" or \"tdes-ocb-chunks\"; a mode that works ahead, such as \
                 \"aes128-counter\", gains by tags alone: set speculation.of = [\"tag\"]",
            ),
            (
                of(Target::Tag) && (parts.mac.code != MacChoice::OcbChunks || parts.mac.over != Over::Plaintext),
                "speculation of tags compares the tag of each chunk over its plaintext: set mac.code = \"ocb-chunks\" and \
                 mac.over = \"plaintext\", or speculation.of = [\"ciphertext\"]",
            ),
            (
                parts.release == Release::Speculative,
                "speculation on values releases chunks that are verified, and release = \"speculative\" lines that are not: \
                 leave release out, or set speculation.values = 0",
            ),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, rule)| Err(rule.to_owned()))
    }

    /// Builds the part for a codec, if there is any.
    pub(super) fn build(&self, codec: &LineCodec) -> Option<Speculation> {
        let begin: Vec<u64> = self.list.iter().map(|value| value.cast_unsigned()).collect();
        self.exists().then(|| Speculation::new(&self.of, (self.values, self.tracking), &begin, codec.piece_bytes()))
    }
}
