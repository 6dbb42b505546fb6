//! Whether and in which order writes become durable: what the text of a tuple asks (PLP: Freij et al., MICRO 2020).

use serde::{Deserialize, Serialize};
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

/// The durability of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persistence {
    /// In which order.
    pub order: Order,
    /// Lines of data that become durable together, if they may.
    #[serde(default = "eight")]
    pub lines: usize,
}

fn eight() -> usize {
    8
}

impl Default for Persistence {
    fn default() -> Persistence {
        Persistence { order: Order::None, lines: eight() }
    }
}

impl Persistence {
    /// Whether writes survive.
    pub fn exists(&self) -> bool {
        self.order != Order::None
    }

    /// Whether a tuple leaves a stage of the tree to the next one as soon as it has entered the stage above.
    pub(crate) fn hands_over(&self) -> bool {
        self.order == Order::Pipelined
    }

    /// Lines of data in a tuple, at most.
    pub(crate) fn lines_at_once(&self) -> usize {
        if self.order == Order::Coalesced { self.lines } else { 1 }
    }
}
