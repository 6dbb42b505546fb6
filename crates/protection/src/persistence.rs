//! Persistence of stores: whether, when and in which order they become durable. The code that writes a tuple reads
//! these settings (PLP: Freij et al., MICRO 2020; SecPB: Freij, Zhou and Solihin, HPCA 2023).
//!
//! ```toml
//! persistence = { order = "strict" }                     # at the controller: a store is durable when its tuple is complete
//! persistence = { order = "strict", point = "buffer", early = ["counter", "pad"] }  # beside L1D: when the buffer has it
//! persistence = { point = "caches" }                     # in the caches: when one of them has it
//! ```
//! The *persist point* is the place at which a store is durable. At the controller, a store is durable when its whole
//! tuple is. If the persist point is the *persist buffer*, a battery drains the buffer when power fails. A store in the
//! buffer needs only the results of its *early* steps; the drain computes the other steps. If the persist point is the
//! *caches*, a battery powers all of them, and a store in a cache needs no step: lines are written in place, in no
//! order. When power fails, the battery writes back the lines that only the chip has.
//!
//! If the persist point is the controller, the order also decides when stores arrive at the controller. Under *strict
//! persistency* (`strict`, `pipelined`) each store arrives separately, in the order of its program, independent of
//! flushes. Under *epoch persistency* (`coalesced`), stores stay in caches until the program flushes their lines, and
//! fences order the flushed lines.

use crate::planted::{Bug, PlantedBug};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use strum::VariantArray;

/// Order in which tuples become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// No order: a loss of power loses written lines.
    #[default]
    None,
    /// One tuple after the other.
    Strict,
    /// One tuple after the other, pipelined over the levels of the tree: a level processes the next tuple as soon as it
    /// has updated its node for the previous one.
    Pipelined,
    /// Writes that wait in the queue become durable together as one tuple; a node above several of its lines is updated
    /// once.
    Coalesced,
}

/// Point at which a store is durable: the memory controller, a persist buffer next to L1D, or the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// At the memory controller, when its tuple is complete.
    #[default]
    Controller,
    /// Next to L1D, when the persist buffer holds the store.
    Buffer,
    /// In the caches, when one of them holds the store.
    Caches,
}

/// A step of a store's memory tuple, in the order in which each step needs those before it (SecPB, section IV, Fig. 4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The line's counter is fetched and incremented.
    Counter,
    /// The pad is computed.
    Pad,
    /// The path of the tree is updated up to the root.
    Root,
    /// The line is encrypted.
    Ciphertext,
    /// The tag is computed.
    Tag,
}

impl Step {
    /// All steps, in order.
    pub const CHAIN: [Step; 5] = [Step::Counter, Step::Pad, Step::Root, Step::Ciphertext, Step::Tag];
}

/// The steps of a tuple that are executed when its store enters the persist buffer: a prefix of [`Step::CHAIN`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Step>", into = "Vec<Step>")]
pub struct EarlySteps(usize);

impl EarlySteps {
    /// Returns the first `steps` steps of the chain, at most all.
    pub fn beginning(steps: usize) -> EarlySteps {
        EarlySteps(steps.min(Step::CHAIN.len()))
    }

    /// The early steps, in order.
    pub fn steps(self) -> &'static [Step] {
        &Step::CHAIN[..self.0]
    }

    /// The steps that the drain executes.
    pub fn late(self) -> &'static [Step] {
        &Step::CHAIN[self.0..]
    }

    /// Returns whether a step is early.
    pub fn has(self, step: Step) -> bool {
        self.steps().contains(&step)
    }

    /// Returns true if an early step depends on the stored value. The core then waits for the early steps of every
    /// store to an entry, and not only of the first store.
    pub fn follows_values(self) -> bool {
        self.has(Step::Ciphertext)
    }
}

impl TryFrom<Vec<Step>> for EarlySteps {
    type Error = String;

    fn try_from(steps: Vec<Step>) -> Result<EarlySteps, String> {
        if Step::CHAIN.starts_with(&steps) {
            return Ok(EarlySteps(steps.len()));
        }
        Err("early is no beginning of the chain of steps: expected the first few of [\"counter\", \"pad\", \"root\", \
             \"ciphertext\", \"tag\"], each of which needs those before it"
            .to_owned())
    }
}

impl From<EarlySteps> for Vec<Step> {
    fn from(early: EarlySteps) -> Vec<Step> {
        early.steps().to_vec()
    }
}

/// Action of a persist buffer's battery when power fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum BatteryAction {
    /// The battery drains every entry as a whole tuple.
    #[default]
    Tuples,
    /// The battery drains only the data of every entry, which the controller encrypts, and no metadata (SecPB, Fig. 1b:
    /// the recoverability gap).
    Data,
}

/// A fraction of the entries of a persist buffer, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Fraction(u16);

const WHOLE: f64 = 1000.0;

impl Fraction {
    /// Returns this number of thousandths.
    pub const fn thousandths(thousandths: u16) -> Fraction {
        Fraction(thousandths)
    }
}

impl TryFrom<f64> for Fraction {
    type Error = String;

    fn try_from(part: f64) -> Result<Fraction, String> {
        let thousandths = (part * WHOLE).round();
        if (0.0..=1.0).contains(&part) && (thousandths - part * WHOLE).abs() < 1e-6 {
            return Ok(Fraction(thousandths as u16));
        }
        Err(format!("{part}: expected a part of the entries from 0 to 1, in whole thousandths"))
    }
}

impl From<Fraction> for f64 {
    fn from(part: Fraction) -> f64 {
        f64::from(part.0) / WHOLE
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f64::from(*self).fmt(f)
    }
}

/// The persistence of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persistence {
    /// Order in which tuples become durable. Under strict and pipelined order, the core sends each store to the
    /// controller separately. Under coalesced order, the caches write a line back when the program flushes it or when
    /// they evict it.
    #[serde(default)]
    pub order: Order,
    /// Maximum number of data lines in one tuple.
    #[serde(default = "eight")]
    pub lines: usize,
    /// Point at which a store is durable: the memory controller, a persist buffer next to L1D, or the caches.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub point: Point,
    /// Number of entries of each core's persist buffer, each for one line.
    #[serde(default = "entries", deserialize_with = "entries_in_range", skip_serializing_if = "is_usual_entries")]
    pub entries: u32,
    /// High watermark: the fraction of entries in use at which the persist buffer begins to drain.
    #[serde(default = "drain_from", skip_serializing_if = "is_usual_from")]
    pub drain_from: Fraction,
    /// Low watermark: the fraction of entries in use at which the persist buffer stops draining.
    #[serde(default = "drain_to", skip_serializing_if = "is_usual_to")]
    pub drain_to: Fraction,
    /// Latency of a store into the persist buffer, in core cycles.
    #[serde(default = "latency_cycles", skip_serializing_if = "is_usual_latency")]
    pub latency_cycles: u64,
    /// Steps of a tuple that are executed when its store enters the persist buffer; the drain executes the other steps.
    /// The list is a prefix of counter, pad, root, ciphertext, tag.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub early: EarlySteps,
    /// Content that the persist buffer's battery drains when power fails: whole tuples, or only the data without its
    /// metadata.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub battery: BatteryAction,
}

/// The keys of [`Persistence`] that a file may omit, with their defaults filled in: the persist point, and the
/// properties of a persist buffer. The serialized text of a design omits keys with default values, because digests of
/// kept runs are over this text. This type lists them for users.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Understood {
    point: Point,
    #[serde(flatten)]
    buffer: Option<UnderstoodBuffer>,
}

/// The buffer's properties in [`Persistence`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct UnderstoodBuffer {
    entries: u32,
    drain_from: Fraction,
    drain_to: Fraction,
    latency_cycles: u64,
    early: EarlySteps,
    battery: BatteryAction,
}

fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn eight() -> usize {
    8
}

/// Number of entries (SecPB, Table I).
fn entries() -> u32 {
    32
}

/// Most entries of a persist buffer.
pub(crate) const ENTRIES_MAX: u32 = 1 << 16;

/// Reads any whole number, so that a negative number causes the same error as zero.
fn entries_in_range<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let given = i64::deserialize(deserializer)?;
    let entries = u32::try_from(given).ok().filter(|entries| (1..=ENTRIES_MAX).contains(entries));
    entries.ok_or_else(|| D::Error::custom(format!("{given}: expected 1 to {ENTRIES_MAX}")))
}

/// High watermark (SecPB, Table I).
fn drain_from() -> Fraction {
    Fraction(750)
}

/// Latency of the buffer (SecPB, Table I).
fn latency_cycles() -> u64 {
    2
}

fn is_usual_latency(given: &u64) -> bool {
    *given == latency_cycles()
}

/// SecPB names no low watermark.
fn drain_to() -> Fraction {
    Fraction(500)
}

fn is_usual_entries(given: &u32) -> bool {
    *given == entries()
}

fn is_usual_from(given: &Fraction) -> bool {
    *given == drain_from()
}

fn is_usual_to(given: &Fraction) -> bool {
    *given == drain_to()
}

impl Default for Persistence {
    fn default() -> Persistence {
        Persistence::at_controller(Order::None, eight())
    }
}

impl Persistence {
    /// Returns persistence with the persist point at the controller, in this order, with at most `lines` lines of data
    /// in a tuple.
    pub fn at_controller(order: Order, lines: usize) -> Persistence {
        let (point, early, battery) = Default::default();
        let (drain_from, drain_to, latency_cycles) = (drain_from(), drain_to(), latency_cycles());
        Persistence { order, lines, point, entries: entries(), drain_from, drain_to, latency_cycles, early, battery }
    }

    /// Returns persistence with a persist buffer of the default size. The first `early` steps are early, and tuples
    /// leave the buffer in this order.
    pub fn in_buffer(order: Order, early: usize) -> Persistence {
        let usual = Persistence::at_controller(order, eight());
        Persistence { point: Point::Buffer, early: EarlySteps::beginning(early), ..usual }
    }

    /// Returns the keys that a file may omit, with their defaults filled in.
    pub fn understood(&self) -> Understood {
        let Persistence { point, entries, drain_from, drain_to, latency_cycles, early, battery, .. } = *self;
        let buffer = UnderstoodBuffer { entries, drain_from, drain_to, latency_cycles, early, battery };
        Understood { point, buffer: self.has_buffer().then_some(buffer) }
    }

    /// Returns whether writes survive a loss of power.
    pub fn exists(&self) -> bool {
        self.is_in_tuples() || self.point == Point::Caches
    }

    /// Returns whether lines become durable in tuples, and not by writes in place.
    pub fn is_in_tuples(&self) -> bool {
        self.order != Order::None
    }

    /// Returns whether stores are durable in a persist buffer.
    pub fn has_buffer(&self) -> bool {
        self.is_in_tuples() && self.point == Point::Buffer
    }

    /// Returns whether each store is sent to the controller separately, since stores become durable in the order of the
    /// program.
    pub fn takes_each_store(&self) -> bool {
        self.point == Point::Controller && matches!(self.order, Order::Strict | Order::Pipelined)
    }

    /// Returns whether cores send each store at once to a persist buffer or to the controller.
    pub fn hands_stores_on(&self) -> bool {
        self.has_buffer() || self.takes_each_store()
    }

    /// Returns whether stores are durable before memory holds them, because a battery powers the persist buffer or the
    /// caches.
    pub fn has_battery(&self) -> bool {
        self.exists() && self.point != Point::Controller
    }

    /// Returns whether a tuple releases a stage of the tree to the next tuple as soon as it has entered the stage
    /// above.
    pub(crate) fn hands_over(&self) -> bool {
        self.order == Order::Pipelined
    }

    /// Maximum number of data lines in a tuple.
    pub(crate) fn lines_at_once(&self) -> usize {
        if self.order == Order::Coalesced { self.lines } else { 1 }
    }

    /// Returns the content that the battery drains, with the effect of a planted bug.
    pub(crate) fn battery(&self, planted: PlantedBug) -> BatteryAction {
        if planted.has(Bug::BatteryMovesData) { BatteryAction::Data } else { self.battery }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_steps_of_a_persist_buffer_must_be_a_prefix_of_the_chain_of_steps() {
        for first in 0..=Step::CHAIN.len() {
            assert_eq!(EarlySteps::try_from(Step::CHAIN[..first].to_vec()), Ok(EarlySteps::beginning(first)));
        }
        for wrong in [vec![Step::Pad], vec![Step::Counter, Step::Root], vec![Step::Counter, Step::Counter]] {
            let refusal = EarlySteps::try_from(wrong).unwrap_err();
            assert!(refusal.contains("the first few of [\"counter\", \"pad\""), "{refusal}");
        }
    }

    #[test]
    fn a_buffer_watermark_fraction_is_a_multiple_of_one_thousandth() {
        let part = Fraction::try_from(0.75).unwrap();
        assert_eq!(f64::from(part), 0.75);
        for wrong in [-0.1, 1.001, 0.12345, f64::NAN] {
            assert!(Fraction::try_from(wrong).is_err(), "{wrong}");
        }
    }
}
