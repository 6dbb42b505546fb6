//! What a touch of a line leaves behind in the private caches, without the time that it takes.
//!
//! The same tags change in the same way as when the access is timed, but what is asked for counts as arrived at once, and
//! for a prefetch there is always room. Nothing may be under way.

use super::Caches;
use crate::cache::State;
use crate::node::caches::outstanding::Purpose;
use crate::node::caches::prefetch::Seen;
use crate::node::interface::{Request, RequestKind};
use crate::node::lines::WordAddr;

/// An arrival that lies in the past of every access.
const LONG_AGO: u64 = 0;

impl Caches {
    /// A load or a store, of two lines of L1D if its last word is in another than its first.
    #[inline]
    pub(in crate::node) fn warm_data(&mut self, first: WordAddr, last: WordAddr, store: bool, out: &mut Vec<Request>) {
        self.warm_word(first, store, out);
        if self.l1d_lines.key(first) != self.l1d_lines.key(last) {
            self.warm_word(last, store, out);
        }
    }

    #[inline]
    fn warm_word(&mut self, word: WordAddr, store: bool, out: &mut Vec<Request>) {
        let Some(slot) = self.l1d.tags.lookup(self.l1d_lines.key(word)) else {
            return self.warm_data_miss(word, store, out);
        };
        if store {
            self.l1d.tags.mark_dirty(slot);
        }
        self.l1d_unused.take(slot);
    }

    #[cold]
    fn warm_data_miss(&mut self, word: WordAddr, store: bool, out: &mut Vec<Request>) {
        let (kind, purpose) =
            if store { (RequestKind::ReadForOwnership, Purpose::Write) } else { (RequestKind::Read, Purpose::Read) };
        if self.hit_l2(word).is_none() {
            self.ask_warm(word, kind, Purpose::Read, out);
        }
        self.fill_l1d(word, LONG_AGO, purpose, State::Exclusive, LONG_AGO, out);
    }

    /// Brings a line into L2 from beyond.
    fn ask_warm(&mut self, word: WordAddr, kind: RequestKind, purpose: Purpose, out: &mut Vec<Request>) {
        self.send(word, LONG_AGO, kind, out);
        self.fill_l2(word, purpose, State::Exclusive, LONG_AGO, out);
    }

    /// The front end comes to a line of code.
    #[inline]
    pub(in crate::node) fn warm_code(&mut self, word: WordAddr, out: &mut Vec<Request>) {
        if self.l1i.tags.lookup(self.code_key(word)).is_none() {
            self.warm_code_miss(word, out);
        }
    }

    #[cold]
    fn warm_code_miss(&mut self, word: WordAddr, out: &mut Vec<Request>) {
        if self.hit_l2(word).is_none() && !self.in_l1d(word) {
            self.ask_warm(word, RequestKind::Instruction, Purpose::Read, out);
        }
        self.l1i.fill(self.code_key(word), LONG_AGO, State::Shared);
    }

    /// The prefetchers see an access, which missed in L1D or not; what they expect is there at once.
    pub(in crate::node) fn warm_ahead(&mut self, seen: Seen, missed: bool, out: &mut Vec<Request>) {
        if missed {
            self.warm_ahead_l2(seen, out);
        }
        let Some(prefetcher) = &mut self.l1d_prefetcher else { return };
        for address in prefetcher.expect(seen) {
            let word = WordAddr::at(address);
            if !self.in_l1d(word) {
                if self.hit_l2(word).is_none() {
                    self.ask_warm(word, RequestKind::Prefetch, Purpose::Read, out);
                }
                self.fill_l1d(word, LONG_AGO, Purpose::Ahead, State::Exclusive, LONG_AGO, out);
                self.warm_ahead_l2(Seen { address, ..seen }, out);
            }
        }
    }

    fn warm_ahead_l2(&mut self, seen: Seen, out: &mut Vec<Request>) {
        let Some(prefetcher) = &mut self.l2_prefetcher else { return };
        for address in prefetcher.expect(seen) {
            let word = WordAddr::at(address);
            if !self.in_l1d(word) && self.l2.probe(self.l2_lines.key(word)).is_none() {
                self.ask_warm(word, RequestKind::Prefetch, Purpose::Ahead, out);
            }
        }
    }
}
