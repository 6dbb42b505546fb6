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
        self.warm_word(first, store);
        if self.l1d_lines.key(first) != self.l1d_lines.key(last) {
            self.warm_word(last, store);
        }
    }

    #[inline]
    fn warm_word(&mut self, word: WordAddr, store: bool) {
        let Some(slot) = self.l1d.tags.lookup(self.l1d_lines.key(word)) else {
            return self.warm_data_miss(word, store);
        };
        if store {
            self.l1d.tags.mark_dirty(slot);
        }
        self.l1d_unused.take(slot);
    }

    #[cold]
    fn warm_data_miss(&mut self, word: WordAddr, store: bool) {
        let (kind, purpose) = if store {
            (RequestKind::ReadForOwnership, FillReason::Write)
        } else {
            (RequestKind::Read, FillReason::Read)
        };
        if self.hit_l2(word).is_none() {
            self.ask_warm(word, kind, FillReason::Read);
        }
        self.fill_l1d(word, LONG_AGO, purpose, MesiState::Exclusive, LONG_AGO);
    }

    /// Fetches a line from beyond L2 into L2.
    fn ask_warm(&mut self, word: WordAddr, kind: RequestKind, purpose: FillReason) {
        self.outgoing.send(word, LONG_AGO, kind);
        self.fill_l2(word, purpose, MesiState::Exclusive, LONG_AGO);
    }

    /// Returns true if L1D or L2 has a prefetcher, which must see accesses.
    pub fn prefetches(&self) -> bool {
        self.prefetches
    }

    /// Executes code in a line. Evictions of L2 and requests, which count as filled, are added to [`Caches::outgoing`].
    #[inline]
    pub fn warm_code(&mut self, line: LineAddr, offset: u8) {
        let word = WordAddr::of(line, offset);
        if self.l1i.tags.lookup(self.l1i_lines.key(word)).is_none() {
            self.warm_code_miss(word);
        }
    }

    #[cold]
    fn warm_code_miss(&mut self, word: WordAddr) {
        if self.hit_l2(word).is_none() && !self.in_l1d(word) {
            self.ask_warm(word, RequestKind::Instruction, FillReason::Read);
        }
        self.l1i.fill(self.l1i_lines.key(word), LONG_AGO, MesiState::Shared);
    }

    /// Trains the prefetchers with an access; `missed` is true if it missed L1D. Predicted lines arrive at once.
    pub(in crate::node) fn warm_prefetch(&mut self, seen: Seen, missed: bool) {
        if missed {
            self.warm_l2_prefetch(seen);
        }
        let Some(prefetcher) = &mut self.l1d_prefetcher else { return };
        for address in prefetcher.expect(seen) {
            let word = WordAddr::at(address);
            if !self.in_l1d(word) {
                if self.hit_l2(word).is_none() {
                    self.ask_warm(word, RequestKind::Prefetch, FillReason::Read);
                }
                self.fill_l1d(word, LONG_AGO, FillReason::Prefetch, MesiState::Exclusive, LONG_AGO);
                self.warm_l2_prefetch(Seen { address, ..seen });
            }
        }
    }

    fn warm_l2_prefetch(&mut self, seen: Seen) {
        let Some(prefetcher) = &mut self.l2_prefetcher else { return };
        for address in prefetcher.expect(seen) {
            let word = WordAddr::at(address);
            if !self.in_l1d(word) && self.l2.probe(self.l2_lines.key(word)).is_none() {
                self.ask_warm(word, RequestKind::Prefetch, FillReason::Prefetch);
            }
        }
    }
}
