//! Flushes and fences: how a program has its lines become durable at the memory controller, epoch by epoch.
//!
//! A *flush* (CLWB) sends to memory what is dirty of a line, which the caches keep. It leaves the core when its instruction has
//! retired and every store before it is written, in the order of the program, and is answered when memory has the line. A
//! *persist fence* (SFENCE) is done when all flushes before it are answered: so it holds retirement, and with that every store
//! behind it, since stores are written after they retire. Loads behind it go on, as far as the window has room.

use crate::node::config::NodeConfig;
use crate::node::counters::EpochCounters;
use crate::node::interface::{Orders, Request, RequestKind};
use crate::node::lines::WordAddr;
use crate::node::pipeline::{Core, Role};
use std::collections::VecDeque;
use units::LineAddr;

/// A flush between its dispatch and its answer.
#[derive(Clone, Copy, Debug)]
struct Flush {
    line: LineAddr,
    /// The instruction that flushes.
    owner: u64,
    /// Stores that are written before it leaves.
    stores: u64,
    answered: bool,
}

/// A fence that waits for flushes.
#[derive(Clone, Copy, Debug)]
struct Fence {
    /// The instruction that fences.
    owner: u64,
    /// All flushes before this one are before it.
    flushes: u64,
}

/// The flushes and fences of one core that are under way.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Epochs {
    /// From the oldest that is not answered on.
    flushes: VecDeque<Flush>,
    /// The number of the oldest of them.
    first: u64,
    /// How many have left the core.
    sent: u64,
    fences: VecDeque<Fence>,
    /// When the latest answer came.
    latest_answer: u64,
    counters: EpochCounters,
}

impl Epochs {
    pub(in crate::node) fn new(config: &NodeConfig) -> Option<Box<Epochs>> {
        config.flushes.then(Box::default)
    }

    /// What they have counted.
    pub(in crate::node) fn counters(&self) -> EpochCounters {
        self.counters
    }

    /// Flushes that are not answered.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.flushes.iter().filter(|flush| !flush.answered).count()
    }

    /// Takes up the fence and the flushes of instruction `owner`, which has so many stores before it; whether it waits for
    /// flushes.
    fn enter(&mut self, owner: u64, orders: &Orders, stores: u64) -> bool {
        let waits = orders.fence && !self.flushes.is_empty();
        if waits {
            self.fences.push_back(Fence { owner, flushes: self.first + self.flushes.len() as u64 });
        }
        self.counters.fences += u64::from(orders.fence);
        self.counters.fences_held += u64::from(waits);
        self.counters.flushes += orders.flushes.len() as u64;
        let flush = |line: &LineAddr| Flush { line: *line, owner, stores, answered: false };
        self.flushes.extend(orders.flushes.iter().map(flush));
        waits
    }

    /// The next flush to leave, if its instruction is among those that have retired.
    fn next(&self, retired: u64) -> Option<Flush> {
        self.flushes.get((self.sent - self.first) as usize).copied().filter(|flush| flush.owner < retired)
    }

    /// The oldest flush of a line is answered at `cycle`.
    fn answered(&mut self, line: LineAddr, cycle: u64) {
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

    /// The oldest fence whose flushes are all answered, and when the last of them was.
    fn next_fence(&mut self) -> Option<(u64, u64)> {
        let owner = self.fences.front().filter(|fence| fence.flushes <= self.first)?.owner;
        self.fences.pop_front();
        Some((owner, self.latest_answer))
    }
}

impl Core {
    /// Takes up how instruction `number` orders what becomes durable; whether it waits for that. Out of line: most programs
    /// never do.
    #[cold]
    pub(in crate::node) fn take_orders(&mut self, number: u64, orders: &Orders) -> bool {
        let stores = self.stores.queue.entered();
        self.epochs.as_mut().is_some_and(|epochs| epochs.enter(number, orders, stores))
    }

    /// Sends the flushes that can leave.
    pub(in crate::node) fn send_flushes(&mut self, out: &mut Vec<Request>) {
        let Some(epochs) = &mut self.epochs else { return };
        while let Some(flush) = epochs.next(self.window.left()) {
            let Some(written) = self.stores.written_at(flush.stores) else { return };
            epochs.sent += 1;
            let cycle = self.window.departure(flush.owner).max(written);
            self.caches.send(WordAddr::of(flush.line, 0), cycle, RequestKind::Flush, out);
        }
    }

    /// A flush is answered at `cycle`: memory has the line.
    pub(in crate::node) fn flushed(&mut self, line: LineAddr, cycle: u64, out: &mut Vec<Request>) {
        self.caches.answered(cycle);
        if let Some(epochs) = &mut self.epochs {
            epochs.answered(line, cycle);
        }
        while let Some((owner, cycle)) = self.epochs.as_mut().and_then(|epochs| epochs.next_fence()) {
            self.tell(owner, Role::Operand, cycle, out);
        }
        self.cascade(out);
        self.retire(out);
    }
}
