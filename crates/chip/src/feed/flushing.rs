//! Which of a program's own flushes are simulated.
//!
//! Instructions that write a line back (`CLWB`) or store past the caches (`MOVNTDQ`) are simulated where words of the program
//! say which line goes to memory, and when: older recordings have none, nor have those of a QEMU that does not say what is in
//! registers. What is executed without such a word is counted, since a run that persists nothing must not pass for one that
//! does. A store past the caches flushes its line when the thread goes on to another, or at a fence: until then it is open.

use super::FeedCounters;
use isa::Persist;
use machine::node::Touch;
use rustc_hash::FxHashMap;
use units::LineAddr;
use workload::stream::{Step, Strand};

/// The stores past the caches of each strand that are open, all to one line.
#[derive(Default)]
pub(super) struct Flushing {
    open: FxHashMap<Strand, (LineAddr, u64)>,
    /// Whether the words of the program say when such lines are flushed.
    is_told: bool,
}

impl Flushing {
    /// A word says that a line is flushed.
    pub(super) fn told(&mut self, strand: Strand, line: LineAddr) {
        if self.open.get(&strand).is_some_and(|(open, _)| *open == line) {
            self.open.remove(&strand);
            self.is_told = true;
        }
    }

    /// An instruction flushes; `told` is whether a word says of which line.
    #[cold]
    pub(super) fn executed(&mut self, step: &Step<'_>, touches: &[Touch], told: bool, counters: &mut FeedCounters) {
        counters.flushes += 1;
        if step.instruction.persist != Persist::Store {
            counters.flushes_not_simulated += u64::from(!told);
            return;
        }
        for Touch { line, .. } in touches.iter().filter(|touch| touch.store) {
            let (open, stores) = self.open.entry(step.strand).or_insert((*line, 0));
            if open != line {
                // The strand has gone on to another line, and no word has said that the last one was flushed.
                counters.flushes_not_simulated += *stores;
                (*open, *stores) = (*line, 0);
            }
        }
        if let Some((_, stores)) = self.open.get_mut(&step.strand) {
            *stores += 1;
        }
    }

    /// With the stores that are open, if no word says when those are flushed.
    pub(super) fn with_open(&self, counters: FeedCounters) -> FeedCounters {
        let open = if self.is_told { 0 } else { self.open.values().map(|(_, stores)| stores).sum() };
        FeedCounters { flushes_not_simulated: counters.flushes_not_simulated + open, ..counters }
    }
}
