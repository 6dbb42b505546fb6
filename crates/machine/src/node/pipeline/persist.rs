//! Path of stores from L1D into a battery-backed persist buffer, where they survive a loss of power.
//!
//! SecPB (HPCA 2023, section IV-B): a store leaves the store queue when it has entered the buffer. Stores enter in
//! program order, one at a time. The next store is looked up in the buffer when the previous store was accepted and L1D
//! has the next store's line. Depending on the scheme ([`StoreHold`]), each store, or each store that allocates an
//! entry, waits until the protection engine has answered. If the buffer is full, or the entry of the line is being
//! drained, the store waits until a drain has ended. Entries are chosen for draining when a store is accepted, so an
//! entry with a store that waits for its answer is never chosen.
//!
//! The node schedules stores in advance of the simulated clock, while answers of the engine arrive at their time. This
//! order of processing changes no result, for two reasons. The choice of entries to drain depends only on the order of
//! stores. A store that finds no room waits for the end of the next drain, even if this end is earlier than the cycle
//! of the store.
//!
//! A store to a line that need not survive a loss of power bypasses the buffer. It leaves the store queue in program
//! order, as soon as L1D has its line.
//!
//! The owner of the nodes reports accesses of other cores to an entry, as for lines of L1D. A remote read flushes the
//! entry, and a remote write moves the entry into another core's buffer. Both act on the current entries at the time of
//! the request, even if the store that allocated an entry is scheduled for a slightly later cycle.

use crate::node::config::{NodeConfig, StoreHold};
use crate::node::counts::PersistCounts;
use crate::node::interface::PersistRequest;
use crate::node::pipeline::pieces::Pieces;
use crate::persist::{Finds, PersistBuffer};
use std::collections::VecDeque;
use units::{Clock, Cycles, LineAddr, Time};

/// The event that the next store waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StoreWait {
    /// The store must only be in L1D.
    No,
    /// The store was looked up by `reached`, and the buffer is full or the entry of its line is being drained.
    Room { line: LineAddr, reached: u64, finds: Finds },
    /// The store has entered the buffer, and its answer is outstanding.
    Answer { entered: u64 },
}

/// A store that L1D holds.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct StoreInL1d {
    pub(in crate::node) line: LineAddr,
    /// True if the store continues to the buffer.
    pub(in crate::node) persistent: bool,
    /// Cycle at which L1D had the store.
    pub(in crate::node) cycle: u64,
}

/// Path into the persist buffer of one core.
#[derive(Clone, Debug)]
pub struct PersistPath {
    clock: Clock,
    buffer: PersistBuffer,
    latency: u64,
    waits: StoreHold,
    waiting: StoreWait,
    /// Number of the next store to enter the buffer.
    next: u64,
    /// The next store and the later stores; `None` for a store that L1D does not hold yet.
    in_l1d: VecDeque<Option<StoreInL1d>>,
    pub(in crate::node) pieces: Pieces,
    /// Cycle at which the latest store was accepted.
    accepted: u64,
    /// Cycle of the latest answer of any kind.
    latest_answer: u64,
    requests: Vec<PersistRequest>,
    counts: PersistCounts,
}

impl PersistPath {
    pub(in crate::node) fn new(config: &NodeConfig) -> Option<Box<PersistPath>> {
        let persist = config.persist_buffer?;
        Some(Box::new(PersistPath {
            clock: config.clock_mhz.clock(),
            buffer: PersistBuffer::new(persist.buffer),
            latency: persist.latency_cycles,
            waits: persist.waits,
            waiting: StoreWait::No,
            next: 0,
            in_l1d: VecDeque::new(),
            pieces: Pieces::default(),
            accepted: 0,
            latest_answer: 0,
            requests: Vec::new(),
            counts: PersistCounts::default(),
        }))
    }

    /// Returns the entries into the persist buffer and the drain requests since the last call, in order. Times do not
    /// decrease, over all calls, and none is before the latest answer to the node.
    ///
    /// Each touch that stores, as passed by the feed, causes one [`PersistRequest::Persist`], in program order. This holds even
    /// if L1D has lines of 32 bytes and the node has cut the touch. An owner that keeps the bytes of stores in that order takes
    /// the next ones for each. If [`StoreHold::hold`] returns true for the store, no other follows until
    /// [`Node::persisted`](crate::node::Node::persisted). The reply to each [`PersistRequest::Drain`] is
    /// [`Node::drained`](crate::node::Node::drained); many may be outstanding, and no store enters the entry of the line
    /// between its drain and the reply.
    pub fn take_requests(&mut self) -> impl Iterator<Item = PersistRequest> + '_ {
        self.requests.drain(..)
    }

    /// Returns the statistics so far.
    pub fn counts(&self) -> PersistCounts {
        self.counts
    }

    /// Records a store that L1D holds.
    pub(in crate::node) fn record_in_l1d(&mut self, store: u64, record_in_l1d: StoreInL1d) {
        let index = (store - self.next) as usize;
        if index >= self.in_l1d.len() {
            self.in_l1d.resize(index + 1, None);
        }
        self.in_l1d[index] = Some(record_in_l1d);
    }

    /// Looks up the next store, if L1D holds it and the previous one was accepted. Returns its number and the cycle at
    /// which the buffer accepted it, or `None` if that cycle is not known.
    pub(in crate::node) fn go_on(&mut self) -> Option<(u64, u64)> {
        if self.is_waiting() {
            return None;
        }
        let StoreInL1d { line, persistent, cycle } = (*self.in_l1d.front()?)?;
        let from = cycle.max(self.accepted);
        // Only the last piece of a store enters the buffer, as the whole store.
        if self.pieces.is_whole() && persistent {
            self.look_up(line, from + self.latency)
        } else {
            Some(self.accept(from))
        }
    }

    /// Returns true if the oldest store is in L1D and waits for room or for an answer.
    pub(in crate::node) fn is_waiting(&self) -> bool {
        self.waiting != StoreWait::No
    }

    /// Returns true if the buffer has an entry of the line that is not being drained.
    pub fn has_entry(&self, line: LineAddr) -> bool {
        self.buffer.resident().any(|resident| resident == line)
    }

    /// Returns true if the buffer has an entry of the line, even if it is being drained.
    pub fn occupies(&self, line: LineAddr) -> bool {
        self.buffer.occupies(line)
    }

    /// Records an answer at `cycle`: later stores enter at or after it.
    pub(in crate::node) fn answered(&mut self, cycle: u64) {
        self.latest_answer = self.latest_answer.max(cycle);
    }

    /// Records the answer for the latest store at `cycle`. Returns the number of the store and the cycle of its
    /// acceptance.
    pub(in crate::node) fn persisted(&mut self, cycle: u64) -> (u64, u64) {
        let StoreWait::Answer { entered } = self.waiting else { panic!("no store waits for an answer") };
        self.answered(cycle);
        let cycle = cycle.max(entered);
        self.counts.answer_cycles += cycle - entered;
        self.accept(cycle)
    }

    /// Frees the entry of a drained line at `cycle`. Returns two values: true if the store that waited for room
    /// continues, and the result of [`PersistPath::go_on`].
    pub(in crate::node) fn drained(&mut self, line: LineAddr, cycle: u64) -> (bool, Option<(u64, u64)>) {
        self.buffer.left(line);
        self.has_room(cycle)
    }

    /// Moves an entry to another core's buffer at `cycle`, unless it is being drained. Returns the same values as
    /// [`PersistPath::drained`].
    pub(in crate::node) fn give_up(&mut self, line: LineAddr, cycle: u64) -> (bool, Option<(u64, u64)>) {
        if !self.buffer.give_up(line) {
            return (false, None);
        }
        self.counts.given_up += 1;
        self.has_room(cycle)
    }

    /// Drains the entry of a line, which another core reads at `at`, unless it is being drained already or does not
    /// exist. The drain takes effect after the store that is just entering, since requests are in order.
    pub fn flush(&mut self, line: LineAddr, at: Time) {
        if self.buffer.flush(line) {
            self.answered(self.clock.cycle_at_or_after(at).0);
            self.counts.flushed += 1;
            let entered = if let StoreWait::Answer { entered } = self.waiting { entered } else { 0 };
            let at = self.time(entered.max(self.accepted).max(self.latest_answer));
            self.requests.push(PersistRequest::Drain { at, line });
        }
    }

    /// Retries the waiting store after an entry has left at `cycle`.
    fn has_room(&mut self, cycle: u64) -> (bool, Option<(u64, u64)>) {
        self.answered(cycle);
        let StoreWait::Room { line, reached, .. } = self.waiting else { return (false, None) };
        let accepted = self.look_up(line, reached);
        (!matches!(self.waiting, StoreWait::Room { .. }) && reached < cycle, accepted)
    }

    /// Enters a store between two windows of a sampled run. Entries that must leave for this store leave at once.
    pub(in crate::node) fn warm(&mut self, line: LineAddr) {
        let finds = self.buffer.store(line);
        assert!(matches!(finds, Finds::Resident | Finds::Allocated), "a drain was under way");
        let at = self.time(self.accepted.max(self.latest_answer));
        self.requests.push(PersistRequest::Persist { at, line, allocates: finds == Finds::Allocated });
        while let Some(line) = self.buffer.next_to_drain() {
            self.buffer.left(line);
            self.requests.push(PersistRequest::Drain { at, line });
        }
    }

    /// Looks up a store in the buffer; the look-up ends at `reached`.
    fn look_up(&mut self, line: LineAddr, reached: u64) -> Option<(u64, u64)> {
        let finds = self.buffer.store(line);
        if matches!(finds, Finds::Full | Finds::Leaving) {
            self.waiting = StoreWait::Room { line, reached, finds };
            return None;
        }
        let (entered, allocates) = (reached.max(self.latest_answer), finds == Finds::Allocated);
        match self.waiting {
            StoreWait::Room { finds: Finds::Full, .. } => self.counts.full_cycles += entered - reached,
            StoreWait::Room { .. } => self.counts.leaving_cycles += entered - reached,
            _ => {}
        }
        self.counts.stores += 1;
        self.counts.allocations += u64::from(allocates);
        self.requests.push(PersistRequest::Persist { at: self.time(entered), line, allocates });
        if self.waits.hold(allocates) {
            self.waiting = StoreWait::Answer { entered };
            return None;
        }
        Some(self.accept(entered))
    }

    /// Accepts the next store at `cycle`, so it leaves the store queue.
    fn accept(&mut self, cycle: u64) -> (u64, u64) {
        let store = self.next;
        (self.waiting, self.accepted) = (StoreWait::No, cycle);
        self.in_l1d.pop_front();
        self.next += 1;
        while let Some(line) = self.buffer.next_to_drain() {
            self.counts.drains += 1;
            self.requests.push(PersistRequest::Drain { at: self.time(cycle), line });
        }
        (store, cycle)
    }

    fn time(&self, cycle: u64) -> Time {
        self.clock.start_of(Cycles(cycle))
    }
}
