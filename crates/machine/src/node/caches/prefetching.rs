//! Prefetching into L1D and L2: the caches fetch the lines that the prefetchers predict, while miss registers are free.
//!
//! The prefetcher of L1D is trained with every load that is looked up, and with every store when its address is
//! generated. The prefetcher of L2 is trained with the requests of L1D to L2, prefetches included. If an instruction
//! has several loads or stores, the prefetchers are trained with its first load and its first store. Most later
//! accesses are the second half of an access across a line boundary. These halves would hide the stride.
//!
//! A prefetch follows the path of a miss and occupies a miss register at each level, but only if another register stays
//! free for demand accesses. It needs no translation, since it stays within its page, and does not occupy a look-up of
//! L1D.

use crate::node::caches::Caches;
use crate::node::caches::access::Waiter;
use crate::node::caches::outstanding::{FillReason, Outstanding};
use crate::node::caches::prefetch::Seen;
use crate::node::interface::{RequestKind, Touch};
use crate::node::lines::WordAddr;
use units::Words;

/// An instruction, as identified by the prefetchers.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct PrefetchTrigger {
    /// Position of the instruction in program order.
    pub(in crate::node) number: u64,
    /// The low 32 bits of its address.
    pub(in crate::node) pc: u32,
}

impl Caches {
    /// Looks a load up, and prefetches the lines that are predicted after it.
    #[inline]
    pub(in crate::node) fn load(
        &mut self,
        origin: PrefetchTrigger,
        shared: bool,
        touch: &Touch,
        cycle: u64,
    ) -> Option<u64> {
        let word = WordAddr::touched(touch);
        let words = Words::with_bytes(touch.offset.into(), touch.bytes.into());
        let waiter = if shared { Waiter::SharedLoad(origin.number, words) } else { Waiter::Load(origin.number, words) };
        if !self.prefetches {
            return self.access(word, cycle, waiter).known();
        }
        let missed = !self.in_l1d(word);
        let answer = self.access(word, cycle, waiter);
        self.see(origin, touch, missed, cycle);
        answer.known()
    }

    /// Trains the prefetchers with a store, when its address is known.
    #[inline]
    pub(in crate::node) fn see_store(&mut self, origin: PrefetchTrigger, touch: &Touch, cycle: u64) {
        if self.prefetches {
            let missed = !self.in_l1d(WordAddr::touched(touch));
            self.see(origin, touch, missed, cycle);
        }
    }

    /// Trains the prefetcher of L1D with an access, and the prefetcher of L2 if the access missed L1D.
    fn see(&mut self, origin: PrefetchTrigger, touch: &Touch, missed: bool, cycle: u64) {
        let latest = &mut self.latest_seen[usize::from(touch.store)];
        if *latest == origin.number {
            return;
        }
        *latest = origin.number;
        let seen = Seen::of(origin.pc, touch);
        let at_l2 = cycle + self.l1d_latency;
        if missed {
            self.see_at_l2(seen, at_l2);
        }
        let Some(prefetcher) = &mut self.l1d_prefetcher else { return };
        for address in prefetcher.expect(seen) {
            if self.prefetch_l1d(WordAddr::at(address), cycle) {
                self.see_at_l2(Seen { address, ..seen }, at_l2);
            }
        }
    }

    fn see_at_l2(&mut self, seen: Seen, cycle: u64) {
        let Some(prefetcher) = &mut self.l2_prefetcher else { return };
        for address in prefetcher.expect(seen) {
            self.prefetch_l2(WordAddr::at(address), cycle);
        }
    }

    /// Prefetches the line of `word` into L1D if it is neither in L1D nor requested, and registers are free. Returns
    /// true if a prefetch was started.
    fn prefetch_l1d(&mut self, word: WordAddr, cycle: u64) -> bool {
        let (data, second) = (self.l1d_lines.covered(word), self.l2_lines.covered(word));
        let register = self.under_way(word);
        if self.in_l1d(word) || register.is_some_and(|register| self.outstanding[register].data.overlap(data)) {
            return false;
        }
        let Some(vacancy) = self.l1d_mshrs.spare(cycle) else { return false };
        let looked_up = cycle + self.l1d_latency + self.l2_latency;
        let in_l2 = if register.is_none() { self.hit_l2(word) } else { None };
        if let Some(state) = in_l2 {
            self.l1d_mshrs.take(vacancy, looked_up);
            self.fill_l1d(word, looked_up, FillReason::Prefetch, state, looked_up);
        } else {
            let Some(register) = register.or_else(|| self.request_prefetch(word, looked_up)) else { return false };
            self.l1d_mshrs.take_for(vacancy, self.l1d_lines.key(word));
            let outstanding = &mut self.outstanding[register];
            outstanding.want_data(data, FillReason::Prefetch, &mut self.l1d_counters.prefetches);
            outstanding.want_second(second, false, &mut self.l2_counters.prefetches);
        }
        self.l1d_counters.prefetches.issued += 1;
        true
    }

    /// Prefetches the line of `word` into L2 if no cache holds it or awaits it, and a register is free. `cycle` is the
    /// cycle of its look-up in L2.
    fn prefetch_l2(&mut self, word: WordAddr, cycle: u64) {
        let second = self.l2_lines.covered(word);
        let register = self.l2_mshrs.find(word.line().0);
        let under_way = register.is_some_and(|register| self.outstanding[register].second.overlap(second));
        if under_way || self.in_l1d(word) || self.l2.probe(self.l2_lines.key(word)).is_some() {
            return;
        }
        let Some(register) = register.or_else(|| self.request_prefetch(word, cycle + self.l2_latency)) else {
            return;
        };
        self.outstanding[register].want_second(second, true, &mut self.l2_counters.prefetches);
        self.l2_counters.prefetches.issued += 1;
    }

    /// Requests the line of `word` from beyond L2, if a second register stays free; returns the index of the register.
    fn request_prefetch(&mut self, word: WordAddr, cycle: u64) -> Option<usize> {
        let vacancy = self.l2_mshrs.spare(cycle)?;
        let register = self.l2_mshrs.take_for(vacancy, word.line().0);
        self.outstanding[register] = Outstanding::NOT_WANTED;
        self.outgoing.send(word, cycle, RequestKind::Prefetch);
        Some(register)
    }
}
