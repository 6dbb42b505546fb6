//! Tracks, for each line, the core with the line's entry in its persist buffer, and the content of the line after each
//! accepted store.
//!
//! A line has an entry in one buffer at most (SecPB, HPCA 2023, section IV-C). The paper's directory of entries is in
//! the memory controller. In this model, the chip looks up the tags of the buffers together with the directory of
//! caches. A core that reads a line flushes another core's entry: memory gets the entry, while that core's cache
//! supplies the line. A core that stores to the line takes the entry over, with the results of its early steps, since
//! the scheme identifies entries by line. The scheme thus repeats only the steps that depend on the plaintext. An entry
//! that is leaving stays in its buffer, and the store waits for it ([`LineTurns`]).

use super::Chip;
use super::power::PowerSupply;
use super::shadow_handle::ShadowHandle;
use crate::turns::LineTurns;
use catalogue::Machine;
use machine::node::{Node, PersistPath, PersistRequest, RequestKind, StoreHold};
use protection::execution::ReadPart;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::{Cell, RefCell};
use units::{LineAddr, Time};

/// Work items of a core's buffer, in program order. Stores and drains have a turn at their line ([`LineTurns`]).
pub(crate) enum BufferWork {
    /// A store to a line; `holds` is true if the core waits for its acceptance.
    Store { line: LineAddr, turn: u64, holds: bool },
    /// A change of lines by the kernel.
    FromOutside,
    /// The drain of a line's entry.
    Drain { line: LineAddr, turn: u64 },
}

/// Work queue of one core's buffer.
struct CoreBuffer {
    work: WorkQueue<BufferWork>,
    /// Number of stores not accepted yet, plus number of entries that have not left the buffer.
    under_way: Cell<usize>,
}

/// The persist buffers of all cores; no core has a buffer on a machine without them.
pub struct Buffers {
    clock: Clock,
    waits: StoreHold,
    /// True if entries leave as soon as they are allocated.
    leave_at_once: bool,
    turns: LineTurns,
    cores: Box<[CoreBuffer]>,
}

impl Buffers {
    /// Creates the buffers of a machine.
    pub(super) fn new(clock: &Clock, machine: &Machine) -> Buffers {
        let config = machine.node.persist_buffer;
        let of_core = |_| CoreBuffer { work: WorkQueue::new(clock), under_way: Cell::new(0) };
        Buffers {
            clock: clock.clone(),
            waits: config.map_or(StoreHold::Never, |config| config.waits),
            leave_at_once: config.is_some_and(|config| config.buffer.leaves_at_once()),
            turns: LineTurns::new(clock),
            cores: (0..config.map_or(0, |_| machine.cores)).map(of_core).collect(),
        }
    }

    /// True if the machine has persist buffers.
    pub fn exist(&self) -> bool {
        !self.cores.is_empty()
    }

    /// True if stores to a line pass through persist buffers. The line then counts as written as soon as a buffer has
    /// the store, and the caches drop its dirty data.
    pub(super) fn receive_stores_to(&self, line: LineAddr, shadow: &ShadowHandle) -> bool {
        self.exist() && shadow.is_persistent(line)
    }

    /// True if a store to a line is on its way to memory, where each store goes to memory separately.
    pub(super) fn send_through(&self, line: LineAddr) -> bool {
        self.leave_at_once && self.turns.are_taken_at(line)
    }

    /// True if every store of a core was accepted and no entry is on its way out of its buffer.
    pub fn are_done(&self, core: usize) -> bool {
        self.cores.get(core).is_none_or(|buffer| buffer.under_way.get() == 0)
    }

    /// Waits for the next work item of a core's buffer; never returns if the machine has no buffers, or no power.
    pub(crate) async fn next(&self, core: usize, power: &PowerSupply) -> BufferWork {
        let Some(buffer) = self.cores.get(core) else { return std::future::pending().await };
        loop {
            match power.next(&buffer.work).await {
                Ok(work) => return work,
                Err(lost) => self.pass_turn_on(lost).await,
            }
        }
    }

    /// Takes and ends the turn of a work item that the chip drops, since it is later than the loss of power. A store of
    /// another core that entered a buffer before the loss may wait behind this turn.
    async fn pass_turn_on(&self, lost: BufferWork) {
        if let BufferWork::Store { line, turn, .. } | BufferWork::Drain { line, turn } = lost {
            self.turn(line, turn).await;
            self.turn_over(line);
        }
    }

    /// Ends a work item of a core's buffer. The core may wait for the item.
    pub(crate) fn end(&self, core: usize) {
        let under_way = &self.cores[core].under_way;
        under_way.set(under_way.get() - 1);
    }

    /// Waits for a turn at the entry of a line.
    pub(crate) async fn turn(&self, line: LineAddr, turn: u64) {
        self.turns.wait(line, turn).await;
    }

    /// Ends the current turn at the entry of a line.
    pub(crate) fn turn_over(&self, line: LineAddr) {
        self.turns.over(line);
    }

    /// Queues a change of lines of a core's program by the kernel.
    fn change_from_outside(&self, core: usize) {
        if self.exist() {
            self.push(core, self.clock.now(), BufferWork::FromOutside);
        }
    }

    fn push(&self, core: usize, at: Time, work: BufferWork) {
        let CoreBuffer { work: queue, under_way } = &self.cores[core];
        under_way.set(under_way.get() + 1);
        queue.push(at, work);
    }

    /// Queues a request of a core's node.
    fn take_up(&self, core: usize, request: PersistRequest) {
        match request {
            PersistRequest::Persist { at, line, allocates } => {
                let (turn, holds) = (self.turns.take(line), self.waits.hold(allocates));
                self.push(core, at, BufferWork::Store { line, turn, holds });
            }
            PersistRequest::Drain { at, line } => {
                self.push(core, at, BufferWork::Drain { line, turn: self.turns.take(line) });
            }
        }
    }
}

impl Chip {
    /// Queues the requests of a core's persist buffer after a call of its node. If a line now has an entry in this
    /// core's buffer, the buffers of the other cores give up their entries of the line.
    ///
    /// The chip queues all requests before other cores give entries up. Giving an entry up may admit a store of the
    /// other core, and that store may take an entry over, also from this core. Later stores of this core then queue
    /// behind its earlier stores.
    pub fn settle_entries(&self, core: usize) {
        self.power.settle_written(core, &self.cores, &self.shadow);
        if !self.buffers.exist() {
            return;
        }
        let mut node = self.cores.nodes()[core].borrow_mut();
        let requests: Vec<_> = node.persist_buffer_mut().into_iter().flat_map(PersistPath::take_requests).collect();
        drop(node);
        let mut allocated = Vec::new();
        for request in requests {
            self.buffers.take_up(core, request);
            if let PersistRequest::Persist { at, line, allocates } = request {
                let goes_on = !self.buffers.waits.hold(allocates);
                self.shadow.note(|log| log.reached_acceptance(core, at, goes_on));
                allocated.extend(allocates.then_some(line));
            }
        }
        for line in allocated {
            // Another core may have taken the entry over in the meantime. The entry then belongs to that core.
            let node = &self.cores.nodes()[core];
            if node.borrow().persist_buffer().is_some_and(|buffer| buffer.occupies(line)) {
                self.ports.others(core).for_each(|other| self.take_entry_from(other, line));
            }
            debug_assert!(has_one_entry(self.cores.nodes(), line), "{line} has an entry in no buffer, or in two");
        }
    }

    /// Notes that the kernel has changed lines of a core's program.
    pub fn lines_changed_under(&self, core: usize) {
        self.buffers.change_from_outside(core);
        self.let_changes_in(core);
    }

    /// Flushes the entries of other cores if a core reads the line.
    pub(super) fn flush_entries(&self, core: usize, line: LineAddr, kind: RequestKind) {
        if !self.buffers.exist() || matches!(kind, RequestKind::ReadForOwnership | RequestKind::Upgrade) {
            return;
        }
        for other in self.ports.others(core) {
            if let Some(buffer) = self.cores.nodes()[other].borrow_mut().persist_buffer_mut() {
                buffer.flush(line, self.clock.now());
            }
            self.settle_entries(other);
            self.ports.wake(other);
        }
    }

    fn take_entry_from(&self, core: usize, line: LineAddr) {
        let lost = self.cores.nodes()[core].borrow_mut().give_up_entry(line, self.clock.now());
        self.account.lose(ReadPart::PersistBuffer, lost);
        self.settle_entries(core);
        self.ports.wake(core);
    }
}

/// True if at least one buffer has an entry of the line, and at most one has an entry that is not leaving.
fn has_one_entry(nodes: &[RefCell<Node>], line: LineAddr) -> bool {
    let resident =
        nodes.iter().filter(|node| node.borrow().persist_buffer().is_some_and(|buffer| buffer.has_entry(line))).count();
    resident <= 1 && nodes.iter().any(|node| node.borrow().persist_buffer().is_some_and(|buffer| buffer.occupies(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::Shadow;
    use machine::node::PersistConfig;
    use machine::persist::PersistBufferConfig;
    use sim::Executor;
    use std::rc::Rc;

    const LINE: LineAddr = LineAddr(3);

    /// Power fails at 5 ns. Core 1 stores to a line before, after another core's request for the line that is due at
    /// `other_ns`. Returns true if core 1 has its turn.
    fn store_has_its_turn(other_ns: u64, other: impl Fn(Time) -> PersistRequest) -> bool {
        let mut executor = Executor::new();
        let clock = executor.clock().clone();
        let mut machine = catalogue::machine("secpb-pcm").unwrap();
        let buffer = PersistBufferConfig { entries: 4, drain_from: 3, drain_to: 1 };
        machine.cores = 2;
        machine.node.persist_buffer = Some(PersistConfig { buffer, latency_cycles: 2, waits: StoreHold::Never });
        let shadow = Rc::new(RefCell::new(Shadow::new(machine.memory.size.0 / units::LINE_BYTES as u64)));
        let chip = Chip::new(&clock, &machine, shadow);
        let at = |ns| Time::from_fs(ns * 1_000_000);
        chip.buffers.take_up(0, other(at(other_ns)));
        chip.buffers.take_up(1, PersistRequest::Persist { at: at(4), line: LINE, allocates: true });
        let accepted = Rc::new(Cell::new(false));
        for core in 0..2 {
            let (chip, accepted) = (chip.clone(), accepted.clone());
            clock.spawn(async move {
                while let BufferWork::Store { line, turn, .. } | BufferWork::Drain { line, turn } =
                    chip.buffers.next(core, &chip.power).await
                {
                    chip.buffers.turn(line, turn).await;
                    accepted.set(accepted.get() || core == 1);
                    chip.buffers.turn_over(line);
                }
            });
        }
        let (failing, now) = (chip.clone(), clock.clone());
        clock.spawn(async move {
            now.sleep(at(5).since(Time::ZERO)).await;
            failing.power.fail(&failing.scheme);
        });
        executor.run();
        accepted.get()
    }

    #[test]
    fn a_store_before_a_loss_of_power_does_not_wait_for_requests_after_it() {
        for due_ns in [4, 6] {
            let drain = |at| PersistRequest::Drain { at, line: LINE };
            assert!(store_has_its_turn(due_ns, drain), "behind a drain at {due_ns} ns");
            let store = |at| PersistRequest::Persist { at, line: LINE, allocates: true };
            assert!(store_has_its_turn(due_ns, store), "behind a store at {due_ns} ns");
        }
    }
}
