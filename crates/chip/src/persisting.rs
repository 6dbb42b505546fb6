//! Tasks that connect the cores' persist buffers to memory: they accept stores and drain entries.
//!
//! The node determines the time at which a store reaches its buffer, and the entries to drain. The scheme executes the
//! early steps and the drains. The buffer accepts a core's stores one after the other, in program order; the
//! controller's write-back buffers limit the number of entries on their way. A line that a buffer has accepted counts
//! as written to memory. The last-level cache therefore drops its dirty copy, since the content has passed through the
//! buffer (SecPB, HPCA 2023, section IV-C). If several cores store to a line, the cores take turns in the order in
//! which the entry of the line moved from buffer to buffer (`chip/buffers.rs`).

use crate::chip::Chip;
use crate::chip::buffers::BufferWork;
use catalogue::Machine;
use protection::execution::{ReadPart, Timed, TimedMemory};
use protection::planted::{ChipBug, PlantedBug};
use protection::scheme::{PersistBufferHandle, Scheme};
use protection::verbs::Verbs;
use sim::Clock;
use sim::resource::WorkQueue;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Duration, Line, LineAddr};

/// An entry on its way out of a core's buffer.
struct EntryDeparture {
    core: usize,
    line: LineAddr,
    turn: u64,
}

/// Tasks and queues behind the buffers of all cores.
pub struct Persisting {
    clock: Clock,
    chip: Rc<Chip>,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory>,
    /// Time from a core's buffer to the memory controller, which holds the metadata.
    path: Duration,
    drains: WorkQueue<EntryDeparture>,
}

/// Writes a line that the kernel changed. The line passes through the persist buffer, which may have an entry of the
/// line, but does not count as a store of the core.
pub(crate) async fn write_from_outside<V: Verbs>(
    scheme: &Scheme,
    verbs: &V,
    line: LineAddr,
    content: impl FnOnce() -> Line,
) {
    let buffer = PersistBufferHandle::of(scheme);
    buffer.accept_when_taken(verbs, line, content).await;
    buffer.drain(verbs, line).await;
}

/// Writes the lines of a core's program that the kernel has changed, up to the next pending store. These writes need no
/// turn at the line: the content of the line is determined at the instant when the entry receives it.
pub(crate) async fn write_changes_from_outside<V: Verbs>(scheme: &Scheme, verbs: &V, chip: &Chip, core: usize) {
    let mut goes_on = true;
    while goes_on && let Some(line) = chip.shadow.next_from_outside(core) {
        // A chip without power accepts no change.
        goes_on = false;
        let mut stores = 0;
        let mut content = || {
            goes_on = true;
            let content = chip.shadow.changes_in_buffer(core);
            stores = chip.shadow.stores_had(line);
            content
        };
        if chip.scheme.has_planted(ChipBug::KernelChangesNotWritten) {
            content();
            continue;
        }
        write_from_outside(scheme, verbs, line, content).await;
        chip.shadow.note(|log| log.change_arrived(line, stores));
    }
}

/// Order in which a core's buffer handles its work items.
struct StoreOrder {
    swaps: bool,
    /// A store that a planted bug holds back until the core's next store to another line.
    held_back: Option<BufferWork>,
    /// Work items that come next, after a store has overtaken the one that was held back.
    next: VecDeque<BufferWork>,
}

impl StoreOrder {
    fn new(planted: PlantedBug) -> StoreOrder {
        StoreOrder { swaps: planted.has(ChipBug::StoresSwapped), held_back: None, next: VecDeque::new() }
    }

    /// Waits for the next work item of a core's buffer.
    async fn next(&mut self, chip: &Chip, core: usize) -> BufferWork {
        loop {
            if let Some(next) = self.next.pop_front() {
                return next;
            }
            let next = chip.buffers.next(core, &chip.power).await;
            if !self.swaps {
                return next;
            }
            match (&next, self.held_back.take()) {
                (BufferWork::Store { .. }, None) => self.held_back = Some(next),
                (BufferWork::Store { line, .. }, Some(BufferWork::Store { line: earlier, turn, holds }))
                    if *line != earlier =>
                {
                    self.next.push_back(BufferWork::Store { line: earlier, turn, holds });
                    return next;
                }
                (_, held_back) => self.next.extend(held_back.into_iter().chain([next])),
            }
        }
    }
}

impl Persisting {
    /// Starts the tasks behind the buffers of all cores, if the machine has buffers.
    pub fn start(clock: &Clock, machine: &Machine, chip: &Rc<Chip>, scheme: &Rc<Scheme>, memory: &Rc<TimedMemory>) {
        if !chip.buffers.exist() {
            return;
        }
        let persisting = Rc::new(Persisting {
            clock: clock.clone(),
            chip: chip.clone(),
            scheme: scheme.clone(),
            memory: memory.clone(),
            path: machine.path(),
            drains: WorkQueue::new(clock),
        });
        (0..machine.cores).for_each(|core| clock.spawn(persisting.clone().accept_forever(core)));
        (0..machine.llc.writeback_buffers).for_each(|_| clock.spawn(persisting.clone().drain_forever()));
    }

    async fn accept_forever(self: Rc<Persisting>, core: usize) {
        let verbs = Timed::new(&self.memory);
        let mut order = StoreOrder::new(PersistBufferHandle::of(&self.scheme).planted());
        loop {
            match order.next(&self.chip, core).await {
                BufferWork::Store { line, turn, holds } => {
                    self.write_changes_from_outside(core, &verbs).await;
                    self.chip.buffers.turn(line, turn).await;
                    self.accept(&verbs, core, line, holds).await;
                    self.write_changes_from_outside(core, &verbs).await;
                }
                BufferWork::FromOutside => self.write_changes_from_outside(core, &verbs).await,
                // The drain queues behind the stores that preceded it.
                BufferWork::Drain { line, turn } => {
                    self.drains.push(self.clock.now(), EntryDeparture { core, line, turn });
                    continue;
                }
            }
            self.chip.buffers.end(core);
            self.chip.ports.wake(core);
        }
    }

    async fn accept(&self, verbs: &Timed, core: usize, line: LineAddr, holds: bool) {
        if holds {
            self.clock.sleep(self.path).await;
        }
        PersistBufferHandle::of(&self.scheme)
            .accept_when_taken(verbs, line, || self.chip.shadow.accept(core, line))
            .await;
        self.chip.buffers.turn_over(line);
        if holds {
            self.clock.sleep(self.path).await;
            let lost = self.chip.cores.nodes()[core].borrow_mut().persisted(self.clock.now());
            self.went_on(core, lost);
        }
    }

    async fn write_changes_from_outside(&self, core: usize, verbs: &Timed) {
        write_changes_from_outside(&self.scheme, verbs, &self.chip, core).await;
    }

    async fn drain_forever(self: Rc<Persisting>) {
        let verbs = Timed::new(&self.memory);
        loop {
            let EntryDeparture { core, line, turn } = self.drains.next().await;
            self.chip.buffers.turn(line, turn).await;
            self.clock.sleep(self.path).await;
            PersistBufferHandle::of(&self.scheme).drain(&verbs, line).await;
            self.chip.shadow.left_buffer(line);
            self.chip.buffers.turn_over(line);
            let lost = self.chip.cores.nodes()[core].borrow_mut().drained(line, self.clock.now());
            self.went_on(core, lost);
            self.chip.buffers.end(core);
            self.chip.ports.wake(core);
        }
    }

    /// Adds the time that a core lost while it waited to the account, and resumes the core's node.
    fn went_on(&self, core: usize, lost: Duration) {
        self.chip.settle_entries(core);
        self.chip.account.lose(ReadPart::PersistBuffer, lost);
        self.chip.ports.wake(core);
    }
}
