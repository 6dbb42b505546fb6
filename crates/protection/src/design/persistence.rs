//! How writes become durable, as a design file says it.
//!
//! ```toml
//! persistence = { order = "strict" }                     # PLP's sp: one tuple at a time
//! persistence = { order = "pipelined" }                  # tuples follow each other, one level of the tree apart
//! persistence = { order = "coalesced", lines = 8 }       # writes that wait together become one tuple
//! ```

use super::{CounterChoice, Parts, TreeKind};
use crate::ownership::Ownership;
use crate::persistence::Persistence;

/// The most lines of data in one tuple: with their counters and tags they fit a write-pending queue of 32 lines.
const LINES_MAX: usize = 10;

impl Persistence {
    /// Whether the order fits the other parts.
    ///
    /// # Errors
    /// The rule that is broken, and what would mend it.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), String> {
        if !self.exists() {
            return Ok(());
        }
        if parts.tree.kind != TreeKind::Bonsai || parts.counters == CounterChoice::None {
            return Err(
                "persistence.order needs a tree whose nodes can be computed again from counters in memory: set \
                        tree.kind = \"bonsai\", or leave persistence out"
                    .to_owned(),
            );
        }
        if parts.counters == CounterChoice::PageRecord {
            return Err(
                "persistence.order cannot go with counters that are drawn: simulated draws begin anew after a loss of \
                        power and would repeat; set counters = \"sc64\""
                    .to_owned(),
            );
        }
        if parts.ownership != Ownership::None {
            return Err(
                "persistence.order does not make tables of owners durable: leave ownership out, or persistence"
                    .to_owned(),
            );
        }
        if parts.tree.forest.is_some() {
            return Err(
                "persistence.order keeps one root in its register and not a forest of them: leave tree.forest out, or \
                        persistence"
                    .to_owned(),
            );
        }
        if parts.mac.ignores_version() {
            return Err(
                "persistence.order needs tags that bind a line's version: after a loss of power in the middle of a renewal \
                 they say which lines have their new ones; set mac.code = \"gmac\" or mac.covers = [\"address\", \"counter\"]"
                    .to_owned(),
            );
        }
        if parts.mac.lines > 1 {
            return Err(
                "persistence.order ties a line to its own tag, and a tag over several lines would tie tuples to each \
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
}
