//! The way into L1D: how many look-ups its tags and the data TLB beside them take.
//!
//! Both are looked up at once. A translation that comes late, because the TLB was busy, finds the cache's look-up over:
//! the access is *replayed*, that is, it goes through the cache once more and takes another of its look-ups. Accesses to
//! one page share a look-up of the TLB that has not begun. Without limits nothing is ever late.

use super::config::NodeConfig;
use super::units::Pool;
use units::LineAddr;

/// Lines of a page.
const PAGE_LINES: u64 = 64;
/// Look-ups of the TLB that are remembered for sharing: more than can wait at once.
const REMEMBERED: usize = 8;

/// One look-up of the data TLB: when it was asked for, and when it begins.
#[derive(Clone, Copy, Debug)]
struct TlbLookUp {
    page: u64,
    asked: u64,
    start: u64,
}

/// Look-ups of the data TLB.
#[derive(Clone, Debug)]
struct TlbLookUps {
    places: Pool,
    /// Cycles from the beginning of a look-up to its answer.
    latency: u64,
    /// The latest ones to be booked.
    latest: [TlbLookUp; REMEMBERED],
    next: usize,
}

impl TlbLookUps {
    /// When the translation for an access that entered at `entered` is there.
    fn answer(&mut self, page: u64, entered: u64) -> u64 {
        let of_page = |other: &&TlbLookUp| other.page == page && other.asked <= entered;
        if let Some(waiting) = self.latest.iter().filter(of_page).find(|other| entered <= other.start) {
            return waiting.start + self.latency;
        }
        let start = self.places.start(entered);
        // An answer serves every access to its page that is inside when it comes.
        let earlier = self.latest.iter().filter(of_page).map(|other| other.start + self.latency);
        let answer = earlier.filter(|answer| *answer > entered).fold(start + self.latency, u64::min);
        self.latest[self.next] = TlbLookUp { page, asked: entered, start };
        self.next = (self.next + 1) % REMEMBERED;
        answer
    }
}

/// Both limits, as far as there are any.
#[derive(Clone, Debug)]
pub(super) struct LookUps {
    cache: Option<Pool>,
    tlb: Option<TlbLookUps>,
    /// From an access's entry to the end of the cache's look-up.
    cache_latency: u64,
}

impl LookUps {
    pub(super) fn new(config: &NodeConfig) -> LookUps {
        LookUps {
            cache: config.l1d_lookups.as_ref().map(Pool::new),
            tlb: config.dtlb_lookups.as_ref().map(|places| TlbLookUps {
                places: Pool::new(places),
                latency: places.latency_cycles,
                latest: [TlbLookUp { page: u64::MAX, asked: 0, start: 0 }; REMEMBERED],
                next: 0,
            }),
            cache_latency: config.l1d.latency_cycles,
        }
    }

    /// When an access by virtual address that comes at `cycle` enters for the last time.
    #[inline]
    pub(super) fn enter(&mut self, line: LineAddr, cycle: u64) -> u64 {
        let entered = self.enter_translated(cycle);
        let Some(tlb) = &mut self.tlb else { return entered };
        let answer = tlb.answer(line.0 / PAGE_LINES, entered);
        if answer <= entered + self.cache_latency { entered } else { self.enter_translated(answer) }
    }

    /// When an access by physical address that comes at `cycle` enters.
    #[inline]
    pub(super) fn enter_translated(&mut self, cycle: u64) -> u64 {
        self.cache.as_mut().map_or(cycle, |cache| cache.start(cycle))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::FunctionalUnit;
    use super::*;

    fn limited(l1d: Option<FunctionalUnit>, dtlb: Option<FunctionalUnit>) -> LookUps {
        let mut config = NodeConfig { l1d_lookups: l1d, dtlb_lookups: dtlb, ..NodeConfig::modern() };
        config.l1d.latency_cycles = 2;
        LookUps::new(&config)
    }

    #[test]
    fn without_limits_every_access_enters_when_it_comes() {
        let mut lookups = limited(None, None);
        assert_eq!([5, 5, 5, 5].map(|cycle| lookups.enter(LineAddr(0), cycle)), [5; 4]);
    }

    #[test]
    fn a_third_access_waits_until_one_of_two_has_been_looked_up() {
        let mut lookups = limited(Some(FunctionalUnit { count: 2, latency_cycles: 3, pipelined: false }), None);
        assert_eq!([5, 5, 5].map(|cycle| lookups.enter(LineAddr(0), cycle)), [5, 5, 8]);
    }

    #[test]
    fn an_access_whose_translation_is_late_enters_again() {
        let mut lookups = limited(None, Some(FunctionalUnit { count: 1, latency_cycles: 2, pipelined: false }));
        assert_eq!(lookups.enter(LineAddr(0), 5), 5);
        assert_eq!(
            lookups.enter(LineAddr(64), 6),
            6 + 2 + 1,
            "its translation comes one cycle after the cache's look-up"
        );
        assert_eq!(lookups.enter_translated(6), 6, "which a physical address does not need");
    }

    #[test]
    fn an_answer_serves_every_access_to_its_page_that_is_inside() {
        let mut lookups = limited(None, Some(FunctionalUnit { count: 1, latency_cycles: 2, pipelined: false }));
        assert_eq!([0, 63].map(|line| lookups.enter(LineAddr(line), 5)), [5, 5]);
        assert_eq!(lookups.enter(LineAddr(0), 6), 6);
    }
}
