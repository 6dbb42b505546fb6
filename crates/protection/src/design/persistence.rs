//! Rules of persistence, as a design file gives it.
//!
//! ```toml
//! persistence = { order = "strict" }                     # PLP's sp: one tuple at a time
//! persistence = { order = "pipelined" }                  # tuples follow each other, one level of the tree apart
//! persistence = { order = "coalesced", lines = 8 }       # writes that wait together become one tuple
//! persistence = { order = "strict", point = "buffer", entries = 32, drain_from = 0.75, drain_to = 0.5, early = ["counter"] }
//! persistence = { point = "caches" }                     # stores are durable in the caches, which have a battery
//! ```

use super::{CounterChoice, Parts, TreeKind};
use crate::ownership::Ownership;
use crate::persistence::{ENTRIES_MAX, Order, Persistence, Point, Step};

/// Maximum latency of a store into the persist buffer, in cycles.
const LATENCY_MAX: u64 = 1000;

const NO_BUFFER: &str = "persistence.entries, drain_from, drain_to, latency_cycles, early and battery are for a \
                         persist buffer, and the design has none: set persistence.point = \"buffer\", or leave them \
                         out";

const NO_TUPLES: &str = "persistence.order and lines are for tuples, and durable caches write lines in place: leave \
                         them out, or set persistence.point = \"controller\"";

const NO_ORDER: &str = "persistence.lines is for tuples, and a design without an order has none: set persistence.order \
                        = \"coalesced\", or leave it out";

/// Maximum number of data lines in one tuple: with their counter and tag lines, they fit a write-pending queue of
/// 32 lines.
const LINES_MAX: usize = 10;

impl Persistence {
    /// Checks whether the persist order is compatible with the other parts.
    ///
    /// # Errors
    /// The rule that is broken, and a change that would mend it.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), String> {
        self.check_buffer(parts)?;
        if !self.exists() {
            return Ok(());
        }
        if self.has_battery() && parts.is_plain() {
            return Ok(());
        }
        if parts.tree.kind != TreeKind::Bonsai || parts.counters == CounterChoice::None {
            return Err(
                "persistence needs a tree that can be computed again from the counters in memory: set tree.kind = \
                 \"bonsai\", or leave persistence out"
                    .to_owned(),
            );
        }
        if parts.counters == CounterChoice::PageRecord {
            return Err(
                "persistence cannot be combined with counters that are drawn: simulated draws begin anew after a loss \
                 of power and would repeat; set counters = \"sc64\""
                    .to_owned(),
            );
        }
        if parts.ownership != Ownership::None {
            return Err(
                "persistence does not make tables of owners durable: leave ownership out, or persistence".to_owned()
            );
        }
        if !self.is_in_tuples() {
            return self.check_caches(parts);
        }
        if parts.mac.ignores_version() {
            return Err(
                "persistence.order needs tags that bind a line's version: after a loss of power during a renewal, they \
                 show which lines have new versions; set mac.code = \"gmac\" or mac.covers = [\"address\", \"counter\"]"
                    .to_owned(),
            );
        }
        if parts.mac.lines > 1 {
            return Err(
                "persistence.order ties a line to its tag, and a tag over several lines would tie tuples to each \
                 other: leave mac.lines out, or persistence"
                    .to_owned(),
            );
        }
        if !(1..=LINES_MAX).contains(&self.lines) {
            return Err(format!(
                "persistence.lines = {}: expected 1 to {LINES_MAX}, so that a tuple fits a write-pending queue of 32 lines",
                self.lines
            ));
        }
        Ok(())
    }

    /// Checks whether durable caches are compatible with the other parts.
    fn check_caches(&self, parts: &Parts) -> Result<(), String> {
        match parts.tree.forest {
            None => Ok(()),
            Some(_) => Err(
                "persistence.point = \"caches\" saves one root and not a forest of them: leave tree.forest out, or \
                            set persistence.point = \"controller\" with an order"
                    .to_owned(),
            ),
        }
    }

    /// Checks that a design without a persist buffer gives no key that only has an effect with one.
    fn check_without_buffer(&self) -> Result<(), String> {
        let about_tuples = Persistence::at_controller(self.order, self.lines);
        let is_usual = about_tuples == Persistence::default();
        let rules = [
            (*self != Persistence { point: self.point, ..about_tuples }, NO_BUFFER),
            (self.point == Point::Caches && !is_usual, NO_TUPLES),
            (!self.is_in_tuples() && !is_usual, NO_ORDER),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, rule)| Err(rule.to_owned()))
    }

    /// Checks whether a persist buffer is compatible with the other parts, or, without a buffer, that no key of it is
    /// given.
    fn check_buffer(&self, parts: &Parts) -> Result<(), String> {
        if self.point != Point::Buffer {
            return self.check_without_buffer();
        }
        let rules = [
            (
                self.order == Order::None,
                "persistence.point = \"buffer\" needs an order in which entries leave the buffer: set order = \"strict\"",
            ),
            (
                self.order == Order::Coalesced,
                "persistence.order = \"coalesced\" gathers writes at the controller, and a persist buffer has gathered them \
                 already: set order = \"strict\" or \"pipelined\"",
            ),
            (
                self.early.has(Step::Pad) && !parts.cipher.is_counter_mode(),
                "persistence.early makes a pad before the text arrives, and this cipher has no pads: set cipher = \
                 \"aes128-counter\", or early = [\"counter\"]",
            ),
            (
                parts.caches.counters_in_l2.is_some(),
                "caches.counters_in_l2 lets L2s read a line while a persist buffer holds its newest text: leave it \
                 out, or set persistence.point = \"controller\"",
            ),
        ];
        if let Some((_, rule)) = rules.into_iter().find(|(broken, _)| *broken) {
            return Err(rule.to_owned());
        }
        // The parser has already checked this range for the text of a file.
        if !(1..=ENTRIES_MAX).contains(&self.entries) {
            return Err(format!("persistence.entries = {}: expected 1 to {ENTRIES_MAX}", self.entries));
        }
        if self.latency_cycles > LATENCY_MAX {
            return Err(format!("persistence.latency_cycles = {}: expected 0 to {LATENCY_MAX}", self.latency_cycles));
        }
        let (from, to) = (self.drain_from, self.drain_to);
        if to >= from {
            return Err(format!(
                "persistence.drain_to = {to} is not below drain_from = {from}: a buffer drains from drain_from down to \
                 drain_to, as from 0.75 to 0.5"
            ));
        }
        Ok(())
    }
}
