//! The way of stores from L1D into a persist buffer on a battery, where they are safe from a loss of power.
//!
//! SecPB (HPCA 2023, section IV-B): a store leaves the store queue when it has entered the buffer. Stores enter in program
//! order, one at a time: the next one is looked up when the one before was accepted and L1D has its line. A store that
//! allocates an entry, or every store, waits until what protects memory has answered, as its scheme says ([`Waits`]). A
//! full buffer, or an entry of the line that is just leaving, holds the store until a drain has ended. Entries are chosen to
//! leave when a store is accepted, so none does whose store still waits for its answer.
//!
//! The node schedules stores in advance of the clock, while answers come at their time. That is exact: which entries are
//! chosen follows from the order of stores alone, and a store that finds no room waits for the next drain's end, which may
//! turn out to lie before it.
//!
//! A store to a line that need not outlive a loss of power passes the buffer by. It leaves the queue in its turn, like any other,
//! as soon as L1D has it.
//!
//! What other cores do to an entry comes from outside, as it does to lines of L1D: a remote read flushes it, and a remote write
//! takes it into another buffer. Both happen to the entries as they are when the other core asks, be the store that made
//! one scheduled for a little later.

use crate::node::config::{NodeConfig, Waits};
use crate::node::counters::PersistCounters;
use crate::node::interface::PersistRequest;
use crate::node::pipeline::pieces::Pieces;
use crate::persist::{Finds, PersistBuffer};
use std::collections::VecDeque;
use units::{Clock, Cycles, LineAddr, Time};

/// What the next store waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    /// Nothing but L1D.
    No,
    /// It was looked up by `reached`, and there is no room, or an entry of its line is leaving.
    Room { line: LineAddr, reached: u64, finds: Finds },
    /// It has entered the buffer, and the answer is not there.
    Answer { entered: u64 },
}

/// A store that L1D has.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Came {
    pub(in crate::node) line: LineAddr,
    /// Whether it goes on to the buffer.
    pub(in crate::node) persistent: bool,
    /// When L1D had it.
    pub(in crate::node) cycle: u64,
}

/// The way into the persist buffer of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct PersistPath {
    clock: Clock,
    buffer: PersistBuffer,
    latency: u64,
    waits: Waits,
    waiting: Waiting,
    /// The number of the next store to be accepted.
    next: u64,
    /// That store and later ones, as far as is known of them.
    in_l1d: VecDeque<Option<Came>>,
    pub(in crate::node) pieces: Pieces,
    /// When the latest store was accepted.
    accepted: u64,
    /// When the latest answer of any kind came.
    latest_answer: u64,
    pub(in crate::node) requests: Vec<PersistRequest>,
    pub(in crate::node) counters: PersistCounters,
}

impl PersistPath {
    pub(in crate::node) fn new(config: &NodeConfig) -> Option<Box<PersistPath>> {
        let persist = config.persist_buffer?;
        Some(Box::new(PersistPath {
            clock: config.clock_mhz.clock(),
            buffer: PersistBuffer::new(persist.buffer),
            latency: persist.latency_cycles,
            waits: persist.waits,
            waiting: Waiting::No,
            next: 0,
            in_l1d: VecDeque::new(),
            pieces: Pieces::default(),
            accepted: 0,
            latest_answer: 0,
            requests: Vec::new(),
            counters: PersistCounters::default(),
        }))
    }

    /// L1D has a store.
    pub(in crate::node) fn came(&mut self, store: u64, came: Came) {
        let place = (store - self.next) as usize;
        if place >= self.in_l1d.len() {
            self.in_l1d.resize(place + 1, None);
        }
        self.in_l1d[place] = Some(came);
    }

    /// Looks the next store up, if L1D has it and the one before was accepted: its number and when it was accepted, if that is
    /// known.
    pub(in crate::node) fn go_on(&mut self) -> Option<(u64, u64)> {
        if self.is_waiting() {
            return None;
        }
        let Came { line, persistent, cycle } = (*self.in_l1d.front()?)?;
        let from = cycle.max(self.accepted);
        // What is in the buffer is the whole store, when its last piece comes.
        if self.pieces.is_whole() && persistent {
            self.look_up(line, from + self.latency)
        } else {
            Some(self.accept(from))
        }
    }

    /// Whether the oldest store is in L1D and waits for room or for an answer.
    pub(in crate::node) fn is_waiting(&self) -> bool {
        self.waiting != Waiting::No
    }

    /// Whether there is an entry of a line that is not leaving.
    pub(in crate::node) fn has_entry(&self, line: LineAddr) -> bool {
        self.buffer.resident().any(|resident| resident == line)
    }

    /// Whether there is an entry of a line, be it that it is leaving.
    pub(in crate::node) fn occupies(&self, line: LineAddr) -> bool {
        self.buffer.occupies(line)
    }

    /// No store enters before `cycle`, at which something was answered.
    pub(in crate::node) fn answered(&mut self, cycle: u64) {
        self.latest_answer = self.latest_answer.max(cycle);
    }

    /// What the latest store waits for was done at `cycle`: its number, and when it was accepted.
    pub(in crate::node) fn persisted(&mut self, cycle: u64) -> (u64, u64) {
        let Waiting::Answer { entered } = self.waiting else { panic!("no store waits for an answer") };
        self.answered(cycle);
        let cycle = cycle.max(entered);
        self.counters.answer_cycles += cycle - entered;
        self.accept(cycle)
    }

    /// An entry has left at `cycle`: whether the store that waited for that has gone on, and as [`PersistPath::go_on`].
    pub(in crate::node) fn drained(&mut self, line: LineAddr, cycle: u64) -> (bool, Option<(u64, u64)>) {
        self.buffer.left(line);
        self.has_room(cycle)
    }

    /// Another core's buffer takes over an entry at `cycle`, if there is one that is not leaving: as [`PersistPath::drained`].
    pub(in crate::node) fn give_up(&mut self, line: LineAddr, cycle: u64) -> (bool, Option<(u64, u64)>) {
        if !self.buffer.give_up(line) {
            return (false, None);
        }
        self.counters.given_up += 1;
        self.has_room(cycle)
    }

    /// Another core reads a line at `cycle`: its entry leaves, if there is one. Behind the store that is just entering, since what
    /// is asked is in order.
    pub(in crate::node) fn flush(&mut self, line: LineAddr, cycle: u64) {
        if self.buffer.flush(line) {
            self.answered(cycle);
            self.counters.flushed += 1;
            let entered = if let Waiting::Answer { entered } = self.waiting { entered } else { 0 };
            let at = self.time(entered.max(self.accepted).max(self.latest_answer));
            self.requests.push(PersistRequest::Drain { at, line });
        }
    }

    /// An entry has gone at `cycle`.
    fn has_room(&mut self, cycle: u64) -> (bool, Option<(u64, u64)>) {
        self.answered(cycle);
        let Waiting::Room { line, reached, .. } = self.waiting else { return (false, None) };
        let accepted = self.look_up(line, reached);
        (!matches!(self.waiting, Waiting::Room { .. }) && reached < cycle, accepted)
    }

    /// A store comes to L1D between two windows of a sampled run: what has to leave for it does so at once.
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

    /// Looks a store up whose look-up has taken until `reached`.
    fn look_up(&mut self, line: LineAddr, reached: u64) -> Option<(u64, u64)> {
        let finds = self.buffer.store(line);
        if matches!(finds, Finds::Full | Finds::Leaving) {
            self.waiting = Waiting::Room { line, reached, finds };
            return None;
        }
        let (entered, allocates) = (reached.max(self.latest_answer), finds == Finds::Allocated);
        match self.waiting {
            Waiting::Room { finds: Finds::Full, .. } => self.counters.full_cycles += entered - reached,
            Waiting::Room { .. } => self.counters.leaving_cycles += entered - reached,
            _ => {}
        }
        self.counters.stores += 1;
        self.counters.allocations += u64::from(allocates);
        self.requests.push(PersistRequest::Persist { at: self.time(entered), line, allocates });
        if self.waits.hold(allocates) {
            self.waiting = Waiting::Answer { entered };
            return None;
        }
        Some(self.accept(entered))
    }

    /// The next store leaves the store queue.
    fn accept(&mut self, cycle: u64) -> (u64, u64) {
        let store = self.next;
        (self.waiting, self.accepted) = (Waiting::No, cycle);
        self.in_l1d.pop_front();
        self.next += 1;
        while let Some(line) = self.buffer.next_to_drain() {
            self.counters.drains += 1;
            self.requests.push(PersistRequest::Drain { at: self.time(cycle), line });
        }
        (store, cycle)
    }

    fn time(&self, cycle: u64) -> Time {
        self.clock.start_of(Cycles(cycle))
    }
}
