//! Translations: two small first-level buffers before one large second-level one, then a walk of fixed length.
//!
//! Pages of both sizes share entries, told apart by their keys.

use super::PageKey;
use super::config::{NodeConfig, TlbConfig};
use super::counters::HitCounters;
use super::timed::TimedTags;

/// Which first-level buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Code,
    Data,
}

/// All TLBs of one core.
#[derive(Clone, Debug)]
pub(super) struct Tlbs {
    code: TimedTags,
    data: TimedTags,
    second: TimedTags,
    first_latency: [u64; 2],
    second_latency: u64,
    walk_latency: u64,
    pub(super) counters: [HitCounters; 3],
}

impl Tlbs {
    pub(super) fn new(config: &NodeConfig) -> Tlbs {
        let tags = |tlb: &TlbConfig| TimedTags::new(tlb.entries / tlb.ways, tlb.ways);
        Tlbs {
            code: tags(&config.itlb),
            data: tags(&config.dtlb),
            second: tags(&config.stlb),
            first_latency: [config.itlb.latency_cycles, config.dtlb.latency_cycles],
            second_latency: config.stlb.latency_cycles,
            walk_latency: config.walk_latency_cycles,
            counters: Default::default(),
        }
    }

    /// When the translation that is asked for at `cycle` is there.
    #[inline]
    pub(super) fn translate(&mut self, side: Side, page: PageKey, cycle: u64) -> u64 {
        let looked_up = cycle + self.first_latency[side as usize];
        let longest = looked_up + self.second_latency + self.walk_latency;
        let first = if side == Side::Code { &mut self.code } else { &mut self.data };
        if let Some(slot) = first.tags.lookup(page.0) {
            self.counters[side as usize].hits += 1;
            return first.ready(slot, looked_up, longest);
        }
        self.counters[side as usize].misses += 1;
        let ready = self.second_level(page, looked_up + self.second_latency);
        let first = if side == Side::Code { &mut self.code } else { &mut self.data };
        first.fill(page.0, ready, false);
        ready
    }

    fn second_level(&mut self, page: PageKey, looked_up: u64) -> u64 {
        let walked = looked_up + self.walk_latency;
        if let Some(slot) = self.second.tags.lookup(page.0) {
            self.counters[2].hits += 1;
            return self.second.ready(slot, looked_up, walked);
        }
        self.counters[2].misses += 1;
        self.second.fill(page.0, walked, false);
        walked
    }
}
