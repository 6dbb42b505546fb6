//! What the text counts of its own work, wherever that is done.

use crate::metadata::FoundIn;
use crate::moving::MovingCounters;
use crate::speculation::SpeculationCounters;
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use std::cell::Cell;

/// Reads of data that came from memory, by where their counters were found (EMCC, MICRO 2022, figures 6 and 7). The four
/// places together are all lines released, of a design with counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CountersFound {
    /// In the L2 that asked for the line.
    pub in_l2: u64,
    /// In the controller's cache, or on their way out of it.
    pub at_controller: u64,
    /// In the last-level cache.
    pub in_last_level: u64,
    /// In memory, or on their way from there for another access.
    pub in_memory: u64,
    /// How often the last-level cache was looked up for counters of reads of data, by L2s or by the controller (figure 12):
    /// by L2s also for data that they then found on the chip.
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

/// What followed overflows. Each line or child is fetched once and stored once, which is in the traffic as well; tags go
/// through their cache, and are there alone.
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

/// What the text has counted so far, to be changed while others look.
#[derive(Clone, Default)]
pub(crate) struct Counting(Cell<SchemeCounters>);

impl Counting {
    /// As it is.
    pub fn get(&self) -> SchemeCounters {
        self.0.get()
    }

    /// Counts something.
    pub fn change(&self, change: impl FnOnce(&mut SchemeCounters)) {
        let mut counted = self.0.get();
        change(&mut counted);
        self.0.set(counted);
    }
}

/// What the text has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct SchemeCounters {
    /// Where the counters of lines from memory were found.
    pub counters_found: CountersFound,
    /// What followed overflows.
    pub renewals: Renewals,
    /// What speculation predicted, and what came of it.
    pub speculation: SpeculationCounters,
    /// What lines that move did.
    pub moving: MovingCounters,
}
