//! Translations: two small first-level TLBs, one large second-level TLB behind them, then a page-table walk.
//!
//! Pages of both sizes share entries, distinguished by their keys. Without a walker, a page-table walk has a fixed
//! length. With a walker (`walk.rs`), the end of a walk is not known in advance. If pages have records
//! (`page_records.rs`), a translation is complete when the record of its page arrives.

use crate::cache::{Eviction, MesiState, Replacement};
use crate::node::caches::timed::TimedTags;
use crate::node::config::{NodeConfig, TlbConfig};
use crate::node::counts::HitCounts;
use crate::node::interface::{PageKey, RecordRequest, UNKNOWN};
use crate::node::pipeline::page_records::{PageRecordRequest, PageRecords};
use crate::node::pipeline::translated::Side;
use rustc_hash::FxHashSet;
use units::{Clock, Cycles};

/// Result of a look-up in the TLBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Looked {
    /// Cycle at which the translation is available.
    Up(u64),
    /// Cycle from which the page tables must be walked, or the record of the page fetched.
    Missed(u64),
}

/// Method of a page-table walk, for a translation that no TLB holds.
#[derive(Clone, Copy, Debug)]
enum Walks {
    /// A fixed number of cycles.
    Fixed(u64),
    /// A fixed number of cycles, plus the time until the record of the page arrives.
    Recorded(u64),
    /// The walker reads the page tables.
    Walker,
}

/// All TLBs of one core.
#[derive(Clone, Debug)]
pub struct Tlbs {
    clock: Clock,
    code: TimedTags,
    data: TimedTags,
    second: TimedTags,
    first_latency: [u64; 2],
    second_latency: u64,
    walks: Walks,
    /// Page records, if the protection scheme has them.
    pub(in crate::node) records: Option<Box<PageRecords>>,
    pub(in crate::node) counts: [HitCounts; 3],
}

impl Tlbs {
    pub(in crate::node) fn new(config: &NodeConfig) -> Tlbs {
        let tags = |tlb: &TlbConfig| TimedTags::new(tlb.entries / tlb.ways, tlb.ways, Replacement::Lru);
        Tlbs {
            clock: config.clock_mhz.clock(),
            code: tags(&config.itlb),
            data: tags(&config.dtlb),
            second: tags(&config.stlb),
            first_latency: [config.itlb.latency_cycles, config.dtlb.latency_cycles],
            second_latency: config.stlb.latency_cycles,
            walks: if config.walker.is_some() { Walks::Walker } else { Walks::Fixed(config.walk_latency_cycles) },
            records: None,
            counts: Default::default(),
        }
    }

    /// Requires records from now on: an access to a page that no TLB holds waits for the record of the page. See
    /// [`Tlbs::take_record_requests`]. Call it before the first instruction.
    ///
    /// # Panics
    /// If there is a walker.
    pub fn keep_records(&mut self) {
        let Walks::Fixed(latency) = self.walks else { panic!("a TLB has no record for a line of page tables") };
        self.walks = Walks::Recorded(latency);
        self.records = Some(Box::default());
    }

    /// Returns the requests of records, and the reports of records given up, since the last call. Their times are not
    /// sorted, but all are at or after the latest answer to the node. The reply to each [`RecordRequest::Bring`] is
    /// [`Node::record_arrived`](crate::node::Node::record_arrived). At most one [`RecordRequest::GiveUp`] follows it
    /// later.
    pub fn take_record_requests(&mut self) -> impl Iterator<Item = RecordRequest> + use<> {
        let clock = self.clock;
        let requests = self.records.as_mut().map_or_else(Vec::new, |records| records.take_requests());
        requests.into_iter().map(move |PageRecordRequest { cycle, page, line, is_needed }| {
            let at = clock.start_of(Cycles(cycle));
            if is_needed { RecordRequest::Bring { at, page, line } } else { RecordRequest::GiveUp { at, line } }
        })
    }

    /// Looks up a translation at `cycle`. If several accesses share a look-up, only one of them sets `counted`.
    #[inline]
    pub(in crate::node) fn look_up(&mut self, side: Side, page: PageKey, cycle: u64, counted: bool) -> Looked {
        let counted = u64::from(counted);
        let looked_up = cycle + self.first_latency[side as usize];
        let longest = self.walk_end(looked_up + self.second_latency);
        let first = self.first(side);
        if let Some(slot) = first.tags.lookup(page.0) {
            let ready = first.ready(slot, looked_up, longest);
            let counts = &mut self.counts[side as usize];
            *(if ready == looked_up { &mut counts.hits } else { &mut counts.misses }) += counted;
            return Looked::Up(ready);
        }
        self.counts[side as usize].misses += counted;
        let looked = self.second_level(page, looked_up + self.second_latency);
        if let Looked::Up(ready) = looked {
            let (_, evicted) = self.first(side).fill(page.0, ready, MesiState::Shared);
            self.displaced(evicted, ready);
        }
        looked
    }

    /// Returns the cycle of the translation for a load that was merged with an earlier load with a look-up at `cycle`.
    pub(in crate::node) fn merged(&mut self, side: Side, page: PageKey, cycle: u64) -> Option<u64> {
        let looked_up = cycle + self.first_latency[side as usize];
        let longest = self.walk_end(looked_up + self.second_latency);
        let first = self.first(side);
        let slot = first.tags.lookup(page.0)?;
        Some(first.ready(slot, looked_up, longest))
    }

    fn second_level(&mut self, page: PageKey, looked_up: u64) -> Looked {
        if let Some(slot) = self.second.tags.lookup(page.0) {
            self.counts[2].hits += 1;
            let longest = self.walk_end(looked_up);
            return Looked::Up(self.second.ready(slot, looked_up, longest));
        }
        match self.walks {
            Walks::Fixed(latency) => {
                let walked = looked_up + latency;
                self.counts[2].misses += 1;
                self.second.fill(page.0, walked, MesiState::Shared);
                Looked::Up(walked)
            }
            Walks::Recorded(latency) => Looked::Missed(looked_up + latency),
            Walks::Walker => Looked::Missed(looked_up),
        }
    }

    /// Returns the end of a walk of fixed length.
    fn walk_end(&self, start: u64) -> u64 {
        match self.walks {
            Walks::Fixed(latency) => start + latency,
            Walks::Recorded(_) | Walks::Walker => UNKNOWN,
        }
    }

    /// Counts a second-level miss for a walk; misses that join the walk do not count.
    pub(in crate::node) fn count_walk(&mut self) {
        self.counts[2].misses += 1;
    }

    /// Enters the translation of a finished walk.
    pub(in crate::node) fn walked(&mut self, sides: impl Iterator<Item = Side>, page: PageKey, cycle: u64) {
        let (_, evicted) = self.second.fill(page.0, cycle, MesiState::Shared);
        self.displaced(evicted, cycle);
        for side in sides {
            if self.first(side).tags.probe(page.0).is_none() {
                let (_, evicted) = self.first(side).fill(page.0, cycle, MesiState::Shared);
                self.displaced(evicted, cycle);
            }
        }
    }

    /// Handles the eviction of a page from a TLB. Gives up the record of the page, unless another TLB holds the page.
    #[inline]
    fn displaced(&mut self, evicted: Option<Eviction>, cycle: u64) {
        let (Some(records), Some(Eviction { key, .. })) = (&mut self.records, evicted) else { return };
        if [&self.code, &self.data, &self.second].iter().all(|tlb| tlb.tags.probe(key).is_none()) {
            records.give_up(PageKey(key), cycle);
        }
    }

    /// Empties all TLBs, and gives up the records of their pages.
    pub(in crate::node) fn empty(&mut self, cycle: u64) {
        [&mut self.code, &mut self.data, &mut self.second].into_iter().for_each(|tlb| tlb.tags.drop_clean());
        self.records.iter_mut().for_each(|records| records.give_up_all(cycle));
    }

    /// Number of pages with a translation in a TLB.
    pub fn pages(&self) -> usize {
        let keys = [&self.code, &self.data, &self.second].into_iter().flat_map(|tlb| tlb.tags.entries());
        keys.map(|(_, key)| key).collect::<FxHashSet<u64>>().len()
    }

    fn first(&mut self, side: Side) -> &mut TimedTags {
        if side == Side::Code { &mut self.code } else { &mut self.data }
    }
}
