//! Whether, where and in which order writes become durable: what the text of a tuple asks (PLP: Freij et al., MICRO 2020;
//! SecPB: Freij, Zhou and Solihin, HPCA 2023).
//!
//! ```toml
//! persistence = { order = "strict" }                     # at the controller: a store is durable when its tuple is complete
//! persistence = { order = "strict", point = "buffer", early = ["counter", "pad"] }  # beside L1D: when the buffer has it
//! persistence = { point = "caches" }                     # in the caches: when one of them has it
//! ```
//! The *persist point* is where a store is durable. At the controller it needs its whole tuple there. In a *persist buffer*,
//! which a battery drains when power fails, it needs what the battery cannot make any more: steps that are not *early* are
//! left to the drain. In *caches* that live on a battery as a whole it needs nothing: lines are written in place, in no order,
//! and the battery writes back what only the chip has.
//!
//! At the controller the order also says what comes there. Under *strict persistency* (`strict`, `pipelined`) each store does, by
//! itself and in the order of its program, whatever that flushes. Under *epoch persistency* (`coalesced`) stores gather in
//! caches until the program flushes their lines, and fences order what it flushes.

use crate::planted::{Bug, Planted};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use strum::VariantArray;

/// In which order tuples become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// None: what was written is lost with the power.
    #[default]
    None,
    /// One tuple after the other.
    Strict,
    /// One after the other, but each level of the tree takes the next tuple as soon as it is done with the last.
    Pipelined,
    /// What waits to be written becomes durable together; nodes above several lines are updated once.
    Coalesced,
}

/// Where a store is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// At the memory controller, when its tuple is complete.
    #[default]
    Controller,
    /// Beside L1D, when the persist buffer has it.
    Buffer,
    /// In the caches, when one of them has it.
    Caches,
}

/// A step of a store's memory tuple, in the order in which each needs those before it (SecPB, section IV, Fig. 4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The line's counter is brought and counted on.
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
    /// All of them, in order.
    pub const CHAIN: [Step; 5] = [Step::Counter, Step::Pad, Step::Root, Step::Ciphertext, Step::Tag];
}

/// The steps that are done as a store enters the buffer: a beginning of [`Step::CHAIN`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Step>", into = "Vec<Step>")]
pub struct Early(usize);

impl Early {
    /// So many steps of the chain, all of them at most.
    pub fn beginning(steps: usize) -> Early {
        Early(steps.min(Step::CHAIN.len()))
    }

    /// Them, in order.
    pub fn steps(self) -> &'static [Step] {
        &Step::CHAIN[..self.0]
    }

    /// Those that are left to a drain.
    pub fn late(self) -> &'static [Step] {
        &Step::CHAIN[self.0..]
    }

    /// Whether a step is among them.
    pub fn has(self, step: Step) -> bool {
        self.steps().contains(&step)
    }

    /// Whether every store to an entry is waited for, since a step of its own is among them, and not the first alone.
    pub fn follows_values(self) -> bool {
        self.has(Step::Ciphertext)
    }
}

impl TryFrom<Vec<Step>> for Early {
    type Error = String;

    fn try_from(steps: Vec<Step>) -> Result<Early, String> {
        if Step::CHAIN.starts_with(&steps) {
            return Ok(Early(steps.len()));
        }
        Err("early is no beginning of the chain of steps: expected the first few of [\"counter\", \"pad\", \"root\", \
             \"ciphertext\", \"tag\"], each of which needs those before it"
            .to_owned())
    }
}

impl From<Early> for Vec<Step> {
    fn from(early: Early) -> Vec<Step> {
        early.steps().to_vec()
    }
}

/// What the battery of a persist buffer does when power fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Battery {
    /// It drains every entry as a whole tuple.
    #[default]
    Tuples,
    /// It moves the data of every entry, which the controller encrypts, and knows of no metadata (SecPB, Fig. 1b: the
    /// recoverability gap).
    Data,
}

/// A part of something, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Fraction(u16);

const WHOLE: f64 = 1000.0;

impl Fraction {
    /// So many thousandths.
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

/// The durability of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persistence {
    /// In which order. At the controller each store goes there by itself under strict and pipelined order; under coalesced
    /// order a line goes when the program flushes it or when it has to make room.
    #[serde(default)]
    pub order: Order,
    /// Lines of data that become durable together, if they may.
    #[serde(default = "eight")]
    pub lines: usize,
    /// Where.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub point: Point,
    /// Entries of each core's persist buffer.
    #[serde(default = "entries", deserialize_with = "entries_in_range", skip_serializing_if = "is_usual_entries")]
    pub entries: u32,
    /// The part of the entries that are in use when the buffer begins to drain.
    #[serde(default = "drain_from", skip_serializing_if = "is_usual_from")]
    pub drain_from: Fraction,
    /// The part of the entries that are in use when it stops.
    #[serde(default = "drain_to", skip_serializing_if = "is_usual_to")]
    pub drain_to: Fraction,
    /// How long a store takes into it, in cycles of the core.
    #[serde(default = "latency_cycles", skip_serializing_if = "is_usual_latency")]
    pub latency_cycles: u64,
    /// The steps of its tuple that are done as a store enters the buffer.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub early: Early,
    /// What the buffer's battery does when power fails.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub battery: Battery,
}

/// What a file may leave out of [`Persistence`] and its text leaves out where it is as usual: where stores are durable, and
/// what their buffer is like if there is one. It is for users: digests of kept runs are of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Understood {
    point: Point,
    #[serde(flatten)]
    buffer: Option<UnderstoodBuffer>,
}

/// As [`Persistence`] has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct UnderstoodBuffer {
    entries: u32,
    drain_from: Fraction,
    drain_to: Fraction,
    latency_cycles: u64,
    early: Early,
    battery: Battery,
}

fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn eight() -> usize {
    8
}

/// SecPB, Table I.
fn entries() -> u32 {
    32
}

/// The most entries of a persist buffer.
pub(crate) const ENTRIES_MAX: u32 = 1 << 16;

/// Any whole number, so that one below zero is held to the same range as zero.
fn entries_in_range<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let given = i64::deserialize(deserializer)?;
    let entries = u32::try_from(given).ok().filter(|entries| (1..=ENTRIES_MAX).contains(entries));
    entries.ok_or_else(|| D::Error::custom(format!("{given}: expected 1 to {ENTRIES_MAX}")))
}

/// SecPB, Table I.
fn drain_from() -> Fraction {
    Fraction(750)
}

/// SecPB, Table I.
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
    /// At the controller, in this order, with so many lines of data at once.
    pub fn at_controller(order: Order, lines: usize) -> Persistence {
        let (point, early, battery) = Default::default();
        let (drain_from, drain_to, latency_cycles) = (drain_from(), drain_to(), latency_cycles());
        Persistence { order, lines, point, entries: entries(), drain_from, drain_to, latency_cycles, early, battery }
    }

    /// In a persist buffer of the usual size, with so many steps early; tuples leave it in this order.
    pub fn in_buffer(order: Order, early: usize) -> Persistence {
        let usual = Persistence::at_controller(order, eight());
        Persistence { point: Point::Buffer, early: Early::beginning(early), ..usual }
    }

    /// What goes without saying.
    pub fn understood(&self) -> Understood {
        let Persistence { point, entries, drain_from, drain_to, latency_cycles, early, battery, .. } = *self;
        let buffer = UnderstoodBuffer { entries, drain_from, drain_to, latency_cycles, early, battery };
        Understood { point, buffer: self.has_buffer().then_some(buffer) }
    }

    /// Whether writes survive.
    pub fn exists(&self) -> bool {
        self.is_in_tuples() || self.point == Point::Caches
    }

    /// Whether lines become durable in tuples, and not in place.
    pub fn is_in_tuples(&self) -> bool {
        self.order != Order::None
    }

    /// Whether stores are durable in a persist buffer.
    pub fn has_buffer(&self) -> bool {
        self.is_in_tuples() && self.point == Point::Buffer
    }

    /// Whether each store goes to the controller by itself, since stores become durable there in the order of the program.
    pub fn takes_each_store(&self) -> bool {
        self.point == Point::Controller && matches!(self.order, Order::Strict | Order::Pipelined)
    }

    /// Whether cores hand their stores on as they come, be it into a persist buffer or through to the controller.
    pub fn hands_stores_on(&self) -> bool {
        self.has_buffer() || self.takes_each_store()
    }

    /// Whether stores are durable before memory has them, since what holds them has a battery.
    pub fn has_battery(&self) -> bool {
        self.exists() && self.point != Point::Controller
    }

    /// Whether a tuple leaves a stage of the tree to the next one as soon as it has entered the stage above.
    pub(crate) fn hands_over(&self) -> bool {
        self.order == Order::Pipelined
    }

    /// Lines of data in a tuple, at most.
    pub(crate) fn lines_at_once(&self) -> usize {
        if self.order == Order::Coalesced { self.lines } else { 1 }
    }

    /// What the battery does, with the weakness that it may have.
    pub(crate) fn battery(&self, planted: Planted) -> Battery {
        if planted.has(Bug::BatteryMovesData) { Battery::Data } else { self.battery }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_steps_are_a_beginning_of_the_chain_and_nothing_else() {
        for first in 0..=Step::CHAIN.len() {
            assert_eq!(Early::try_from(Step::CHAIN[..first].to_vec()), Ok(Early::beginning(first)));
        }
        for wrong in [vec![Step::Pad], vec![Step::Counter, Step::Root], vec![Step::Counter, Step::Counter]] {
            let refusal = Early::try_from(wrong).unwrap_err();
            assert!(refusal.contains("the first few of [\"counter\", \"pad\""), "{refusal}");
        }
    }

    #[test]
    fn a_part_of_the_entries_is_a_number_of_thousandths() {
        let part = Fraction::try_from(0.75).unwrap();
        assert_eq!(f64::from(part), 0.75);
        for wrong in [-0.1, 1.001, 0.12345, f64::NAN] {
            assert!(Fraction::try_from(wrong).is_err(), "{wrong}");
        }
    }
}
