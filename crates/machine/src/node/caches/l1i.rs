//! The first-level instruction cache: tags, look-ups, fills and statistics.

use crate::cache::{MesiState, TagArray};
use crate::node::caches::timed::TimedTags;
use crate::node::config::NodeConfig;
use crate::node::counts::CacheCounts;
use crate::node::lines::{LineSize, WordAddr};
use units::{LineAddr, Words};

/// The first-level instruction cache of a core.
#[derive(Clone, Debug)]
pub struct L1i {
    tags: TimedTags,
    lines: LineSize,
    latency: u64,
    pub(in crate::node) counts: CacheCounts,
}

impl L1i {
    pub(super) fn new(config: &NodeConfig) -> L1i {
        L1i {
            tags: TimedTags::new(config.l1i.sets(), config.l1i.ways, config.l1i.replacement),
            lines: LineSize::new(config.l1i.line, config.memory_line),
            latency: config.l1i.latency_cycles,
            counts: CacheCounts::default(),
        }
    }

    /// Returns the size of a line of this cache.
    #[inline]
    pub(in crate::node) fn lines(&self) -> LineSize {
        self.lines
    }

    /// Returns the bytes of memory that a line of this cache stores.
    pub fn line_bytes(&self) -> u64 {
        self.lines.stored_bytes()
    }

    /// Returns the cycle at which an access that misses at `cycle` reaches L2.
    #[inline]
    pub(super) fn missed_at(&self, cycle: u64) -> u64 {
        cycle + self.latency
    }

    /// Looks up code; returns the cycle of the code on a hit. A fetch that L2 answers takes `l2_latency` cycles more.
    #[inline]
    pub(super) fn look_up(&mut self, word: WordAddr, cycle: u64, l2_latency: u64) -> Option<u64> {
        let slot = self.tags.tags.lookup(self.lines.key(word))?;
        self.counts.hits += 1;
        Some(self.tags.ready(slot, cycle, cycle + self.latency + l2_latency))
    }

    /// Looks up code without simulated time; returns true if the cache holds it.
    #[inline]
    pub(super) fn warm(&mut self, word: WordAddr) -> bool {
        self.tags.tags.lookup(self.lines.key(word)).is_some()
    }

    /// Enters the line of `word`, which arrives at `arrival`.
    pub(super) fn fill(&mut self, word: WordAddr, arrival: u64) {
        self.tags.fill(self.lines.key(word), arrival, MesiState::Shared);
    }

    /// Enters those parts of a memory line that contain any of `words`.
    pub(super) fn fill_words(&mut self, line: LineAddr, words: Words, arrival: u64) {
        self.lines.some_of(line, words).for_each(|word| self.fill(word, arrival));
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
