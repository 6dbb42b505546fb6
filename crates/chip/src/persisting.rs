//! From the cores' persist buffers to memory: the tasks that let stores in and entries out.
//!
//! The node says when a store comes to its buffer and which entry leaves when; the scheme's text does what is early, and
//! drains. Stores of a core are accepted one after the other, in the order of the program; of entries, as many are on their way
//! as the controller has buffers for what is written back. A line that the buffer has accepted is memory's: dirty lines that
//! leave the last-level cache are dropped, since their text has come by here (SecPB, HPCA 2023, section IV-C).

use crate::chip::Chip;
use catalogue::Machine;
use machine::node::{PersistRequest, Waits};
use protection::execution::{ReadPart, Timed, TimedMemory};
use protection::scheme::{PersistBuffer, Scheme};
use protection::verbs::Verbs;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::Cell;
use std::rc::Rc;
use units::{Duration, Line, LineAddr};

/// What comes to a buffer, in the order of the program.
enum Work {
    /// A store to a line, for which the core waits or not.
    Store { line: LineAddr, holds: bool },
    /// The kernel has changed lines.
    FromOutside,
    /// The entry of a line is to leave.
    Drain(LineAddr),
}

/// What is behind the buffers of all cores.
pub struct Persisting {
    clock: Clock,
    chip: Rc<Chip>,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory<Rc<Chip>>>,
    waits: Waits,
    /// From a core's buffer to the memory controller, which is where metadata are.
    path: Duration,
    /// By core.
    work: Box<[WorkQueue<Work>]>,
    drains: WorkQueue<(usize, LineAddr)>,
    /// Stores that were not accepted, and entries that have not left.
    under_way: Cell<usize>,
}

/// Writes a line that the kernel changed. It goes through the buffer, which may have the line, and is no store of the core.
pub(crate) async fn write_from_outside<V: Verbs>(
    chip: &Chip,
    scheme: &Scheme,
    verbs: &V,
    (line, content): (LineAddr, &Line),
) {
    let buffer = PersistBuffer::of(scheme);
    buffer.accept_noting(verbs, line, content, || chip.taken(line, content)).await;
    buffer.drain(verbs, line).await;
}

impl Persisting {
    /// Starts the tasks behind the buffers of these cores; nothing if they have none.
    pub fn start(
        clock: &Clock,
        machine: &Machine,
        chip: &Rc<Chip>,
        scheme: &Rc<Scheme>,
        memory: &Rc<TimedMemory<Rc<Chip>>>,
    ) -> Option<Rc<Persisting>> {
        let waits = machine.node.persist_buffer?.waits;
        let persisting = Rc::new(Persisting {
            clock: clock.clone(),
            chip: chip.clone(),
            scheme: scheme.clone(),
            memory: memory.clone(),
            waits,
            path: machine.path(),
            work: (0..machine.cores).map(|_| WorkQueue::new(clock)).collect(),
            drains: WorkQueue::new(clock),
            under_way: Cell::new(0),
        });
        (0..machine.cores).for_each(|core| clock.spawn(persisting.clone().accept_forever(core)));
        (0..machine.llc.writeback_buffers).for_each(|_| clock.spawn(persisting.clone().drain_forever()));
        Some(persisting)
    }

    /// Takes up what has come to a core's buffer, and what has to leave it.
    pub fn take_up(&self, core: usize) {
        for request in self.chip.cores.nodes()[core].borrow_mut().persist_requests() {
            self.under_way.set(self.under_way.get() + 1);
            let (at, work) = match request {
                PersistRequest::Persist { at, line, allocates } => {
                    (at, Work::Store { line, holds: self.waits.hold(allocates) })
                }
                PersistRequest::Drain { at, line } => (at, Work::Drain(line)),
            };
            self.work[core].push(at, work);
        }
    }

    /// The kernel has changed lines under a core's program.
    pub fn changed_from_outside(&self, core: usize) {
        self.under_way.set(self.under_way.get() + 1);
        self.work[core].push(self.clock.now(), Work::FromOutside);
    }

    /// Whether every store was accepted, and nothing is on its way out.
    pub fn is_at_rest(&self) -> bool {
        self.under_way.get() == 0
    }

    async fn accept_forever(self: Rc<Persisting>, core: usize) {
        let verbs = Timed::new(&self.memory);
        loop {
            match self.work[core].next().await {
                Work::Store { line, holds } => {
                    self.write_from_outside(&verbs).await;
                    self.accept(&verbs, core, line, holds).await;
                    self.write_from_outside(&verbs).await;
                }
                Work::FromOutside => self.write_from_outside(&verbs).await,
                // Behind the stores that came before it.
                Work::Drain(line) => {
                    self.drains.push(self.clock.now(), (core, line));
                    continue;
                }
            }
            self.done(core);
        }
    }

    async fn accept(&self, verbs: &Timed<Rc<Chip>>, core: usize, line: LineAddr, holds: bool) {
        let content = self.chip.accept(line);
        if holds {
            self.clock.sleep(self.path).await;
        }
        let taken = || self.chip.taken(line, &content);
        PersistBuffer::of(&self.scheme).accept_noting(verbs, line, &content, taken).await;
        if holds {
            self.clock.sleep(self.path).await;
            let lost = self.chip.cores.nodes()[core].borrow_mut().persisted(self.clock.now());
            self.chip.lost.borrow_mut().add(ReadPart::PersistBuffer, lost);
            self.chip.wake_core(core);
        }
    }

    /// Writes the lines that the kernel has changed, as far as no store comes before.
    async fn write_from_outside(&self, verbs: &Timed<Rc<Chip>>) {
        while let Some((line, content)) = self.chip.next_from_outside() {
            write_from_outside(&self.chip, &self.scheme, verbs, (line, &content)).await;
        }
    }

    async fn drain_forever(self: Rc<Persisting>) {
        let verbs = Timed::new(&self.memory);
        loop {
            let (core, line) = self.drains.next().await;
            self.clock.sleep(self.path).await;
            PersistBuffer::of(&self.scheme).drain(&verbs, line).await;
            self.chip.left_buffer(line);
            let lost = self.chip.cores.nodes()[core].borrow_mut().drained(line, self.clock.now());
            self.chip.lost.borrow_mut().add(ReadPart::PersistBuffer, lost);
            self.done(core);
        }
    }

    /// The core goes on: something that it may wait for is done.
    fn done(&self, core: usize) {
        self.under_way.set(self.under_way.get() - 1);
        self.chip.wake_core(core);
    }
}
