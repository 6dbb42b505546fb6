//! Statistics of a scheme, from all its modules.

use crate::metadata::FoundIn;
use crate::moving::MovingCounts;
use crate::speculation::SpeculationCounts;
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use std::cell::Cell;

/// Reads of data from memory, by the location of their encryption counters (EMCC, MICRO 2022, figures 6 and 7). In a
/// design with encryption counters, the sum over the four locations is the number of released lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CountersFound {
    /// In the L2 that requested the line.
    pub in_l2: u64,
    /// In the controller's cache, or leaving this cache.
    pub at_controller: u64,
    /// In the last-level cache.
    pub in_last_level: u64,
    /// In memory, or already being fetched from memory for another access.
    pub in_memory: u64,
    /// Look-ups of counters in the last-level cache for reads of data, by L2s or by the controller (figure 12). L2s also
    /// look up counters for data that they then find on the chip.
    pub looked_up_in_last_level: u64,
}

impl CountersFound {
    pub(super) fn count(&mut self, found_in: FoundIn) {
        match found_in {
            FoundIn::L2 => self.in_l2 += 1,
            FoundIn::Controller => self.at_controller += 1,
            FoundIn::LastLevel => self.in_last_level += 1,
            FoundIn::Memory => self.in_memory += 1,
        }
    }
}

/// Statistics on renewals after overflows. Each line or child is fetched once and stored once, and the traffic
/// statistics count these accesses as well. Tags are accessed through their cache, and only the traffic statistics
/// count them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Renewals {
    /// Number of overflows of counters of data.
    pub groups: u64,
    /// Lines of data that were re-encrypted after these overflows.
    pub lines: u64,
    /// Number of overflows of counters in tree nodes.
    pub nodes: u64,
    /// Metadata lines in memory that got new MACs after the overflows in tree nodes.
    pub children: u64,
}

/// Shared cell with the statistics so far. Several accesses may change it through shared references.
#[derive(Clone, Default)]
pub(crate) struct CounterCell(Cell<SchemeCounts>);

impl CounterCell {
    /// Returns the statistics so far.
    pub fn get(&self) -> SchemeCounts {
        self.0.get()
    }

    /// Changes the statistics through a function.
    pub fn change(&self, change: impl FnOnce(&mut SchemeCounts)) {
        let mut counted = self.0.get();
        change(&mut counted);
        self.0.set(counted);
    }
}

/// Statistics of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct SchemeCounts {
    /// Reads, by the location of the line's encryption counter.
    pub counters_found: CountersFound,
    /// Renewals after counter overflows.
    pub renewals: Renewals,
    /// Predictions of line contents, and their outcomes.
    pub speculation: SpeculationCounts,
    /// Statistics on permuted lines.
    pub moving: MovingCounts,
}
