//! Flushes and fences: how a program has its lines become durable at the memory controller, epoch by epoch.
//!
//! A *flush* (CLWB) sends to memory what is dirty of a line, which the caches keep. It leaves the core when its instruction has
//! retired and every store before it is written, in the order of the program, and is answered when memory has the line. A
//! *persist fence* (SFENCE) is done when all flushes before it are answered: so it holds retirement, and with that every store
//! behind it, since stores are written after they retire. Loads behind it go on, as far as the window has room.

use crate::node::config::NodeConfig;
use crate::node::counters::EpochCounters;
use crate::node::interface::{Orders, Request, RequestKind, Touch, UNKNOWN};
use crate::node::lines::WordAddr;
use crate::node::pipeline::{Core, Plan, Role};
use std::collections::VecDeque;
use units::LineAddr;

/// A flush between its dispatch and its answer.
#[derive(Clone, Copy, Debug)]
struct Flush {
    line: LineAddr,
    /// Whether the caches give the line up.
    evicts: bool,
    /// The instruction that flushes.
    owner: u64,
    /// Stores that are written before it leaves.
    stores: u64,
    /// When its instruction retired, or [`UNKNOWN`].
    retired: u64,
    answered: bool,
}

/// A fence that waits for flushes.
#[derive(Clone, Copy, Debug)]
struct Fence {
    /// The instruction that fences.
    owner: u64,
    /// When it entered the window.
    entered: u64,
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
    /// How many of their instructions have retired, and how many have left the core.
    retired: u64,
    sent: u64,
    fences: VecDeque<Fence>,
    /// When the latest answer comes; the node may know of it before.
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

    /// The instruction whose flushes are the next to retire; none has that number if there are no such.
    fn next_to_retire(&self) -> u64 {
        self.flushes.get((self.retired - self.first) as usize).map_or(UNKNOWN, |flush| flush.owner)
    }

    /// Takes up the fence and the flushes of instruction `owner`, which enters at `cycle` and has so many stores before it;
    /// whether it waits for answers that are not known.
    fn enter(&mut self, (owner, cycle): (u64, u64), orders: &Orders, stores: u64) -> bool {
        let waits = orders.fence && !self.flushes.is_empty();
        if waits {
            let flushes = self.first + self.flushes.len() as u64;
            self.fences.push_back(Fence { owner, entered: cycle, flushes });
        }
        self.counters.fences += u64::from(orders.fence);
        self.counters.fences_held += u64::from(orders.fence && !waits && self.latest_answer > cycle);
        self.counters.flushes += orders.flushes.len() as u64;
        let evicts = orders.evicts;
        let flush = |line: &LineAddr| Flush { line: *line, evicts, owner, stores, retired: UNKNOWN, answered: false };
        self.flushes.extend(orders.flushes.iter().map(flush));
        waits
    }

    /// The next instruction that flushes has retired at `cycle`.
    fn retire(&mut self, cycle: u64) {
        let owner = self.next_to_retire();
        while self.next_to_retire() == owner {
            self.flushes[(self.retired - self.first) as usize].retired = cycle;
            self.retired += 1;
        }
    }

    /// The next flush to leave, if its instruction has retired.
    fn next(&self) -> Option<Flush> {
        self.flushes.get((self.sent - self.first) as usize).copied().filter(|flush| flush.retired != UNKNOWN)
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
        let Fence { owner, entered, .. } = *self.fences.front().filter(|fence| fence.flushes <= self.first)?;
        self.fences.pop_front();
        self.counters.fences_held += u64::from(self.latest_answer > entered);
        Some((owner, self.latest_answer))
    }
}

impl Core {
    /// Schedules instruction `number`, which entered at `cycle`, and takes up how it orders what becomes durable. Out of line, with a
    /// plan of its own: most programs never order anything, and their plans stay in registers.
    #[cold]
    pub(in crate::node) fn schedule_ordered(
        &mut self,
        (number, cycle): (u64, u64),
        orders: &Orders,
        mut plan: Plan,
        touches: &[Touch],
        out: &mut Vec<Request>,
    ) {
        let stores = self.stores.queue.entered();
        if let Some(epochs) = &mut self.epochs {
            plan.operands_missing += u32::from(epochs.enter((number, cycle), orders, stores));
            if orders.fence {
                plan.operands = plan.operands.max(epochs.latest_answer);
            }
            self.next_flush = epochs.next_to_retire();
        }
        self.schedule(number, plan, touches, out);
    }

    /// The instruction that has the next flush has retired at `cycle`.
    #[cold]
    pub(in crate::node) fn retire_flushes(&mut self, cycle: u64) {
        let Some(epochs) = &mut self.epochs else { return };
        epochs.retire(cycle);
        (self.next_flush, self.flushes_wait) = (epochs.next_to_retire(), true);
    }

    /// Sends the flushes that can leave. Behind a write buffer, which lets a store go when its line is asked for, a flush of that
    /// line waits until it has come; so does the flush of a line that was stored to past the caches, and has to be read.
    #[cold]
    pub(in crate::node) fn send_flushes(&mut self, out: &mut Vec<Request>) {
        while let Some(Flush { line, evicts, stores, retired, .. }) =
            self.epochs.as_ref().and_then(|epochs| epochs.next())
        {
            let Some(written) = self.stores.written_at(stores) else { return };
            self.close_line(line, written, out);
            if self.stores.is_buffered() && self.caches.awaits(line) || self.combining.merges(line) {
                return;
            }
            self.epochs.iter_mut().for_each(|epochs| epochs.sent += 1);
            let kind = if evicts { RequestKind::FlushAndEvict } else { RequestKind::Flush };
            self.caches.send(WordAddr::of(line, 0), retired.max(written), kind, out);
        }
        self.flushes_wait = false;
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
