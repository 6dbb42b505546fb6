//! Last-level cache of the chip: its tags, the miss predictors of the L2s, and its statistics.
//!
//! The cache holds tags only; the shadow has the content of the lines.

use super::counts::LlcCounts;
use catalogue::{LlcConfig, Machine};
use machine::llc::{Displaced, Inclusion, Llc, LockedLines};
use machine::miss_prediction::MissPredictor;
use std::cell::{Cell, RefCell};
use units::LineAddr;

/// Last-level cache of a chip.
pub struct LastLevelCache {
    tags: RefCell<Llc>,
    /// Miss predictors for this cache, one per L2, if the machine has them.
    predictors: Option<RefCell<Vec<MissPredictor>>>,
    /// Number of data lines; addresses from this number on are metadata.
    data_lines: u64,
    counts: Cell<LlcCounts>,
}

impl LastLevelCache {
    /// Creates the empty cache of a machine.
    pub(super) fn new(machine: &Machine) -> LastLevelCache {
        let LlcConfig { ways, replacement, inclusion, writeback_is_use, .. } = machine.llc;
        let sets = machine.llc.sets(machine.line_length());
        let predictors = || RefCell::new(vec![MissPredictor::default(); machine.cores]);
        LastLevelCache {
            tags: RefCell::new(Llc::new(sets, ways, replacement, inclusion).using_writebacks(writeback_is_use)),
            predictors: machine.llc.miss_prediction.map(|_| predictors()),
            data_lines: machine.data_lines().count,
            counts: Cell::default(),
        }
    }

    /// Statistics of the cache.
    pub fn counts(&self) -> LlcCounts {
        self.counts.get()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut LlcCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// True if a line of the cache is metadata.
    pub(super) fn is_metadata(&self, line: LineAddr) -> bool {
        line.0 >= self.data_lines
    }

    /// True if the cache evicts each line that it evicts from all private caches too.
    pub(crate) fn is_inclusive(&self) -> bool {
        self.tags.borrow().inclusion() == Inclusion::Inclusive
    }

    /// True if the cache has a line.
    pub(crate) fn holds(&self, line: LineAddr) -> bool {
        self.tags.borrow().holds(line)
    }

    /// True if the cache has a line encrypted and unverified.
    pub(crate) fn is_unverified(&self, line: LineAddr) -> bool {
        self.tags.borrow().is_unverified(line)
    }

    /// Looks a line up and uses it if the cache has the line.
    pub(crate) fn look_up(&self, line: LineAddr) -> bool {
        self.tags.borrow_mut().look_up(line)
    }

    /// Passes a fill through the cache, and returns the displaced line.
    pub(super) fn fetched(&self, line: LineAddr) -> Option<Displaced> {
        self.tags.borrow_mut().fetched(line)
    }

    /// Passes a fill through the cache that an L2 will decrypt and verify, and returns the displaced line.
    pub(crate) fn fetched_unverified(&self, line: LineAddr) -> Option<Displaced> {
        self.tags.borrow_mut().fetched_unverified(line)
    }

    /// Enters a line that an L2 evicted, and returns the displaced line.
    pub(super) fn taken_back(&self, line: LineAddr, dirty: bool) -> Option<Displaced> {
        if !dirty && self.is_unverified(line) {
            self.count(|counts| counts.clean_writebacks += 1);
        }
        self.tags.borrow_mut().taken_back(line, dirty)
    }

    /// Removes a line. Returns true if it was dirty.
    pub(crate) fn invalidate(&self, line: LineAddr) -> bool {
        self.tags.borrow_mut().invalidate(line)
    }

    /// Marks a line as clean. Returns true if it was dirty.
    pub(super) fn clean(&self, line: LineAddr) -> bool {
        self.tags.borrow_mut().clean(line)
    }

    /// Dirty lines of the cache, in no particular order.
    pub(crate) fn dirty_lines(&self) -> Vec<LineAddr> {
        self.tags.borrow().dirty_lines().collect()
    }

    /// Lines of the cache that meet a condition.
    pub(crate) fn lines(&self, is_one: impl Fn(LineAddr) -> bool) -> Vec<LineAddr> {
        self.tags.borrow().lines().filter(|line| is_one(*line)).collect()
    }

    /// Locks lines from now on until the permutation of their page chunk, which has this number of lines.
    pub(crate) fn lock(&self, lines_per_chunk: u64) {
        self.tags.replace_with(|tags| tags.clone().locking(lines_per_chunk));
    }

    /// True if the cache locks lines until the permutation of their page chunk, so that lines are written to memory
    /// only with their page chunk.
    pub fn locks_lines(&self) -> bool {
        self.tags.borrow().locks_lines()
    }

    /// Calls `access` on the locks of a cache that locks lines. `access` must not call another part of the chip.
    pub(crate) fn with_locks<R>(&self, access: impl FnOnce(&mut LockedLines<'_>) -> R) -> R {
        access(&mut self.tags.borrow_mut().locked_lines())
    }

    /// Prefetches the table entries of a line into the host's caches.
    pub(crate) fn prefetch_host(&self, line: LineAddr) {
        self.tags.borrow().prefetch_host(line);
    }

    /// True if L2s predict misses of the cache.
    pub fn predicts(&self) -> bool {
        self.predictors.is_some()
    }

    /// True if the L2 of a core predicts that its requested line is in memory.
    pub(crate) fn expects_memory(&self, core: usize) -> bool {
        let Some(predictors) = &self.predictors else { return false };
        let predicted = predictors.borrow()[core].expects_memory();
        self.count(|counts| counts.predicted += u64::from(predicted));
        predicted
    }

    /// Trains the predictor of a core's L2 with the component that served its request.
    pub(crate) fn learn(&self, core: usize, memory: bool, predicted: bool) {
        self.count(|counts| counts.predicted_wrongly += u64::from(predicted && !memory));
        if let Some(predictors) = &self.predictors {
            predictors.borrow_mut()[core].learn(memory);
        }
    }
}
