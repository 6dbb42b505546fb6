//! What is known of a line under way from beyond L2: which parts of it each cache wants, and what waits.
//!
//! A part is *ahead* of its use if only a prefetcher has asked for it. That ends when the level above asks.

use crate::node::counters::PrefetchCounters;
use crate::node::lines::Halves;
use crate::node::waiting::List;

/// A line under way from beyond L2.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Outstanding {
    /// What L1D wants of it, and what of that is to be written or is ahead of its use.
    pub(in crate::node) data: Halves,
    pub(in crate::node) written: Halves,
    data_ahead: Halves,
    /// What L1I wants of it.
    pub(in crate::node) code: Halves,
    /// What L2 wants of it (whatever a first-level cache does), and what of that is ahead of its use.
    pub(in crate::node) second: Halves,
    second_ahead: Halves,
    /// The cycle at which it was asked for, if an access to data did.
    pub(in crate::node) sent_for_data: Option<u64>,
    pub(in crate::node) waiters: List,
}

/// For what something enters a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Purpose {
    /// To be read, now.
    Read,
    /// To be written, now.
    Write,
    /// Ahead of its use.
    Ahead,
}

impl Outstanding {
    pub(in crate::node) const NOT_WANTED: Outstanding = Outstanding {
        data: Halves::NONE,
        written: Halves::NONE,
        data_ahead: Halves::NONE,
        code: Halves::NONE,
        second: Halves::NONE,
        second_ahead: Halves::NONE,
        sent_for_data: None,
        waiters: List::EMPTY,
    };

    /// L1D wants `halves`. If its prefetcher had asked for them, they come too late.
    pub(in crate::node) fn want_data(&mut self, halves: Halves, purpose: Purpose, prefetches: &mut PrefetchCounters) {
        match purpose {
            Purpose::Ahead => self.data_ahead.add(halves.without(self.data)),
            Purpose::Read | Purpose::Write if self.data_ahead.remove(halves) => prefetches.count_use(true),
            Purpose::Read | Purpose::Write => {}
        }
        self.data.add(halves);
        if purpose == Purpose::Write {
            self.written.add(halves);
        }
    }

    /// L2 wants `halves`, because its own prefetcher does or because of an access from above.
    pub(in crate::node) fn want_second(&mut self, halves: Halves, ahead: bool, prefetches: &mut PrefetchCounters) {
        if ahead {
            self.second_ahead.add(halves.without(self.second));
        } else if self.second_ahead.remove(halves) {
            prefetches.count_use(true);
        }
        self.second.add(halves);
    }

    /// For what some halves enter L1D.
    pub(in crate::node) fn data_purpose(&self, halves: Halves) -> Purpose {
        if self.written.overlap(halves) {
            Purpose::Write
        } else if self.data_ahead.overlap(halves) {
            Purpose::Ahead
        } else {
            Purpose::Read
        }
    }

    /// For what some halves enter L2.
    pub(in crate::node) fn second_purpose(&self, halves: Halves) -> Purpose {
        if self.second_ahead.overlap(halves) { Purpose::Ahead } else { Purpose::Read }
    }
}
