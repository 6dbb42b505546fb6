//! The private caches: L1I, L1D and the L2 behind both.
//!
//! A hit in either level returns the cycle of its data at once. An L2 miss, or a store to a line that other cores may
//! hold, adds a request to [`Outgoing`]. The caches keep the waiter until the line is [filled](Caches::filled). The
//! permission to write a line applies to all copies of a core. The caches are write-back caches and allocate lines on
//! writes. L2 is neither inclusive nor exclusive of L1, and receives the lines that L1D writes back. Tags change in the
//! order in which accesses are *scheduled*, which is nearly program order, not in the order of their cycles.

pub(super) mod access;
mod clean_victims;
mod contents;
mod fill;
mod l1d;
mod metadata;
mod mshr;
mod outgoing;
mod outstanding;
pub(super) mod prefetch;
pub(super) mod prefetching;
mod sharing;
pub(super) mod timed;
mod warm;

pub use clean_victims::CleanVictims;
pub use metadata::MetadataLines;
pub use outgoing::Outgoing;
pub use prefetch::PrefetcherConfig;

use crate::cache::{MesiState, TagArray};
use crate::lookups;
use crate::node::config::{CacheConfig, NodeConfig};
use crate::node::counts::{CacheCounts, MissCounts};
use crate::node::interface::{RequestKind, UNKNOWN};
use crate::node::lines::{LineSize, WordAddr};
use crate::node::waiting::Lists;
use access::{Answer, Waiter};
use l1d::L1dLookUps;
use mshr::Mshrs;
use outstanding::{FillReason, Outstanding};
use prefetch::{Prefetcher, Unused};
use std::collections::VecDeque;
use timed::TimedTags;
use units::Words;

/// An access that found no free miss register.
#[derive(Clone, Copy, Debug)]
struct Stalled {
    word: WordAddr,
    cycle: u64,
    waiter: Waiter,
}

/// All private caches of one core.
#[derive(Clone, Debug)]
pub struct Caches {
    pub(in crate::node) l1i: TimedTags,
    pub(in crate::node) l1d: TimedTags,
    pub(in crate::node) l2: TagArray,
    pub(in crate::node) l1i_lines: LineSize,
    pub(in crate::node) l1d_lines: LineSize,
    pub(in crate::node) l2_lines: LineSize,
    l1i_latency: u64,
    pub(in crate::node) l1d_latency: u64,
    pub(in crate::node) l2_latency: u64,
    pub(in crate::node) lookups: L1dLookUps,
    l2_lookups: Option<lookups::LookUps>,
    l1d_in_order: bool,
    pub(in crate::node) l1d_mshrs: Mshrs,
    pub(in crate::node) l2_mshrs: Mshrs,
    /// State of each line outstanding beyond L2, indexed by the line's miss register of L2.
    pub(in crate::node) outstanding: Box<[Outstanding]>,
    /// Waiters for outstanding lines, each with its earliest possible cycle and the words that it needs.
    pub(in crate::node) waiters: Lists<(Waiter, u64, Words)>,
    stalled: VecDeque<Stalled>,
    /// True if a write-back to a line in L2 counts as a use of the line.
    l2_writeback_is_use: bool,
    /// True if L1D or L2 has a prefetcher.
    pub(in crate::node) prefetches: bool,
    pub(in crate::node) l1d_prefetcher: Option<Prefetcher>,
    pub(in crate::node) l2_prefetcher: Option<Prefetcher>,
    /// Number of the latest instruction with a load (index 0) or a store (index 1) that the prefetchers saw.
    pub(in crate::node) latest_seen: [u64; 2],
    pub(in crate::node) l1d_unused: Unused,
    pub(in crate::node) l2_unused: Unused,
    /// Requests that left L2 in this step of the node.
    pub outgoing: Outgoing,
    /// Clean lines that L2 sends to the next level.
    pub clean_victims: CleanVictims,
    /// Metadata lines in L2.
    pub metadata: MetadataLines,
    /// True once any line has been filled with shared permission or downgraded to read only.
    pub(in crate::node) has_shared: bool,
    /// Stores to lines that the core held without write permission.
    pub(in crate::node) upgrades: u64,
    pub(in crate::node) l1i_counters: CacheCounts,
    pub(in crate::node) l1d_counters: CacheCounts,
    pub(in crate::node) l2_counters: CacheCounts,
    pub(in crate::node) l2_data_misses: MissCounts,
}

impl Caches {
    pub(in crate::node) fn new(config: &NodeConfig) -> Caches {
        let timed = |cache: &CacheConfig| TimedTags::new(cache.sets(), cache.ways, cache.replacement);
        let line_size = |cache: &CacheConfig| LineSize::new(cache.line, config.memory_line);
        let prefetcher = |cache: &CacheConfig| cache.prefetcher.map(|config| Prefetcher::new(config, line_size(cache)));
        let unused = |cache: &CacheConfig| Unused::new(cache.lines(), cache.prefetcher);
        Caches {
            l1i: timed(&config.l1i),
            l1d: timed(&config.l1d),
            l2: TagArray::with_replacement(config.l2.sets(), config.l2.ways, config.l2.replacement),
            l1i_lines: line_size(&config.l1i),
            l1d_lines: line_size(&config.l1d),
            l2_lines: line_size(&config.l2),
            l1i_latency: config.l1i.latency_cycles,
            l1d_latency: config.l1d.latency_cycles,
            l2_latency: config.l2.latency_cycles,
            lookups: L1dLookUps::new(config),
            l2_lookups: config.l2_lookups.map(lookups::LookUps::new),
            l1d_in_order: config.l1d_in_order,
            l1d_mshrs: Mshrs::new(config.l1d.mshrs, config.l2.latency_cycles.max(1)),
            l2_mshrs: Mshrs::new(config.l2.mshrs, 1),
            outstanding: vec![Outstanding::NOT_WANTED; config.l2.mshrs].into(),
            waiters: Lists::new(),
            stalled: VecDeque::new(),
            l2_writeback_is_use: config.l2.writeback_is_use.unwrap_or(true),
            prefetches: config.l1d.prefetcher.or(config.l2.prefetcher).is_some(),
            l1d_prefetcher: prefetcher(&config.l1d),
            l2_prefetcher: prefetcher(&config.l2),
            latest_seen: [UNKNOWN; 2],
            l1d_unused: unused(&config.l1d),
            l2_unused: unused(&config.l2),
            outgoing: Outgoing::new(config.clock_mhz.clock()),
            clean_victims: CleanVictims::default(),
            metadata: MetadataLines::new(),
            has_shared: false,
            upgrades: 0,
            l1i_counters: CacheCounts::default(),
            l1d_counters: CacheCounts::default(),
            l2_counters: CacheCounts::default(),
            l2_data_misses: MissCounts::default(),
        }
    }

    /// Looks `word` up for `waiter` at `cycle`. If the answer is not `At`, the caches wake the waiter later.
    #[inline]
    pub(in crate::node) fn access(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        let cycle = if matches!(waiter, Waiter::Walk(_)) { self.lookups.enter(cycle) } else { cycle };
        let queues = self.l1d_in_order && !self.stalled.is_empty() && waiter != Waiter::Fetch;
        let answer = if queues { Answer::Stalled } else { self.attempt(word, cycle, waiter) };
        if answer == Answer::Stalled {
            self.stalled.push_back(Stalled { word, cycle, waiter });
        }
        answer
    }

    /// Returns true if another access may enter L1D, next to the accesses that wait in it for miss registers.
    #[inline]
    pub(in crate::node) fn has_room(&self) -> bool {
        let inside = || self.stalled.iter().filter(|stalled| stalled.waiter.is_inside_l1d()).count();
        !self.l1d_in_order || self.stalled.is_empty() || self.lookups.places().is_none_or(|places| inside() < places)
    }

    /// Retries the access that has stalled for longest; `None` if no access has stalled or this access stalls again.
    pub(in crate::node) fn retry(&mut self, cycle: u64) -> Option<(Waiter, Answer)> {
        let first = *self.stalled.front()?;
        let looked_up_first = if self.l1d_in_order { self.l1d_latency } else { 0 };
        match self.attempt(first.word, first.cycle.max(cycle - looked_up_first), first.waiter) {
            Answer::Stalled => None,
            answer => {
                self.stalled.pop_front();
                Some((first.waiter, answer))
            }
        }
    }

    #[inline]
    fn attempt(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        match waiter {
            Waiter::Fetch => self.fetch(word, cycle),
            Waiter::Load(..) | Waiter::SharedLoad(..) | Waiter::Walk(_) => {
                self.data(word, cycle, cycle + self.l1d_latency, waiter)
            }
            // A write that hits is complete one cycle after its start, whatever the latency of a read.
            Waiter::Store(_) | Waiter::Merge(_) => self.data(word, cycle, cycle + 1, waiter),
        }
    }

    #[inline]
    fn data(&mut self, word: WordAddr, cycle: u64, looked_up: u64, waiter: Waiter) -> Answer {
        let key = self.l1d_lines.key(word);
        let Some(slot) = self.l1d.tags.lookup(key) else { return self.data_miss(word, cycle, waiter) };
        if waiter.writes() {
            if self.l1d.tags.state(slot) == MesiState::Shared {
                return self.data_miss(word, cycle, waiter);
            }
            self.l1d.tags.mark_dirty(slot);
        }
        let ready = self.l1d.ready(slot, looked_up, cycle + self.l1d_latency + self.l2_latency);
        let found = ready <= cycle + self.l1d_latency;
        *(if found { &mut self.l1d_counters.hits } else { &mut self.l1d_counters.merged }) += waiter.counted();
        if self.l1d_unused.take(slot) {
            self.l1d_counters.prefetches.count_use(ready > looked_up);
        }
        Answer::At(ready)
    }

    /// Sends an access to L2, and beyond if L2 misses or the core lacks write permission.
    fn data_miss(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        if let Some(register) = self.under_way(word) {
            return self.join(register, word, cycle, waiter);
        }
        // With `l1d_in_order`, an access waits for a miss register after its look-up has ended. Otherwise its look-up
        // starts when a register is free.
        let looked_up_first = if self.l1d_in_order { self.l1d_latency } else { 0 };
        let Some(vacancy) = self.l1d_mshrs.vacancy(cycle + looked_up_first) else { return Answer::Stalled };
        let cycle = self.held(cycle, vacancy.start - looked_up_first);
        if self.l2_mshrs.vacancy(cycle).is_none() && self.l2.probe(self.l2_lines.key(word)).is_none() {
            return Answer::Stalled;
        }
        let looked_up = self.look_up_l2(cycle + self.l1d_latency);
        let write = waiter.writes();
        let purpose = if write { FillReason::Write } else { FillReason::Read };
        let in_l2 = self.hit_l2(word);
        if let Some(state) = in_l2.filter(|state| !write || *state > MesiState::Shared) {
            self.l1d_mshrs.take(vacancy, looked_up);
            self.l1d_counters.misses += 1;
            self.l2_counters.hits += 1;
            self.fill_l1d(word, looked_up, purpose, state, looked_up);
            return Answer::At(looked_up);
        }
        let kind = match write {
            true if in_l2.is_some() || self.in_l1d(word) => RequestKind::Upgrade,
            true => RequestKind::ReadForOwnership,
            false => RequestKind::Read,
        };
        if kind == RequestKind::Upgrade
            && let Some(register) = self.l2_mshrs.find(word.line().0)
        {
            return self.join(register, word, cycle, waiter);
        }
        let Some(register) = self.ask(word, looked_up, kind, waiter) else { return Answer::Stalled };
        let data = self.l1d_lines.covered(word);
        self.outstanding[register].want_data(data, purpose, &mut self.l1d_counters.prefetches);
        self.l1d_mshrs.take_for(vacancy, self.l1d_lines.key(word));
        self.l1d_counters.misses += u64::from(kind != RequestKind::Upgrade);
        Answer::Requested
    }

    /// Adds a data access to the line that `register` of L2 awaits.
    fn join(&mut self, register: usize, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        let data = self.l1d_lines.covered(word);
        let store = waiter.writes();
        // The line may arrive before this access has been looked up.
        let mut earliest = cycle + if store { 1 } else { self.l1d_latency };
        if self.outstanding[register].data.overlap(data) {
            self.l1d_counters.merged += waiter.counted();
        } else {
            let Some(vacancy) = self.l1d_mshrs.vacancy(cycle) else { return Answer::Stalled };
            earliest = self.look_up_l2(vacancy.start + self.l1d_latency);
            self.l1d_mshrs.take_for(vacancy, self.l1d_lines.key(word));
            self.l2_counters.merged += 1;
            self.l1d_counters.misses += 1;
        }
        let outstanding = &mut self.outstanding[register];
        let purpose = if store { FillReason::Write } else { FillReason::Read };
        outstanding.want_data(data, purpose, &mut self.l1d_counters.prefetches);
        outstanding.want_second(self.l2_lines.covered(word), false, &mut self.l2_counters.prefetches);
        if let Some(arrival_of) = outstanding.arrival_of(waiter.wants(word, self.l1i_lines)) {
            return Answer::At(earliest.max(arrival_of));
        }
        self.waiters.push(&mut outstanding.waiters, (waiter, earliest, waiter.wants(word, self.l1i_lines)));
        Answer::Requested
    }

    /// Looks up code in L1I. Fetch waits for one line at a time, in order; a hit adds no front-end latency.
    fn fetch(&mut self, word: WordAddr, cycle: u64) -> Answer {
        let key = self.l1i_lines.key(word);
        if let Some(slot) = self.l1i.tags.lookup(key) {
            self.l1i_counters.hits += 1;
            return Answer::At(self.l1i.ready(slot, cycle, cycle + self.l1i_latency + self.l2_latency));
        }
        if let Some(register) = self.under_way(word) {
            self.l1i_counters.misses += 1;
            self.l2_counters.merged += 1;
            let outstanding = &mut self.outstanding[register];
            outstanding.code.add(self.l1i_lines.covered(word));
            outstanding.want_second(self.l2_lines.covered(word), false, &mut self.l2_counters.prefetches);
            self.waiters
                .push(&mut outstanding.waiters, (Waiter::Fetch, cycle, Waiter::Fetch.wants(word, self.l1i_lines)));
            return Answer::Requested;
        }
        if self.l2_mshrs.vacancy(cycle).is_none() && self.l2.probe(self.l2_lines.key(word)).is_none() {
            return Answer::Stalled;
        }
        let looked_up = self.look_up_l2(cycle + self.l1i_latency);
        // L1D may hold the only copy of code that was just written.
        if self.hit_l2(word).is_some() || self.in_l1d(word) {
            self.l1i_counters.misses += 1;
            self.l2_counters.hits += 1;
            self.l1i.fill(key, looked_up, MesiState::Shared);
            return Answer::At(looked_up);
        }
        let kind = RequestKind::Instruction;
        let Some(register) = self.ask(word, looked_up, kind, Waiter::Fetch) else { return Answer::Stalled };
        self.outstanding[register].code.add(self.l1i_lines.covered(word));
        self.l1i_counters.misses += 1;
        Answer::Requested
    }

    pub(in crate::node) fn in_l1d(&self, word: WordAddr) -> bool {
        self.l1d.tags.probe(self.l1d_lines.key(word)).is_some()
    }

    /// Returns the register of the memory line of `word`, if L2 awaits `word` or does not hold it.
    pub(in crate::node) fn under_way(&self, word: WordAddr) -> Option<usize> {
        let register = self.l2_mshrs.find(word.line().0)?;
        let wanted = self.outstanding[register].second.overlap(self.l2_lines.covered(word));
        (wanted || self.l2.probe(self.l2_lines.key(word)).is_none()).then_some(register)
    }

    /// Returns the cycle at which an access that arrives at `cycle` enters L1D, if its miss register is free from
    /// `start` on. With `l1d_in_order`, the access keeps its L1D entry until `start`.
    fn held(&mut self, cycle: u64, start: u64) -> u64 {
        if start > cycle && self.l1d_in_order {
            self.lookups.hold(cycle, start);
        }
        start.max(cycle)
    }

    /// Returns the cycle at which L2 finishes the look-up of an access that arrives at `cycle`.
    #[inline]
    pub(in crate::node) fn look_up_l2(&mut self, cycle: u64) -> u64 {
        self.l2_lookups.as_mut().map_or(cycle, |lookups| lookups.enter(cycle)) + self.l2_latency
    }

    /// Looks up L2 for a first-level cache. Returns the state of the line on a hit.
    pub(in crate::node) fn hit_l2(&mut self, word: WordAddr) -> Option<MesiState> {
        let slot = self.l2.lookup(self.l2_lines.key(word))?;
        if self.l2_unused.take(slot) {
            self.l2_counters.prefetches.count_use(false);
        }
        Some(self.l2.state(slot))
    }

    /// Requests the line of `word` from beyond L2, if a miss register is free; returns the index of the register.
    fn ask(&mut self, word: WordAddr, cycle: u64, kind: RequestKind, waiter: Waiter) -> Option<usize> {
        let vacancy = self.l2_mshrs.vacancy(cycle)?;
        let line = word.line();
        let register = self.l2_mshrs.take_for(vacancy, line.0);
        self.outstanding[register] = Outstanding::NOT_WANTED;
        let second = self.l2_lines.covered(word);
        self.outstanding[register].want_second(second, false, &mut self.l2_counters.prefetches);
        self.waiters.push(&mut self.outstanding[register].waiters, (waiter, cycle, waiter.wants(word, self.l1i_lines)));
        match kind {
            RequestKind::Upgrade => self.upgrades += 1,
            _ => self.l2_counters.misses += 1,
        }
        let sent = self.outgoing.send(word, vacancy.start, kind);
        if matches!(kind, RequestKind::Read | RequestKind::ReadForOwnership) {
            self.outstanding[register].sent_for_data = Some(sent);
        }
        Some(register)
    }
}
