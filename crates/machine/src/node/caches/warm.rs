//! Functional warming of the private caches: applies a touch of a line without simulating time.
//!
//! The tags change in the same way as in a timed access, but requested lines arrive at once and prefetches always find a
//! free register. No line may be outstanding.

use super::Caches;
use crate::cache::MesiState;
use crate::node::caches::outstanding::FillReason;
use crate::node::caches::prefetch::Seen;
use crate::node::interface::RequestKind;
use crate::node::lines::WordAddr;
use units::LineAddr;

/// An arrival cycle before every access.
const LONG_AGO: u64 = 0;

impl Caches {
    /// Warms a load or a store. The access touches two lines of L1D if its first and last words are in different lines.
    #[inline]
    pub(in crate::node) fn warm_data(&mut self, first: WordAddr, last: WordAddr, store: bool) {
        if !self.l1d.warm(first, store) {
            self.warm_data_miss(first, store);
        }
        let lines = self.l1d.lines();
        if lines.key(first) != lines.key(last) && !self.l1d.warm(last, store) {
            self.warm_data_miss(last, store);
        }
    }

    #[cold]
    fn warm_data_miss(&mut self, word: WordAddr, store: bool) {
        let (kind, purpose) = if store {
            (RequestKind::ReadForOwnership, FillReason::Write)
        } else {
            (RequestKind::Read, FillReason::Read)
        };
        if self.l2.hit(word).is_none() {
            self.ask_warm(word, kind, FillReason::Read);
        }
        self.fill_l1d(word, LONG_AGO, purpose, MesiState::Exclusive, LONG_AGO);
    }

    /// Fetches a line from beyond L2 into L2.
    fn ask_warm(&mut self, word: WordAddr, kind: RequestKind, purpose: FillReason) {
        self.outgoing.send(word, LONG_AGO, kind);
        self.l2.fill(word, purpose, MesiState::Exclusive, LONG_AGO, &mut self.outgoing);
    }

    /// Executes code in a line. Evictions of L2 and requests, which count as filled, are added to [`Caches::outgoing`].
    #[inline]
    pub fn warm_code(&mut self, line: LineAddr, offset: u8) {
        let word = WordAddr::of(line, offset);
        if !self.l1i.warm(word) {
            self.warm_code_miss(word);
        }
    }

    #[cold]
    fn warm_code_miss(&mut self, word: WordAddr) {
        if self.l2.hit(word).is_none() && !self.l1d.holds(word) {
            self.ask_warm(word, RequestKind::Instruction, FillReason::Read);
        }
        self.l1i.fill(word, LONG_AGO);
    }

    /// Trains the prefetchers with an access; `missed` is true if it missed L1D. Predicted lines arrive at once.
    pub(in crate::node) fn warm_prefetch(&mut self, seen: Seen, missed: bool) {
        if missed {
            self.warm_l2_prefetch(seen);
        }
        let Some(prefetcher) = &mut self.prefetchers.of_l1d else { return };
        for address in prefetcher.expect(seen) {
            let word = WordAddr::at(address);
            if !self.l1d.holds(word) {
                if self.l2.hit(word).is_none() {
                    self.ask_warm(word, RequestKind::Prefetch, FillReason::Read);
                }
                self.fill_l1d(word, LONG_AGO, FillReason::Prefetch, MesiState::Exclusive, LONG_AGO);
                self.warm_l2_prefetch(Seen { address, ..seen });
            }
        }
    }

    fn warm_l2_prefetch(&mut self, seen: Seen) {
        let Some(prefetcher) = &mut self.prefetchers.of_l2 else { return };
        for address in prefetcher.expect(seen) {
            let word = WordAddr::at(address);
            if !self.l1d.holds(word) && !self.l2.holds(word) {
                self.ask_warm(word, RequestKind::Prefetch, FillReason::Prefetch);
            }
        }
    }
}
