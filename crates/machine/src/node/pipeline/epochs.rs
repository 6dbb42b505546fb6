//! Flushes and fences: a program makes its lines durable at the memory controller, epoch by epoch.
//!
//! A *flush* (CLWB) writes the dirty bytes of a line to memory; the caches keep the line. It leaves the core in program
//! order, when its instruction has retired and every earlier store is written. The flush is answered when memory has
//! the line. A *persist fence* (SFENCE) completes when all earlier flushes are answered. So the fence blocks
//! retirement, and thereby every later store, since stores are written after they retire. Later loads continue while
//! the window has room.

use crate::node::caches::Caches;
use crate::node::config::NodeConfig;
use crate::node::counts::FenceCounts;
use crate::node::interface::{Orders, RequestKind, UNKNOWN};
use crate::node::lines::WordAddr;
use crate::node::pipeline::combining::Combining;
use crate::node::pipeline::plan::IssuePlan;
use crate::node::pipeline::stores::StoreQueue;
use std::collections::VecDeque;
use units::LineAddr;

/// A flush between its dispatch and its answer.
#[derive(Clone, Copy, Debug)]
struct Flush {
    line: LineAddr,
    /// True if the caches evict the line.
    evicts: bool,
    /// Number of the instruction that flushes.
    owner: u64,
    /// Number of stores that must be written before the flush leaves the core.
    stores: u64,
    /// Cycle at which the flushing instruction retired, or [`UNKNOWN`].
    retired: u64,
    answered: bool,
}

/// A fence that waits for flushes.
#[derive(Clone, Copy, Debug)]
struct Fence {
    /// Number of the instruction that fences.
    owner: u64,
    /// Cycle at which the fence entered the window.
    entered: u64,
    /// Number of flushes that are older than the fence.
    flushes: u64,
}

/// Outstanding flushes and fences of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct Epochs {
    /// Number of the instruction that has the next flush to retire, or [`UNKNOWN`] if the window contains no flushing
    /// instruction.
    next_flush: u64,
    /// True if flushes of retired instructions have not left the core.
    flushes_wait: bool,
    /// True if flushes and fences take effect.
    take_effect: bool,
    /// Flushes from the oldest unanswered one on.
    flushes: VecDeque<Flush>,
    /// Number of the oldest of these flushes.
    first: u64,
    /// Number of flushes with a retired instruction (`retired`), and number of flushes that have left the core
    /// (`sent`).
    retired: u64,
    sent: u64,
    fences: VecDeque<Fence>,
    /// Cycle of the latest answer, which may be in the future.
    latest_answer: u64,
    counts: FenceCounts,
}

impl Epochs {
    pub(in crate::node) fn new(config: &NodeConfig) -> Epochs {
        Epochs {
            next_flush: UNKNOWN,
            flushes_wait: false,
            take_effect: config.flushes,
            flushes: VecDeque::new(),
            first: 0,
            retired: 0,
            sent: 0,
            fences: VecDeque::new(),
            latest_answer: 0,
            counts: FenceCounts::default(),
        }
    }

    /// Returns the statistics of flushes and fences, if these take effect.
    pub(in crate::node) fn counts(&self) -> Option<FenceCounts> {
        self.take_effect.then_some(self.counts)
    }

    /// Returns true if instruction `number` is the next one to retire that flushes lines.
    #[inline]
    pub(in crate::node) fn is_next(&self, number: u64) -> bool {
        number == self.next_flush
    }

    /// Returns true if flushes of retired instructions have not left the core.
    #[inline]
    pub(in crate::node) fn flushes_wait(&self) -> bool {
        self.flushes_wait
    }

    /// Returns the number of unanswered flushes.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.flushes.iter().filter(|flush| !flush.answered).count()
    }

    /// Returns the number of the next instruction to retire that flushes lines, or [`UNKNOWN`] if the window contains
    /// no flushing instruction.
    fn next_to_retire(&self) -> u64 {
        self.flushes.get((self.retired - self.first) as usize).map_or(UNKNOWN, |flush| flush.owner)
    }

    /// Enters the fence and the flushes of instruction `owner`, which enters at `cycle` after `stores` stores. The
    /// outstanding answers that a fence waits for are an operand in its issue plan.
    pub(in crate::node) fn enter(
        &mut self,
        owner: u64,
        cycle: u64,
        orders: &Orders,
        stores: u64,
        plan: &mut IssuePlan,
    ) {
        if !self.take_effect {
            return;
        }
        let waits = orders.fence && !self.flushes.is_empty();
        if waits {
            let flushes = self.first + self.flushes.len() as u64;
            self.fences.push_back(Fence { owner, entered: cycle, flushes });
        }
        self.counts.fences += u64::from(orders.fence);
        self.counts.fences_held += u64::from(orders.fence && !waits && self.latest_answer > cycle);
        self.counts.flushes += orders.flushes.len() as u64;
        let evicts = orders.evicts;
        let flush = |line: &LineAddr| Flush { line: *line, evicts, owner, stores, retired: UNKNOWN, answered: false };
        self.flushes.extend(orders.flushes.iter().map(flush));
        plan.operands_missing += u32::from(waits);
        if orders.fence {
            plan.operands = plan.operands.max(self.latest_answer);
        }
        self.next_flush = self.next_to_retire();
    }

    /// Records that the next instruction that flushes has retired at `cycle`.
    #[cold]
    pub(in crate::node) fn retire(&mut self, cycle: u64) {
        let owner = self.next_to_retire();
        while self.next_to_retire() == owner {
            self.flushes[(self.retired - self.first) as usize].retired = cycle;
            self.retired += 1;
        }
        (self.next_flush, self.flushes_wait) = (self.next_to_retire(), true);
    }

    /// Sends the flushes that can leave. A write buffer releases a store when its line is requested, so a flush of that
    /// line waits until the line has arrived. A flush of a line that was stored to past the caches also waits if
    /// missing bytes must be read.
    #[cold]
    pub(in crate::node) fn send(&mut self, stores: &StoreQueue, combining: &mut Combining, caches: &mut Caches) {
        while let Some(flush) = self.next() {
            let Some(written) = stores.written_at(flush.stores) else { return };
            let line = flush.line;
            combining.close_line(line, written, caches);
            if stores.is_buffered() && caches.outstanding.find(line).is_some() || combining.merges(line) {
                return;
            }
            self.sent += 1;
            let kind = if flush.evicts { RequestKind::FlushAndEvict } else { RequestKind::Flush };
            caches.outgoing.send(WordAddr::of(line, 0), flush.retired.max(written), kind);
        }
        self.flushes_wait = false;
    }

    /// Returns the next flush to leave, if its instruction has retired.
    fn next(&self) -> Option<Flush> {
        self.flushes.get((self.sent - self.first) as usize).copied().filter(|flush| flush.retired != UNKNOWN)
    }

    /// Records the answer for the oldest flush of a line at `cycle`.
    ///
    /// # Panics
    /// If no flush of the line is unanswered.
    pub(in crate::node) fn answered(&mut self, line: LineAddr, cycle: u64) {
        if !self.take_effect {
            return;
        }
        let sent = (self.sent - self.first) as usize;
        let waits = |flush: &&mut Flush| flush.line == line && !flush.answered;
        let Some(flush) = self.flushes.iter_mut().take(sent).find(waits) else {
            panic!("line {line} was durable but not flushed");
        };
        flush.answered = true;
        self.latest_answer = self.latest_answer.max(cycle);
        while self.flushes.front().is_some_and(|flush| flush.answered) {
            self.flushes.pop_front();
            self.first += 1;
        }
    }

    /// Removes the oldest fence if all its flushes are answered. Returns its instruction and the cycle of the last
    /// answer.
    pub(in crate::node) fn next_fence(&mut self) -> Option<(u64, u64)> {
        let Fence { owner, entered, .. } = *self.fences.front().filter(|fence| fence.flushes <= self.first)?;
        self.fences.pop_front();
        self.counts.fences_held += u64::from(self.latest_answer > entered);
        Some((owner, self.latest_answer))
    }
}
