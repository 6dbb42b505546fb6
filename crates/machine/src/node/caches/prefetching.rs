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
use crate::node::caches::outstanding::FillReason;
use crate::node::caches::prefetch::Seen;
use crate::node::interface::Touch;
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
        if !self.prefetchers.exist() {
            return self.access(word, cycle, waiter).known();
        }
        let missed = !self.l1d.holds(word);
        let answer = self.access(word, cycle, waiter);
        self.see(origin, touch, missed, cycle);
        answer.known()
    }

    /// Trains the prefetchers with a store, when its address is known.
    #[inline]
    pub(in crate::node) fn see_store(&mut self, origin: PrefetchTrigger, touch: &Touch, cycle: u64) {
        if self.prefetchers.exist() {
            let missed = !self.l1d.holds(WordAddr::touched(touch));
            self.see(origin, touch, missed, cycle);
        }
    }

    /// Trains the prefetcher of L1D with an access, and the prefetcher of L2 if the access missed L1D.
    fn see(&mut self, origin: PrefetchTrigger, touch: &Touch, missed: bool, cycle: u64) {
        if !self.prefetchers.see_first(origin.number, touch.store) {
            return;
        }
        let seen = Seen::of(origin.pc, touch);
        let at_l2 = cycle + self.l1d.latency();
        if missed {
            self.see_at_l2(seen, at_l2);
        }
        let Some(prefetcher) = &mut self.prefetchers.of_l1d else { return };
        for address in prefetcher.expect(seen) {
            if self.prefetch_l1d(WordAddr::at(address), cycle) {
                self.see_at_l2(Seen { address, ..seen }, at_l2);
            }
        }
    }

    fn see_at_l2(&mut self, seen: Seen, cycle: u64) {
        let Some(prefetcher) = &mut self.prefetchers.of_l2 else { return };
        for address in prefetcher.expect(seen) {
            self.prefetch_l2(WordAddr::at(address), cycle);
        }
    }

    /// Prefetches the line of `word` into L1D if it is neither in L1D nor requested, and registers are free. Returns
    /// true if a prefetch was started.
    fn prefetch_l1d(&mut self, word: WordAddr, cycle: u64) -> bool {
        let (data, second) = (self.l1d.lines().covered(word), self.l2.lines().covered(word));
        let register = self.under_way(word);
        if self.l1d.holds(word) || register.is_some_and(|register| self.outstanding.line(register).data.overlap(data)) {
            return false;
        }
        let Some(vacancy) = self.l1d.mshrs.spare(cycle) else { return false };
        let looked_up = cycle + self.l1d.latency() + self.l2.latency();
        let in_l2 = if register.is_none() { self.l2.hit(word) } else { None };
        if let Some(state) = in_l2 {
            self.l1d.mshrs.take(vacancy, looked_up);
            self.fill_l1d(word, looked_up, FillReason::Prefetch, state, looked_up);
        } else {
            let Some(register) = register.or_else(|| self.outstanding.prefetch(word, looked_up, &mut self.outgoing))
            else {
                return false;
            };
            self.l1d.mshrs.take_for(vacancy, self.l1d.lines().key(word));
            let outstanding = self.outstanding.line(register);
            outstanding.want_data(data, FillReason::Prefetch, &mut self.l1d.counts.prefetches);
            outstanding.want_second(second, false, &mut self.l2.counts.prefetches);
        }
        self.l1d.counts.prefetches.issued += 1;
        true
    }

    /// Prefetches the line of `word` into L2 if no cache holds it or awaits it, and a register is free. `cycle` is the
    /// cycle of its look-up in L2.
    fn prefetch_l2(&mut self, word: WordAddr, cycle: u64) {
        let second = self.l2.lines().covered(word);
        let register = self.outstanding.find(word.line());
        let under_way = register.is_some_and(|register| self.outstanding.second(register).overlap(second));
        if under_way || self.l1d.holds(word) || self.l2.holds(word) {
            return;
        }
        let looked_up = cycle + self.l2.latency();
        let Some(register) = register.or_else(|| self.outstanding.prefetch(word, looked_up, &mut self.outgoing)) else {
            return;
        };
        self.outstanding.line(register).want_second(second, true, &mut self.l2.counts.prefetches);
        self.l2.counts.prefetches.issued += 1;
    }
}
