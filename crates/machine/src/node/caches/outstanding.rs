//! What is known of a line under way from beyond L2: which parts of it each cache wants, and what waits.
//!
//! A part is *ahead* of its use if only a prefetcher has asked for it. That ends when the level above asks.

use crate::node::counters::PrefetchCounters;
use crate::node::waiting::List;
use units::Words;

/// A line under way from beyond L2.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Outstanding {
    /// What L1D wants of it, and what of that is to be written or is ahead of its use.
    pub(in crate::node) data: Words,
    pub(in crate::node) written: Words,
    data_ahead: Words,
    /// What L1I wants of it.
    pub(in crate::node) code: Words,
    /// What L2 wants of it (whatever a first-level cache does), and what of that is ahead of its use.
    pub(in crate::node) second: Words,
    second_ahead: Words,
    /// The cycle at which it was asked for, if an access to data did.
    pub(in crate::node) sent_for_data: Option<u64>,
    /// Words that have come before the rest, and when.
    pub(in crate::node) first: (Words, u64),
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
        data: Words::NONE,
        written: Words::NONE,
        data_ahead: Words::NONE,
        code: Words::NONE,
        second: Words::NONE,
        second_ahead: Words::NONE,
        sent_for_data: None,
        first: (Words::NONE, 0),
        waiters: List::EMPTY,
    };

    /// L1D wants `words`. If its prefetcher had asked for them, they come too late.
    pub(in crate::node) fn want_data(&mut self, words: Words, purpose: Purpose, prefetches: &mut PrefetchCounters) {
        match purpose {
            Purpose::Ahead => self.data_ahead.add(words.without(self.data)),
            Purpose::Read | Purpose::Write if self.data_ahead.remove(words) => prefetches.count_use(true),
            Purpose::Read | Purpose::Write => {}
        }
        self.data.add(words);
        if purpose == Purpose::Write {
            self.written.add(words);
        }
    }

    /// L2 wants `words`, because its own prefetcher does or because of an access from above.
    pub(in crate::node) fn want_second(&mut self, words: Words, ahead: bool, prefetches: &mut PrefetchCounters) {
        if ahead {
            self.second_ahead.add(words.without(self.second));
        } else if self.second_ahead.remove(words) {
            prefetches.count_use(true);
        }
        self.second.add(words);
    }

    /// When these words came, if they have come before the rest.
    pub(in crate::node) fn came(&self, wanted: Words) -> Option<u64> {
        let (words, cycle) = self.first;
        words.contains(wanted).then_some(cycle)
    }

    /// For what some words enter L1D.
    pub(in crate::node) fn data_purpose(&self, words: Words) -> Purpose {
        if self.written.overlap(words) {
            Purpose::Write
        } else if self.data_ahead.overlap(words) {
            Purpose::Ahead
        } else {
            Purpose::Read
        }
    }

    /// For what some words enter L2.
    pub(in crate::node) fn second_purpose(&self, words: Words) -> Purpose {
        if self.second_ahead.overlap(words) { Purpose::Ahead } else { Purpose::Read }
    }
}
