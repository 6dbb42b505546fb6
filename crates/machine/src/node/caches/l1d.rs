//! The first-level data cache: tags, look-ups, miss registers, fills and statistics.

use crate::cache::{Eviction, MesiState, TagArray};
use crate::node::caches::access::Waiter;
use crate::node::caches::l1d_lookups::L1dLookUps;
use crate::node::caches::mshr::{Mshrs, Vacancy};
use crate::node::caches::outstanding::FillReason;
use crate::node::caches::prefetch::Unused;
use crate::node::caches::timed::TimedTags;
use crate::node::config::NodeConfig;
use crate::node::counts::CacheCounts;
use crate::node::lines::{LineSize, WordAddr};

/// The first-level data cache of a core.
#[derive(Clone, Debug)]
pub(in crate::node) struct L1d {
    tags: TimedTags,
    lines: LineSize,
    latency: u64,
    /// Cycles from the start of an access to its data, if L2 answers.
    latency_with_l2: u64,
    /// True if accesses that wait for a miss register block later accesses.
    in_order: bool,
    /// Prefetched lines that no access has used.
    unused: Unused,
    pub(in crate::node) counts: CacheCounts,
    /// Limits on the look-ups of this cache and of the data TLB.
    pub(in crate::node) lookups: L1dLookUps,
    pub(super) mshrs: Mshrs,
}

impl L1d {
    pub(super) fn new(config: &NodeConfig) -> L1d {
        L1d {
            tags: TimedTags::new(config.l1d.sets(), config.l1d.ways, config.l1d.replacement),
            lines: LineSize::new(config.l1d.line, config.memory_line),
            latency: config.l1d.latency_cycles,
            latency_with_l2: config.l1d.latency_cycles + config.l2.latency_cycles,
            in_order: config.l1d_in_order,
            unused: Unused::new(config.l1d.lines(), config.l1d.prefetcher),
            counts: CacheCounts::default(),
            lookups: L1dLookUps::new(config),
            mshrs: Mshrs::new(config.l1d.mshrs, config.l2.latency_cycles.max(1)),
        }
    }

    /// Returns the size of a line of this cache.
    #[inline]
    pub(in crate::node) fn lines(&self) -> LineSize {
        self.lines
    }

    /// Returns the cycles from the start of a read to its data on a hit.
    #[inline]
    pub(super) fn latency(&self) -> u64 {
        self.latency
    }

    /// Returns true if accesses that wait for a miss register block later accesses.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Returns true if the cache holds `word`, or awaits it from L2.
    #[inline]
    pub(in crate::node) fn holds(&self, word: WordAddr) -> bool {
        self.tags.tags.probe(self.lines.key(word)).is_some()
    }

    /// Looks up `word` for `waiter` at `cycle`. Returns the cycle at which the access is complete, or `None` if the
    /// cache lacks the line or the permission to write it.
    #[inline]
    pub(super) fn look_up(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Option<u64> {
        let slot = self.tags.tags.lookup(self.lines.key(word))?;
        // A write that hits is complete one cycle after its start, whatever the latency of a read.
        let mut looked_up = cycle + self.latency;
        if waiter.writes() {
            if self.tags.tags.state(slot) == MesiState::Shared {
                return None;
            }
            self.tags.tags.mark_dirty(slot);
            looked_up = cycle + 1;
        }
        let ready = self.tags.ready(slot, looked_up, cycle + self.latency_with_l2);
        let found = ready <= cycle + self.latency;
        *(if found { &mut self.counts.hits } else { &mut self.counts.merged }) += waiter.counted();
        if self.unused.take(slot) {
            self.counts.prefetches.count_use(ready > looked_up);
        }
        Some(ready)
    }

    /// Looks up `word` without simulated time. Returns false if the cache lacks the line.
    #[inline]
    pub(super) fn warm(&mut self, word: WordAddr, store: bool) -> bool {
        let Some(slot) = self.tags.tags.lookup(self.lines.key(word)) else { return false };
        if store {
            self.tags.tags.mark_dirty(slot);
        }
        self.unused.take(slot);
        true
    }

    /// Returns the cycles that an access looks up the cache before it waits for a miss register. In order, an access
    /// waits after its look-up has ended. Otherwise its look-up starts when a register is free.
    #[inline]
    pub(super) fn looked_up_first(&self) -> u64 {
        if self.in_order { self.latency } else { 0 }
    }

    /// Returns the first free miss register for an access that arrives at `cycle`, and the cycle at which the access
    /// enters the cache. In order, the access keeps its entry until the register is free.
    pub(super) fn admit_miss(&mut self, cycle: u64) -> Option<(Vacancy, u64)> {
        let first = self.looked_up_first();
        let vacancy = self.mshrs.vacancy(cycle + first)?;
        let start = vacancy.start - first;
        if start > cycle && self.in_order {
            self.lookups.hold(cycle, start);
        }
        Some((vacancy, start.max(cycle)))
    }

    /// Enters the line of `word` with the permission `granted`, in a state for `purpose`. Returns the first word of the
    /// line if the cache evicts a dirty line for it.
    pub(super) fn fill(
        &mut self,
        word: WordAddr,
        arrival: u64,
        purpose: FillReason,
        granted: MesiState,
        has_shared: bool,
    ) -> Option<WordAddr> {
        let key = self.lines.key(word);
        let state = match purpose {
            FillReason::Write if granted > MesiState::Shared => MesiState::Modified,
            _ => granted.min(MesiState::Exclusive),
        };
        if has_shared && let Some(slot) = self.tags.tags.lookup(key) {
            self.tags.tags.raise(slot, state);
            return None;
        }
        let (slot, evicted) = self.tags.fill(key, arrival, state);
        self.counts.prefetches.useless += u64::from(self.unused.take(slot));
        if purpose == FillReason::Prefetch {
            self.unused.note(slot);
        }
        let Some(Eviction { key, dirty: true }) = evicted else { return None };
        self.counts.writebacks += 1;
        Some(self.lines.first(key))
    }

    /// Returns the tags and the size of their lines.
    pub(super) fn tags(&self) -> (&TagArray, LineSize) {
        (&self.tags.tags, self.lines)
    }

    /// Returns the tags, for changes of the states of lines, and the size of their lines.
    pub(super) fn tags_mut(&mut self) -> (&mut TagArray, LineSize) {
        (&mut self.tags.tags, self.lines)
    }
}
