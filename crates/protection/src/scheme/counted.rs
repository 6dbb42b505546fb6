//! Counters of the scheme's work, from all its modules.

use crate::metadata::FoundIn;
use crate::moving::MovingCounters;
use crate::speculation::SpeculationCounters;
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use std::cell::Cell;

/// Reads of data from memory, by the place that held their counters (EMCC, MICRO 2022, figures 6 and 7). In a design with
/// counters, the sum over the four places is the number of lines released.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CountersFound {
    /// In the L2 that requested the line.
    pub in_l2: u64,
    /// In the controller's cache, or on their way out of it.
    pub at_controller: u64,
    /// In the last-level cache.
    pub in_last_level: u64,
    /// In memory, or on their way from memory for another access.
    pub in_memory: u64,
    /// Look-ups of counters in the last-level cache for reads of data, by L2s or by the controller (figure 12). L2s also
    /// look up counters for data that they then find on the chip.
    pub looked_up_in_last_level: u64,
}

impl CountersFound {
    pub(super) fn count(&mut self, place: FoundIn) {
        match place {
            FoundIn::L2 => self.in_l2 += 1,
            FoundIn::Controller => self.at_controller += 1,
            FoundIn::LastLevel => self.in_last_level += 1,
            FoundIn::Memory => self.in_memory += 1,
        }
    }
}

/// Renewals after overflows. Each line or child is fetched once and stored once, and the traffic counts this as well.
/// Tags pass through their cache, and only the traffic counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct Renewals {
    /// Overflows of counters of data.
    pub groups: u64,
    /// Lines of data encrypted again after these.
    pub lines: u64,
    /// Overflows of counters in tree nodes.
    pub nodes: u64,
    /// Lines of metadata in memory that got new MACs after these.
    pub children: u64,
}

/// Shared cell with the counters so far. Several accesses may change it through shared references.
#[derive(Clone, Default)]
pub(crate) struct CounterCell(Cell<SchemeCounters>);

impl CounterCell {
    /// Returns the counters so far.
    pub fn get(&self) -> SchemeCounters {
        self.0.get()
    }

    /// Changes the counters through a function.
    pub fn change(&self, change: impl FnOnce(&mut SchemeCounters)) {
        let mut counted = self.0.get();
        change(&mut counted);
        self.0.set(counted);
    }
}

/// Counters of a scheme's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct SchemeCounters {
    /// Reads, by the place that held the line's counter.
    pub counters_found: CountersFound,
    /// Renewals after counter overflows.
    pub renewals: Renewals,
    /// Predictions of the speculation, and their outcomes.
    pub speculation: SpeculationCounters,
    /// Work of lines that move.
    pub moving: MovingCounters,
}
