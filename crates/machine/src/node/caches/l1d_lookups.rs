//! Admission to L1D: limits on the look-ups of its tags and of the data TLB.
//!
//! An access looks up L1D and the TLB in parallel. If the TLB was busy or missed, the look-up of L1D ends before the
//! translation is known. The access is then *replayed*: it passes L1D once more and needs another look-up. Accesses to
//! one page share a TLB look-up that has not begun. An access that finds no free miss register keeps its entry in L1D
//! until a register is free. Without limits on look-ups, only TLB misses delay a translation.

use crate::node::config::{FunctionalUnit, NodeConfig};
use crate::node::interface::PageKey;
use crate::pool::Pool;

/// Number of recent TLB look-ups that are kept for sharing: more than the number of look-ups that can wait at once.
const REMEMBERED: usize = 8;

/// One look-up of the data TLB: cycle of the request and cycle at which it begins.
#[derive(Clone, Copy, Debug)]
struct TlbLookUp {
    page: PageKey,
    requested: u64,
    start: u64,
}

/// Look-ups of the data TLB.
#[derive(Clone, Debug)]
struct TlbLookUps {
    places: Pool,
    /// Cycles from the beginning of a look-up to its answer.
    latency: u64,
    /// The most recently booked look-ups.
    latest: [TlbLookUp; REMEMBERED],
    next: usize,
}

/// Result of a request for a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) struct TlbReply {
    /// Cycle at which the TLB begins the look-up.
    pub(in crate::node) start: u64,
    /// Cycle of the translation if the TLB hits.
    pub(in crate::node) answer: u64,
    /// True if an earlier access to the same page booked the look-up.
    pub(in crate::node) shared: bool,
}

impl TlbLookUps {
    /// Requests the translation of an access that entered at `entered`.
    fn ask(&mut self, page: PageKey, entered: u64) -> TlbReply {
        let of_page = |other: &&TlbLookUp| other.page == page && other.requested <= entered;
        if let Some(&TlbLookUp { start, .. }) = self.latest.iter().filter(of_page).find(|other| entered <= other.start)
        {
            return TlbReply { start, answer: start + self.latency, shared: true };
        }
        let start = self.places.start(entered);
        // An answer serves all accesses to its page that are waiting at its cycle.
        let earlier = self.latest.iter().filter(of_page).map(|other| other.start + self.latency);
        let answer = earlier.filter(|answer| *answer > entered).fold(start + self.latency, u64::min);
        self.latest[self.next] = TlbLookUp { page, requested: entered, start };
        self.next = (self.next + 1) % REMEMBERED;
        TlbReply { start, answer, shared: false }
    }
}

fn pool(places: &FunctionalUnit) -> Pool {
    Pool::new(places.count, places.latency_cycles, places.pipelined)
}

/// Limits on look-ups of L1D and of the data TLB; `None` if unlimited.
#[derive(Clone, Debug)]
pub(in crate::node) struct L1dLookUps {
    cache: Option<Pool>,
    tlb: Option<TlbLookUps>,
    /// Cycles from the entry of an access to the end of the look-up in the cache.
    cache_latency: u64,
}

impl L1dLookUps {
    pub(in crate::node) fn new(config: &NodeConfig) -> L1dLookUps {
        L1dLookUps {
            cache: config.l1d_lookups.as_ref().map(pool),
            tlb: config.dtlb_lookups.as_ref().map(|places| TlbLookUps {
                places: pool(places),
                latency: places.latency_cycles,
                latest: [TlbLookUp { page: PageKey(u64::MAX), requested: 0, start: 0 }; REMEMBERED],
                next: 0,
            }),
            cache_latency: config.l1d.latency_cycles,
        }
    }

    /// Returns true if neither L1D nor the TLB limits look-ups. In that case an access enters at once and is looked up
    /// when its translation is known.
    #[inline]
    pub(in crate::node) fn are_unlimited(&self) -> bool {
        self.cache.is_none() && self.tlb.is_none()
    }

    /// Returns the cycle at which an access that arrives at `cycle` enters L1D.
    #[inline]
    pub(in crate::node) fn enter(&mut self, cycle: u64) -> u64 {
        match &mut self.cache {
            Some(cache) => cache.start(cycle),
            None => cycle,
        }
    }

    /// Requests the translation of an access that entered at `entered`.
    #[inline]
    pub(in crate::node) fn ask(&mut self, page: PageKey, entered: u64) -> TlbReply {
        match &mut self.tlb {
            Some(tlb) => tlb.ask(page, entered),
            None => TlbReply { start: entered, answer: entered, shared: false },
        }
    }

    /// Returns the cycle of the last look-up of an access that entered at `entered` and has its translation at
    /// `translated`.
    #[inline]
    pub(in crate::node) fn translated(&mut self, entered: u64, translated: u64) -> u64 {
        if self.are_unlimited() {
            translated
        } else if translated <= entered + self.cache_latency {
            entered
        } else {
            self.enter(translated)
        }
    }

    /// Returns the maximum number of accesses inside L1D, or `None` if it is unlimited.
    pub(in crate::node) fn places(&self) -> Option<usize> {
        self.cache.as_ref().map(Pool::count)
    }

    /// Extends the stay of an access that entered at `entered`: it occupies its entry as if it had entered at `until`.
    pub(in crate::node) fn hold(&mut self, entered: u64, until: u64) {
        if let Some(cache) = &mut self.cache {
            cache.hold(entered, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(l1d: Option<FunctionalUnit>, dtlb: Option<FunctionalUnit>) -> L1dLookUps {
        let mut config = NodeConfig { l1d_lookups: l1d, dtlb_lookups: dtlb, ..NodeConfig::modern() };
        config.l1d.latency_cycles = 2;
        L1dLookUps::new(&config)
    }

    fn access(lookups: &mut L1dLookUps, page: u64, cycle: u64) -> u64 {
        let entered = lookups.enter(cycle);
        let answer = lookups.ask(PageKey(page), entered).answer;
        lookups.translated(entered, answer)
    }

    #[test]
    fn an_l1d_without_limits_admits_every_access_at_once() {
        let mut lookups = limited(None, None);
        assert_eq!([5, 5, 5, 5].map(|cycle| access(&mut lookups, 0, cycle)), [5; 4]);
        let entered = lookups.enter(5);
        assert_eq!(lookups.translated(entered, 6), 6, "and is looked up when it is translated");
    }

    #[test]
    fn a_third_l1d_access_waits_for_one_of_two_ports() {
        let mut lookups = limited(Some(FunctionalUnit { count: 2, latency_cycles: 3, pipelined: false }), None);
        assert_eq!([5, 5, 5].map(|cycle| access(&mut lookups, 0, cycle)), [5, 5, 8]);
    }

    #[test]
    fn an_l1d_access_with_a_late_translation_repeats_its_look_up() {
        let mut lookups = limited(None, Some(FunctionalUnit { count: 1, latency_cycles: 2, pipelined: false }));
        assert_eq!(access(&mut lookups, 0, 5), 5);
        assert_eq!(access(&mut lookups, 1, 6), 6 + 2 + 1, "its translation comes one cycle after the cache's look-up");
        assert_eq!(lookups.enter(6), 6, "which a physical address does not need");
    }

    #[test]
    fn a_tlb_look_up_serves_all_concurrent_accesses_to_its_page() {
        let mut lookups = limited(None, Some(FunctionalUnit { count: 1, latency_cycles: 2, pipelined: false }));
        assert_eq!([5, 5].map(|entered| lookups.ask(PageKey(0), entered).shared), [false, true]);
        let later = lookups.ask(PageKey(0), 6);
        assert_eq!(
            (later.start, later.answer, later.shared),
            (7, 7, false),
            "it asks for itself, and needs it no more"
        );
    }

    #[test]
    fn a_delayed_l1d_access_occupies_its_port() {
        let mut lookups = limited(Some(FunctionalUnit { count: 1, latency_cycles: 3, pipelined: false }), None);
        let entered = lookups.enter(5);
        lookups.hold(entered, 20);
        assert_eq!(lookups.enter(6), 20 + 3);
    }
}
