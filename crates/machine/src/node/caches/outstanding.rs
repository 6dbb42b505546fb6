//! State of a line that is outstanding beyond L2: the parts that each cache wants, and the waiters.
//!
//! A part of the line is *ahead* of its use while only a prefetcher has requested it. A demand request from the level
//! above makes it an ordinary part.

use crate::node::counts::PrefetchCounts;
use crate::node::waiting::List;
use units::Words;

/// A line outstanding beyond L2.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Outstanding {
    /// Words that L1D wants. `written` and `data_prefetched` are the subsets that a store will write and that only the
    /// prefetcher requested.
    pub(in crate::node) data: Words,
    pub(in crate::node) written: Words,
    data_prefetched: Words,
    /// Words that L1I wants.
    pub(in crate::node) code: Words,
    /// Words that L2 wants (for itself or for a first-level cache). `second_prefetched` is the subset that only the
    /// prefetcher requested.
    pub(in crate::node) second: Words,
    second_prefetched: Words,
    /// Cycle of the request, if an access to data sent it.
    pub(in crate::node) sent_for_data: Option<u64>,
    /// Words that arrived before the remaining words, and the cycle of their arrival.
    pub(in crate::node) first: (Words, u64),
    pub(in crate::node) waiters: List,
}

/// Reason why a line enters a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum FillReason {
    /// Demand read by the core.
    Read,
    /// Demand write by the core.
    Write,
    /// Prefetch ahead of its use.
    Prefetch,
}

impl Outstanding {
    pub(in crate::node) const NOT_WANTED: Outstanding = Outstanding {
        data: Words::NONE,
        written: Words::NONE,
        data_prefetched: Words::NONE,
        code: Words::NONE,
        second: Words::NONE,
        second_prefetched: Words::NONE,
        sent_for_data: None,
        first: (Words::NONE, 0),
        waiters: List::EMPTY,
    };

    /// Adds `words` that L1D wants. If its prefetcher had requested them, the prefetch counts as late.
    pub(in crate::node) fn want_data(&mut self, words: Words, purpose: FillReason, prefetches: &mut PrefetchCounts) {
        match purpose {
            FillReason::Prefetch => self.data_prefetched.add(words.without(self.data)),
            FillReason::Read | FillReason::Write if self.data_prefetched.remove(words) => prefetches.count_use(true),
            FillReason::Read | FillReason::Write => {}
        }
        self.data.add(words);
        if purpose == FillReason::Write {
            self.written.add(words);
        }
    }

    /// Adds `words` that L2 wants, for its prefetcher (`is_prefetch`) or for an access from above.
    pub(in crate::node) fn want_second(&mut self, words: Words, is_prefetch: bool, prefetches: &mut PrefetchCounts) {
        if is_prefetch {
            self.second_prefetched.add(words.without(self.second));
        } else if self.second_prefetched.remove(words) {
            prefetches.count_use(true);
        }
        self.second.add(words);
    }

    /// Returns the arrival cycle of these words if they arrived before the remaining words.
    pub(in crate::node) fn arrival_of(&self, wanted: Words) -> Option<u64> {
        let (words, cycle) = self.first;
        words.contains(wanted).then_some(cycle)
    }

    /// Returns the purpose for which some words enter L1D.
    pub(in crate::node) fn data_purpose(&self, words: Words) -> FillReason {
        if self.written.overlap(words) {
            FillReason::Write
        } else if self.data_prefetched.overlap(words) {
            FillReason::Prefetch
        } else {
            FillReason::Read
        }
    }

    /// Returns the purpose for which some words enter L2.
    pub(in crate::node) fn second_purpose(&self, words: Words) -> FillReason {
        if self.second_prefetched.overlap(words) { FillReason::Prefetch } else { FillReason::Read }
    }
}
