//! The second-level cache: tags, look-ups, fills, evictions and statistics.
//!
//! Its miss registers are a part of their own, with the lines that the first-level caches await through them:
//! [`OutstandingLines`](super::outstanding::OutstandingLines).

use crate::cache::{Eviction, MesiState, TagArray};
use crate::lookups;
use crate::node::caches::clean_victims::CleanVictims;
use crate::node::caches::metadata::MetadataLines;
use crate::node::caches::outgoing::Outgoing;
use crate::node::caches::outstanding::FillReason;
use crate::node::caches::prefetch::Unused;
use crate::node::config::NodeConfig;
use crate::node::counts::CacheCounts;
use crate::node::interface::RequestKind;
use crate::node::lines::{LineSize, WordAddr};
use units::LineAddr;

/// The second-level cache of a core.
#[derive(Clone, Debug)]
pub struct L2 {
    tags: TagArray,
    lines: LineSize,
    latency: u64,
    lookups: Option<lookups::LookUps>,
    /// True if a write-back to a line that the cache holds counts as a use of the line.
    writeback_is_use: bool,
    /// Prefetched lines that no access has used.
    unused: Unused,
    pub(in crate::node) counts: CacheCounts,
    /// Clean lines that the cache sends to the next level.
    pub clean_victims: CleanVictims,
    /// Numbers of the metadata lines that the cache may hold.
    pub metadata: MetadataLines,
}

impl L2 {
    pub(super) fn new(config: &NodeConfig) -> L2 {
        L2 {
            tags: TagArray::with_replacement(config.l2.sets(), config.l2.ways, config.l2.replacement),
            lines: LineSize::new(config.l2.line, config.memory_line),
            latency: config.l2.latency_cycles,
            lookups: config.l2_lookups.map(lookups::LookUps::new),
            writeback_is_use: config.l2.writeback_is_use.unwrap_or(true),
            unused: Unused::new(config.l2.lines(), config.l2.prefetcher),
            counts: CacheCounts::default(),
            clean_victims: CleanVictims::default(),
            metadata: MetadataLines::new(),
        }
    }

    /// Returns the size of a line of this cache.
    #[inline]
    pub(super) fn lines(&self) -> LineSize {
        self.lines
    }

    /// Returns the cycles of a look-up.
    #[inline]
    pub(super) fn latency(&self) -> u64 {
        self.latency
    }

    /// Returns true if the cache holds `word`. Does not update replacement state.
    #[inline]
    pub(super) fn holds(&self, word: WordAddr) -> bool {
        self.tags.probe(self.lines.key(word)).is_some()
    }

    /// Returns the cycle at which the look-up of an access that arrives at `cycle` ends.
    #[inline]
    pub(super) fn look_up_from(&mut self, cycle: u64) -> u64 {
        self.lookups.as_mut().map_or(cycle, |lookups| lookups.enter(cycle)) + self.latency
    }

    /// Looks up `word` for a first-level cache. Returns the state of the line on a hit.
    pub(super) fn hit(&mut self, word: WordAddr) -> Option<MesiState> {
        let slot = self.tags.lookup(self.lines.key(word))?;
        if self.unused.take(slot) {
            self.counts.prefetches.count_use(false);
        }
        Some(self.tags.state(slot))
    }

    /// Enters the line of `word`, and sends the evicted line if the next level must have it.
    pub(super) fn fill(
        &mut self,
        word: WordAddr,
        purpose: FillReason,
        state: MesiState,
        cycle: u64,
        outgoing: &mut Outgoing,
    ) {
        let key = self.lines.key(word);
        if let Some(slot) = self.tags.lookup(key) {
            self.tags.raise(slot, state);
            return;
        }
        let (slot, evicted) = self.tags.insert_as(key, state);
        self.counts.prefetches.useless += u64::from(self.unused.take(slot));
        if purpose == FillReason::Prefetch {
            self.unused.note(slot);
        }
        let Some(Eviction { key, dirty }) = evicted else { return };
        let first = self.lines.first(key);
        let victim = first.line();
        let is_sent_clean = self.clean_victims.evict(victim);
        if self.metadata.contain(victim) {
            self.metadata.displace(victim);
        } else if dirty {
            self.counts.writebacks += 1;
            outgoing.send(first, cycle, RequestKind::WriteBack);
        } else if is_sent_clean {
            outgoing.send(first, cycle, RequestKind::CleanVictim);
        }
    }

    /// Enters a dirty line that L1D has evicted.
    pub(super) fn write_back(&mut self, word: WordAddr, cycle: u64, outgoing: &mut Outgoing) {
        let held = if self.writeback_is_use { None } else { self.tags.probe(self.lines.key(word)) };
        match held {
            Some(slot) => self.tags.raise(slot, MesiState::Modified),
            None => self.fill(word, FillReason::Write, MesiState::Modified, cycle, outgoing),
        }
    }

    /// Looks up a metadata line, as a use of the line; returns true if the cache holds it.
    pub fn use_metadata(&mut self, line: LineAddr) -> bool {
        self.tags.lookup(self.lines.key(WordAddr::of(line, 0))).is_some()
    }

    /// Drops a metadata line, if the cache holds it.
    pub fn drop_metadata(&mut self, line: LineAddr) {
        self.tags.invalidate(self.lines.key(WordAddr::of(line, 0)));
    }

    /// Returns the tags and the size of their lines.
    pub(super) fn tags(&self) -> (&TagArray, LineSize) {
        (&self.tags, self.lines)
    }

    /// Returns the tags, for changes of the states of lines, and the size of their lines.
    pub(super) fn tags_mut(&mut self) -> (&mut TagArray, LineSize) {
        (&mut self.tags, self.lines)
    }
}
