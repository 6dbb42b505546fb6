//! The speculation of a design, in the form of a design file.
//!
//! ```toml
//! speculation = { values = 8 }                                            # ciphertext and tags, values counted
//! speculation = { values = 16, of = ["tag"] }                             # over counter mode, whose pads are ahead anyway
//! speculation = { values = 8, reorder = true }                            # for blocks of two words: the frequent words first
//! speculation = { values = 2, tracking = "fixed", list = [0, -1] }        # what the table holds and goes on holding
//! ```

use super::Parts;
use super::macs::{MacChoice, Over};
use crate::codec::LineCodec;
use crate::scheme::Release;
use crate::speculation::{Reordering, Speculation, Target, Tracking, WORDS_MAX};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The speculation of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in { values = 8 }")]
pub struct SpeculationDesign {
    /// Number of frequent values in the table: a power of two up to 64, or 0 for no speculation.
    pub values: usize,
    /// Values that the engine computes in advance for predicted words: their ciphertext, their tags, or both.
    #[serde(default = "both")]
    pub of: Vec<Target>,
    /// Method by which the value table learns: it counts words (`counted`), keeps the most recent words (`lru`), or
    /// keeps its initial words (`fixed`).
    #[serde(default)]
    pub tracking: Tracking,
    /// True if the controller moves the frequent words of a line to its beginning when it writes the line, so that
    /// blocks of two words are predictable. A bitmap for each line records the original order of its words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// Protection of the bitmaps: by the tags of the line's chunks (`bound`), or no protection (`loose`), as in the
    /// paper.
    #[serde(default, skip_serializing_if = "BitmapTrust::is_bound")]
    pub bitmap: BitmapTrust,
    /// Content of the value table at power-on, the most frequent value first. Each value is a signed number of 64 bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<i64>,
}

/// Protection of the bitmaps of re-ordered lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum BitmapTrust {
    /// The tags of a line's chunks, which also cover its bitmap.
    #[default]
    Bound,
    /// No protection, as in the paper.
    Loose,
}

impl BitmapTrust {
    fn is_bound(&self) -> bool {
        *self == BitmapTrust::Bound
    }
}

/// Returns the permitted table size that is nearest to this one; of two equally near sizes, the larger.
fn nearest_size(values: usize) -> usize {
    let sizes = (0..=WORDS_MAX.ilog2()).rev().map(|log| 1_usize << log);
    sizes.min_by_key(|size| size.abs_diff(values)).unwrap_or(WORDS_MAX)
}

fn both() -> Vec<Target> {
    vec![Target::Ciphertext, Target::Tag]
}

impl Default for SpeculationDesign {
    fn default() -> SpeculationDesign {
        SpeculationDesign {
            values: 0,
            of: both(),
            tracking: Tracking::default(),
            reorder: false,
            bitmap: BitmapTrust::default(),
            list: Vec::new(),
        }
    }
}

impl SpeculationDesign {
    /// Returns whether the design speculates.
    pub fn exists(&self) -> bool {
        self.values > 0
    }

    /// Returns whether the words of lines are re-ordered.
    pub(super) fn reorders(&self) -> bool {
        self.exists() && self.reorder
    }

    /// Returns whether tags cover bitmaps.
    pub(super) fn binds_bitmaps(&self) -> bool {
        self.reorders() && self.bitmap.is_bound()
    }

    /// Returns whether bitmaps are in memory without protection.
    pub(super) fn leaves_bitmaps_loose(&self) -> bool {
        self.reorders() && !self.bitmap.is_bound()
    }

    /// Returns whether all keys have their defaults, as in a design without speculation.
    pub(super) fn is_left_out(&self) -> bool {
        *self == SpeculationDesign::default()
    }

    /// Checks the speculation. Fails with the rule that is broken, and a change that would mend it.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), String> {
        if let Some(rule) = self.broken_rule_of_bitmaps(parts) {
            return Err(rule);
        }
        let values = self.values;
        if !self.exists() {
            return Ok(());
        }
        if !values.is_power_of_two() || values > WORDS_MAX {
            let nearest = nearest_size(values);
            return Err(format!(
                "speculation.values is {values}: expected a power of two from 1 to {WORDS_MAX}, as in {nearest}, or 0 for no \
                 speculation"
            ));
        }
        if self.list.len() > values {
            return Err(format!(
                "speculation.list has {} values, and the table has room for {values}: set speculation.values = {}, or leave \
                 some out",
                self.list.len(),
                self.list.len().next_power_of_two().min(WORDS_MAX)
            ));
        }
        if let Some((_, twice)) = self.list.iter().enumerate().find(|(at, value)| self.list[..*at].contains(value)) {
            return Err(format!("speculation.list has {twice} twice: name each value once"));
        }
        let named = |target: &Target| self.of.iter().filter(|named| *named == target).count();
        if let Some(twice) = Target::VARIANTS.iter().find(|target| named(target) > 1) {
            let twice: &str = twice.into();
            return Err(format!("speculation.of names \"{twice}\" twice: name each once"));
        }
        let of = |target| self.of.contains(&target);
        let rules = [
            (
                self.of.is_empty(),
                "speculation.of is empty: expected [\"ciphertext\", \"tag\"], or one of them; or set values = 0",
            ),
            (
                self.tracking == Tracking::Fixed && self.list.is_empty(),
                "speculation.tracking = \"fixed\" learns no values, and the table is empty: set speculation.list = \
                 [0], or set tracking = \"counted\"",
            ),
            (
                of(Target::Ciphertext) && !parts.cipher.opens_by_chunks(),
                "speculation of ciphertext needs a cipher that decrypts each chunk of a line separately when it \
                 arrives: set cipher = \"aes256-ocb-chunks\", \"aes128-ocb-chunks\" or \"tdes-ocb-chunks\"; a mode \
                 that works in advance, such as \"aes128-counter\", gains only by tags: set speculation.of = [\"tag\"]",
            ),
            (
                of(Target::Tag) && (parts.mac.code != MacChoice::OcbChunks || parts.mac.over != Over::Plaintext),
                "speculation of tags compares the tag of each chunk over its plaintext: set mac.code = \"ocb-chunks\" and \
                 mac.over = \"plaintext\", or speculation.of = [\"ciphertext\"]",
            ),
            (
                parts.release == Release::Speculative && of(Target::Tag),
                "with release = \"speculative\" no read waits for its verdict, so speculation of tags gains no time: \
                 set speculation.of = [\"ciphertext\"], or leave release out",
            ),
        ];
        let broken = rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule);
        broken.or_else(|| self.broken_rule_of_order(parts)).map_or(Ok(()), |rule| Err(rule.to_owned()))
    }

    /// Returns the rule that keys of bitmaps break in a design without bitmaps, with a change that would mend it.
    fn broken_rule_of_bitmaps(&self, parts: &Parts) -> Option<String> {
        if self.reorder {
            let rule = "speculation.reorder = true puts frequent values first, and speculation.values = 0 keeps none: \
                        set speculation.values = 8, or leave speculation.reorder out";
            return (!self.exists()).then(|| rule.to_owned());
        }
        let caches = &parts.caches;
        let said = [
            (!self.bitmap.is_bound()).then(|| "speculation.bitmap = \"loose\"".to_owned()),
            caches.bitmaps.map(|size| format!("caches.bitmaps = \"{size}\"")),
            caches.bitmaps_ahead.then(|| "caches.bitmaps_ahead = true".to_owned()),
        ];
        let said = said.into_iter().flatten().next()?;
        Some(format!(
            "{said} is for the bitmaps of re-ordered lines, and the design re-orders no lines: set speculation.reorder \
             = true, or leave it out"
        ))
    }

    /// Returns the rule of re-ordering that is broken, with a change that would mend it.
    fn broken_rule_of_order(&self, parts: &Parts) -> Option<&'static str> {
        if !self.reorder {
            return None;
        }
        let rules = [
            (
                parts.cipher.is_tdes(),
                "speculation.reorder puts frequent words together into blocks of two, and Triple-DES has blocks of one \
                 word: leave it out, or set cipher = \"aes256-ocb-chunks\"",
            ),
            (
                self.bitmap.is_bound() && parts.mac.code != MacChoice::OcbChunks,
                "speculation.bitmap = \"bound\" lets the tags of chunks vouch for their order: set mac.code = \"ocb-chunks\", or \
                 speculation.bitmap = \"loose\"",
            ),
            (
                parts.mac.lines > 1,
                "speculation.reorder re-orders each line separately, and a tag over several lines has only one order: \
                 set mac.lines = 1",
            ),
            (
                parts.persistence.exists(),
                "persistence does not make bitmaps durable: leave speculation.reorder out, or persistence",
            ),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule)
    }

    /// Builds the speculation part for a codec, if the design speculates.
    pub(super) fn build(&self, codec: &LineCodec) -> Option<Speculation> {
        let begin: Vec<u64> = self.list.iter().map(|value| value.cast_unsigned()).collect();
        let speculation = || Speculation::new(&self.of, (self.values, self.tracking), &begin, codec.piece_bytes());
        let how = if self.bitmap.is_bound() { Reordering::Bound } else { Reordering::Loose };
        self.exists().then(|| speculation().reordering(self.reorder.then_some(how)))
    }
}
