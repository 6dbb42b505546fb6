//! Selects the flushes of a program that are simulated.
//!
//! Instructions may write a line back (`CLWB`) or store past the caches (`MOVNTDQ`). The feed simulates these
//! instructions if words of the recording contain the line and the time of its write to memory. Older recordings lack
//! these words, as do recordings by a QEMU that does not expose registers. The feed counts flushes without a word, so
//! that a report shows if a run ignored flushes. A store past the caches flushes its line when the thread continues
//! with another line, or at a fence. Until then the store is *open*.

use super::FeedCounts;
use isa::PersistEffect;
use machine::node::Touch;
use rustc_hash::FxHashMap;
use units::LineAddr;
use workload::stream::{Step, Strand};

/// Open stores past the caches of each strand, all to one line.
#[derive(Default)]
pub(super) struct Flushing {
    open: FxHashMap<Strand, (LineAddr, u64)>,
    /// True if the words of the program contain the flushes of these lines.
    flushes_are_recorded: bool,
}

impl Flushing {
    /// Notes a word that flushes a line.
    pub(super) fn recorded(&mut self, strand: Strand, line: LineAddr) {
        if self.open.get(&strand).is_some_and(|(open, _)| *open == line) {
            self.open.remove(&strand);
            self.flushes_are_recorded = true;
        }
    }

    /// Notes an instruction that flushes; `recorded` if a word contains its line.
    #[cold]
    pub(super) fn executed(&mut self, step: &Step<'_>, touches: &[Touch], recorded: bool, counts: &mut FeedCounts) {
        counts.flushes += 1;
        if step.instruction.persist != PersistEffect::Store {
            counts.flushes_not_simulated += u64::from(!recorded);
            return;
        }
        for Touch { line, .. } in touches.iter().filter(|touch| touch.store) {
            let (open, stores) = self.open.entry(step.strand).or_insert((*line, 0));
            if open != line {
                // The strand has continued with another line, and no word has flushed the previous line.
                counts.flushes_not_simulated += *stores;
                (*open, *stores) = (*line, 0);
            }
        }
        if let Some((_, stores)) = self.open.get_mut(&step.strand) {
            *stores += 1;
        }
    }

    /// Adds the open stores to the ignored flushes in the statistics, if no word contains their flushes.
    pub(super) fn with_open(&self, counts: FeedCounts) -> FeedCounts {
        let open = if self.flushes_are_recorded { 0 } else { self.open.values().map(|(_, stores)| stores).sum() };
        FeedCounts { flushes_not_simulated: counts.flushes_not_simulated + open, ..counts }
    }
}
