//! Translations: two small first-level buffers before one large second-level one, then a walk.
//!
//! Pages of both sizes share entries, distinguished by their keys. A walk has a fixed length, or is made by the walker
//! (`walk.rs`), which cannot say when it will be done.

use crate::cache::{Replacement, State};
use crate::node::caches::timed::TimedTags;
use crate::node::config::{NodeConfig, TlbConfig};
use crate::node::counters::HitCounters;
use crate::node::interface::{PageKey, UNKNOWN};

/// Which first-level buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Side {
    Code,
    Data,
}

/// What became of a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Looked {
    /// It is there at this cycle.
    Up(u64),
    /// The page tables must be walked, from this cycle on.
    Missed(u64),
}

/// All TLBs of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct Tlbs {
    code: TimedTags,
    data: TimedTags,
    second: TimedTags,
    first_latency: [u64; 2],
    second_latency: u64,
    /// Nothing if there is a walker.
    walk_latency: Option<u64>,
    pub(in crate::node) counters: [HitCounters; 3],
}

impl Tlbs {
    pub(in crate::node) fn new(config: &NodeConfig) -> Tlbs {
        let tags = |tlb: &TlbConfig| TimedTags::new(tlb.entries / tlb.ways, tlb.ways, Replacement::Lru);
        Tlbs {
            code: tags(&config.itlb),
            data: tags(&config.dtlb),
            second: tags(&config.stlb),
            first_latency: [config.itlb.latency_cycles, config.dtlb.latency_cycles],
            second_latency: config.stlb.latency_cycles,
            walk_latency: config.walker.is_none().then_some(config.walk_latency_cycles),
            counters: Default::default(),
        }
    }

    /// When the translation that is asked for at `cycle` is there. A look-up that several share is `counted` for one.
    #[inline]
    pub(in crate::node) fn look_up(&mut self, side: Side, page: PageKey, cycle: u64, counted: bool) -> Looked {
        let counted = u64::from(counted);
        let looked_up = cycle + self.first_latency[side as usize];
        let longest = self.walk_end(looked_up + self.second_latency);
        let first = self.first(side);
        if let Some(slot) = first.tags.lookup(page.0) {
            let ready = first.ready(slot, looked_up, longest);
            let counters = &mut self.counters[side as usize];
            *(if ready == looked_up { &mut counters.hits } else { &mut counters.misses }) += counted;
            return Looked::Up(ready);
        }
        self.counters[side as usize].misses += counted;
        let looked = self.second_level(page, looked_up + self.second_latency);
        if let Looked::Up(ready) = looked {
            self.first(side).fill(page.0, ready, State::Shared);
        }
        looked
    }

    /// When a translation is there for a load merged with one that was looked up at `cycle`.
    pub(in crate::node) fn merged(&mut self, side: Side, page: PageKey, cycle: u64) -> Option<u64> {
        let looked_up = cycle + self.first_latency[side as usize];
        let longest = self.walk_end(looked_up + self.second_latency);
        let first = self.first(side);
        let slot = first.tags.lookup(page.0)?;
        Some(first.ready(slot, looked_up, longest))
    }

    fn second_level(&mut self, page: PageKey, looked_up: u64) -> Looked {
        if let Some(slot) = self.second.tags.lookup(page.0) {
            self.counters[2].hits += 1;
            let longest = self.walk_end(looked_up);
            return Looked::Up(self.second.ready(slot, looked_up, longest));
        }
        let Some(walk_latency) = self.walk_latency else { return Looked::Missed(looked_up) };
        let walked = looked_up + walk_latency;
        self.counters[2].misses += 1;
        self.second.fill(page.0, walked, State::Shared);
        Looked::Up(walked)
    }

    /// When a walk of fixed length would be done.
    fn walk_end(&self, start: u64) -> u64 {
        self.walk_latency.map_or(UNKNOWN, |latency| start + latency)
    }

    /// A walk has begun: misses that join it do not count as the second level's.
    pub(in crate::node) fn count_walk(&mut self) {
        self.counters[2].misses += 1;
    }

    /// A walk is done.
    pub(in crate::node) fn walked(&mut self, sides: impl Iterator<Item = Side>, page: PageKey, cycle: u64) {
        self.second.fill(page.0, cycle, State::Shared);
        for side in sides {
            if self.first(side).tags.probe(page.0).is_none() {
                self.first(side).fill(page.0, cycle, State::Shared);
            }
        }
    }

    fn first(&mut self, side: Side) -> &mut TimedTags {
        if side == Side::Code { &mut self.code } else { &mut self.data }
    }
}
