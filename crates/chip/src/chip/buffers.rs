//! What the chip knows of persist buffers: which core has the entry of a line, and what the line holds from when on.
//!
//! A line has an entry in one buffer at most (SecPB, HPCA 2023, section IV-C). The paper's directory of entries lies at the memory
//! controller; here the chip asks the buffers' tags themselves, at the moment at which the directory of caches is asked. A core
//! that reads a line flushes the entry that another has: memory gets it, while the core's cache supplies the line. A core that
//! stores to it takes the entry over, with what was made early for it: the scheme keeps entries by line, so nothing of that
//! is made again but what follows the text. An entry that is leaving stays where it is, and the store waits for it
//! ([`Turns`]).

use super::Chip;
use crate::shadow::persisted::{changes_from_outside, is_persistent, left_buffer};
use crate::turns::Turns;
use machine::node::{PersistConfig, PersistRequest, RequestKind, Waits};
use protection::execution::ReadPart;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::Cell;
use units::{Line, LineAddr, Time};

/// What comes to a core's buffer, in the order of its program. Stores and drains have a turn at their line.
pub(crate) enum Work {
    /// A store to a line, for which the core waits or not.
    Store { line: LineAddr, turn: u64, holds: bool },
    /// The kernel has changed lines.
    FromOutside,
    /// The entry of a line is to leave.
    Drain { line: LineAddr, turn: u64 },
}

/// One core's buffer.
struct OfCore {
    work: WorkQueue<Work>,
    /// Stores that were not accepted, and entries that have not left.
    under_way: Cell<usize>,
}

/// The persist buffers of all cores.
pub(super) struct Buffers {
    clock: Clock,
    waits: Waits,
    /// Whether entries leave as soon as they are there.
    leave_at_once: bool,
    turns: Turns,
    cores: Box<[OfCore]>,
}

impl Buffers {
    pub fn new(clock: &Clock, config: &PersistConfig, cores: usize) -> Buffers {
        let of_core = |_| OfCore { work: WorkQueue::new(clock), under_way: Cell::new(0) };
        let cores = (0..cores).map(of_core).collect();
        let leave_at_once = config.buffer.leaves_at_once();
        Buffers { clock: clock.clone(), waits: config.waits, leave_at_once, turns: Turns::new(clock), cores }
    }

    fn push(&self, core: usize, at: Time, work: Work) {
        let OfCore { work: queue, under_way } = &self.cores[core];
        under_way.set(under_way.get() + 1);
        queue.push(at, work);
    }

    /// Takes up what a core's node asks for.
    fn take_up(&self, core: usize, request: PersistRequest) {
        match request {
            PersistRequest::Persist { at, line, allocates } => {
                let (turn, holds) = (self.turns.take(line), self.waits.hold(allocates));
                self.push(core, at, Work::Store { line, turn, holds });
            }
            PersistRequest::Drain { at, line } => {
                self.push(core, at, Work::Drain { line, turn: self.turns.take(line) });
            }
        }
    }
}

impl Chip {
    /// Whether there are persist buffers.
    pub fn has_buffers(&self) -> bool {
        self.buffers.is_some()
    }

    /// Whether what cores store to a line goes through persist buffers: then memory has it when a buffer has it, and what is dirty
    /// of it in caches is dropped.
    pub(super) fn comes_by_buffer(&self, line: LineAddr) -> bool {
        self.has_buffers() && is_persistent(&self.shadow.borrow(), line)
    }

    /// Whether a store to a line is on its way to memory, where each goes there by itself.
    pub(super) fn passes_through(&self, line: LineAddr) -> bool {
        self.buffers.as_ref().is_some_and(|buffers| buffers.leave_at_once && buffers.turns.are_taken_at(line))
    }

    /// Takes up what a core's persist buffer asks for, now that its node was called. Of a line that has an entry now, no other
    /// core's buffer has one any more.
    ///
    /// All of it is taken up before other cores give entries up: that may let a store of theirs in, which takes an entry over in
    /// its turn, of this core too, whose further stores then come behind those that it has had.
    pub fn settle_entries(&self, core: usize) {
        self.settle_written(core);
        let Some(buffers) = &self.buffers else { return };
        let requests: Vec<_> = self.cores.nodes()[core].borrow_mut().persist_requests().collect();
        let mut allocated = Vec::new();
        for request in requests {
            buffers.take_up(core, request);
            if let PersistRequest::Persist { at, line, allocates } = request {
                let goes_on = !buffers.waits.hold(allocates);
                self.note(|log| log.came(core, at, goes_on));
                allocated.extend(allocates.then_some(line));
            }
        }
        for line in allocated {
            // What has gone on to another core meanwhile is that core's.
            if self.cores.nodes()[core].borrow().occupies(line) {
                self.others(core).for_each(|other| self.take_entry_from(other, line));
            }
            debug_assert!(self.has_one_entry(line), "{line} has an entry in no buffer, or in two");
        }
    }

    /// The kernel has changed lines under a core's program.
    pub fn lines_changed_under(&self, core: usize) {
        if let Some(buffers) = &self.buffers {
            buffers.push(core, buffers.clock.now(), Work::FromOutside);
        }
        self.let_changes_in(core);
    }

    /// Whether every store of a core was accepted, and nothing is on its way out of its buffer.
    pub fn has_persisted(&self, core: usize) -> bool {
        self.buffers.as_ref().is_none_or(|buffers| buffers.cores[core].under_way.get() == 0)
    }

    /// A core has asked for a line: if it reads, entries of others are flushed.
    pub(super) fn flush_entries(&self, core: usize, line: LineAddr, kind: RequestKind) {
        if self.buffers.is_none() || matches!(kind, RequestKind::ReadForOwnership | RequestKind::Upgrade) {
            return;
        }
        for other in self.others(core) {
            self.cores.nodes()[other].borrow_mut().flush_entry(line, self.clock.now());
            self.settle_entries(other);
            self.wake_core(other);
        }
    }

    /// Whether a line has an entry in some buffer, and in one alone that is not leaving it.
    fn has_one_entry(&self, line: LineAddr) -> bool {
        let nodes = self.cores.nodes();
        let resident = nodes.iter().filter(|node| node.borrow().has_entry(line)).count();
        resident <= 1 && nodes.iter().any(|node| node.borrow().occupies(line))
    }

    fn take_entry_from(&self, core: usize, line: LineAddr) {
        let lost = self.cores.nodes()[core].borrow_mut().give_up_entry(line, self.clock.now());
        self.lost.borrow_mut().add(ReadPart::PersistBuffer, lost);
        self.settle_entries(core);
        self.wake_core(core);
    }

    fn others(&self, core: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.ports.len()).filter(move |other| *other != core)
    }

    /// What comes next to a core's buffer; never anything if there are no buffers.
    pub(crate) async fn next_for_buffer(&self, core: usize) -> Work {
        let Some(buffers) = &self.buffers else { return std::future::pending().await };
        self.next_with_power(&buffers.cores[core].work).await
    }

    /// Something that came to a core's buffer is done. The core goes on: it may wait for that.
    pub(crate) fn done_for_buffer(&self, core: usize) {
        if let Some(Buffers { cores, .. }) = &self.buffers {
            cores[core].under_way.set(cores[core].under_way.get() - 1);
        }
        self.wake_core(core);
    }

    /// Waits for a turn at the entry of a line.
    pub(crate) async fn entry_turn(&self, line: LineAddr, turn: u64) {
        if let Some(buffers) = &self.buffers {
            buffers.turns.wait(line, turn).await;
        }
    }

    /// The turn that had come at the entry of a line is over.
    pub(crate) fn entry_turn_over(&self, line: LineAddr) {
        if let Some(buffers) = &self.buffers {
            buffers.turns.over(line);
        }
    }

    /// A persist buffer takes the next store of its core, which is to this line: what that holds from here on, and memory has to
    /// return.
    pub(crate) fn accept(&self, core: usize, line: LineAddr) -> Line {
        let content = self.next_store(core, line);
        self.shadow.borrow_mut().taken(line, &content);
        content
    }

    /// The next store of a core, which is to this line, has taken effect where it is accepted: what the line holds then.
    pub(super) fn next_store(&self, core: usize, line: LineAddr) -> Line {
        self.note(|log| log.accept(core, line));
        self.shadow.borrow_mut().accept(core, line)
    }

    /// The line that changes from outside next in the order of a core's program, after its stores that were accepted.
    pub(crate) fn next_from_outside(&self, core: usize) -> Option<LineAddr> {
        self.shadow.borrow().persisted.as_ref()?.next_from_outside(core)
    }

    /// That line changes: what it holds from here on, and memory has to return.
    pub(crate) fn changes_from_outside(&self, core: usize) -> Line {
        let mut shadow = self.shadow.borrow_mut();
        let (line, content) = changes_from_outside(&mut shadow, core);
        shadow.taken(line, &content);
        content
    }

    /// The entry of a line has left its persist buffer for memory.
    pub fn left_buffer(&self, line: LineAddr) {
        left_buffer(&mut self.shadow.borrow_mut(), line);
        self.note(|log| log.arrived(line, log.accepted_of(line)));
    }
}
