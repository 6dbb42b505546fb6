//! Lines on their way from the last-level cache's controller up to a core.
//!
//! From its claim until its arrival a line belongs to one request. Requests of other cores for it wait, and are then
//! handled as if they had just come: what they find may be another owner. What the kernel changes waits as well. A line
//! reaches the private caches' tags at the moment when it leaves the controller, and says by itself when it arrives; where
//! there are links it has to wait for, when it begins the last stretch of its way.

use super::Chip;
use super::direct::DirectReads;
use crate::waits::Trip;
use machine::coherence::{Claim, Supplier};
use machine::llc::Inclusion;
use machine::node::{PageKey, Permission, Request, RequestKind};
use protection::execution::ReadPart;
use rustc_hash::FxHashMap;
use sim::TaskId;
use std::cell::{Cell, RefCell};
use std::rc::Weak;
use units::{Duration, LineAddr, Time, Word, Words};

/// One core's side of the chip.
#[derive(Default)]
pub struct Port {
    /// Requests that left the private caches and are not yet taken up.
    outbox: RefCell<Vec<Request>>,
    /// The task that runs the core.
    task: Cell<Option<TaskId>>,
}

impl Port {
    /// Lines with stores that left the private caches and are not yet taken up.
    pub(super) fn stored(&self) -> Vec<LineAddr> {
        self.outbox.borrow().iter().filter(has_stores).map(|request| request.line).collect()
    }

    /// Whether a line is among them.
    pub fn has_stored(&self, line: LineAddr) -> bool {
        self.outbox.borrow().iter().filter(has_stores).any(|request| request.line == line)
    }
}

fn has_stores(request: &&Request) -> bool {
    matches!(request.kind, RequestKind::WriteBack | RequestKind::PastCaches)
}

/// What a core asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    /// Which core.
    pub core: usize,
    /// Which line.
    pub line: LineAddr,
    /// The word of it that is wanted first.
    pub word: Word,
    /// Why.
    pub kind: RequestKind,
    /// When it left the L2.
    pub left: Time,
    /// Whether it is still in the L2, which begins the read itself.
    pub in_l2: bool,
}

/// One line on its way.
#[derive(Debug)]
pub struct Journey {
    core: usize,
    permission: Permission,
    /// When memory was asked for it, if it was.
    pub asked: Option<Time>,
    /// What takes its time.
    pub trip: Trip,
    /// Whether the kernel changed it meanwhile.
    pub changed: bool,
    /// What other misses want it, first come first served.
    waiting: Vec<Miss>,
}

/// All lines on their way.
pub struct UnderWay {
    /// Where they are.
    chip: Weak<Chip>,
    journeys: FxHashMap<LineAddr, Journey>,
    /// Reads that no cache has asked for.
    pub(super) direct: DirectReads,
}

impl UnderWay {
    /// Nothing is on its way on `chip`.
    pub fn new(chip: Weak<Chip>) -> UnderWay {
        UnderWay { chip, journeys: FxHashMap::default(), direct: DirectReads::default() }
    }

    /// The journey of a line, if it is on one.
    pub fn of(&mut self, line: LineAddr) -> Option<&mut Journey> {
        self.journeys.get_mut(&line)
    }
}

impl Chip {
    /// Names the task that runs a core: woken whenever a line arrives there.
    pub fn set_core_task(&self, core: usize, task: TaskId) {
        self.ports[core].task.set(Some(task));
    }

    /// Lets the task that runs a core look again.
    pub fn wake_core(&self, core: usize) {
        if let Some(task) = self.ports[core].task.get() {
            self.clock.wake(task);
        }
    }

    /// What has left a core's private caches and is not yet taken up.
    pub fn outbox(&self, core: usize) -> &RefCell<Vec<Request>> {
        &self.ports[core].outbox
    }

    /// The last-level cache's controller takes a miss up: what supplies the line, and which cores had to be asked.
    /// Nothing if the line is on its way to another core; then the miss waits until it has arrived.
    pub fn claim(&self, miss: Miss) -> Option<Claim> {
        let Miss { core, line, kind, left, .. } = miss;
        if let Some(journey) = self.under_way.borrow_mut().of(line) {
            journey.waiting.push(Miss { in_l2: false, ..miss });
            return None;
        }
        self.take_back_everything();
        let unverified = self.llc.borrow().is_unverified(line);
        let claim = self.cores.claim(core, line, kind);
        self.flush_entries(core, line, kind);
        let Claim { permission, .. } = claim;
        let journey =
            Journey { core, permission, asked: None, trip: Trip::begin(left), changed: false, waiting: Vec::new() };
        self.under_way.borrow_mut().journeys.insert(line, journey);
        match claim.supplier {
            Supplier::Core { dirty: true, .. } => self.take_back(line, true),
            Supplier::Core { dirty: false, .. } => self.pass_by(line),
            Supplier::Itself | Supplier::Below => {}
        }
        self.count(|counters| {
            counters.upgrades += u64::from(claim.supplier == Supplier::Itself);
            let from_core = matches!(claim.supplier, Supplier::Core { .. });
            counters.from_cores += u64::from(from_core);
            counters.from_cores_unverified += u64::from(from_core && unverified);
            counters.probes += claim.probed.iter().count() as u64;
        });
        Some(claim)
    }

    /// What cores have evicted counts before what another asks for, though it has not been taken up yet.
    pub fn take_back_everything(&self) {
        if self.ports.len() == 1 {
            return;
        }
        for port in &self.ports {
            port.outbox.borrow_mut().retain(|request| {
                let stays = !request.kind.is_eviction();
                if !stays {
                    self.take_back(request.line, request.kind == RequestKind::WriteBack);
                }
                stays
            });
        }
    }

    /// The way of a line on the chip waited for something.
    pub fn waited(&self, line: LineAddr, part: ReadPart, time: Duration) {
        if let Some(journey) = self.under_way.borrow_mut().of(line) {
            journey.trip.waited(part, time);
        }
    }

    /// A line that was claimed is at its slice in `delay`, and goes on to its core as soon as the links are free.
    pub fn deliver(&self, line: LineAddr, delay: Duration) {
        let Some(core) = self.under_way.borrow_mut().of(line).map(|journey| journey.core) else { return };
        if let Some(excerpt) = self.excerpt.get() {
            excerpt.set_off(core, line, self.clock.now());
        }
        if !self.network.has_links() {
            self.arrive(line, delay + self.network.way(core, line), delay);
            return;
        }
        let (clock, chip) = (self.clock.clone(), self.under_way.borrow().chip.clone());
        self.clock.spawn(async move {
            clock.sleep(delay).await;
            let Some(chip) = chip.upgrade() else { return };
            chip.network.carry(&clock, core, line).await;
            chip.arrive(line, chip.network.shortest(), Duration::ZERO);
        });
    }

    /// Words of a line that was claimed are at its slice in `delay`, and go on to its core before the rest. Where there are
    /// links they wait for it: those carry whole lines.
    pub fn deliver_first(&self, line: LineAddr, words: Words, delay: Duration) {
        if self.network.has_links() {
            return;
        }
        let mut under_way = self.under_way.borrow_mut();
        let Some(Journey { core, trip, .. }) = under_way.of(line) else { return };
        let (at, port) = (self.clock.now() + delay + self.network.way(*core, line), &self.ports[*core]);
        let mut node = self.cores.nodes()[*core].borrow_mut();
        let lost = node.came_in_part(line, words, at, &mut port.outbox.borrow_mut());
        drop(node);
        *self.lost.borrow_mut() += trip.lost(lost, at);
        if let Some(task) = port.task.get() {
            self.clock.wake(task);
        }
        let core = *core;
        drop(under_way);
        self.settle_entries(core);
    }

    /// The record of a page is on the chip, which a core's TLBs asked for then: the core goes on.
    pub fn record_arrived(&self, core: usize, page: PageKey, requested: Time) {
        let (now, port) = (self.clock.now(), &self.ports[core]);
        let lost = self.cores.nodes()[core].borrow_mut().record_arrived(page, now, &mut port.outbox.borrow_mut());
        let mut trip = Trip::begin(requested);
        trip.waited(ReadPart::Tree, now.since(requested));
        *self.lost.borrow_mut() += trip.lost(lost, now);
        self.settle_entries(core);
        self.wake_core(core);
    }

    /// A line goes up to its core, which has it in `rest`. Other misses that want it are heard in `delay`.
    fn arrive(&self, line: LineAddr, rest: Duration, delay: Duration) {
        if self.llc.borrow().inclusion() == Inclusion::Inclusive {
            // It may have been displaced while it waited for another core or for a link.
            self.pass_by(line);
        }
        self.come_up(line, rest, delay);
    }

    /// A line is in the L2 that asked for it, which owes it to a last-level cache that has it encrypted.
    pub fn arrived(&self, line: LineAddr) {
        let core = self.under_way.borrow_mut().of(line).map(|journey| journey.core);
        if let Some(core) = core.filter(|_| self.llc.borrow().is_unverified(line)) {
            self.cores.nodes()[core].borrow_mut().owe(line);
        }
        self.come_up(line, Duration::ZERO, Duration::ZERO);
    }

    /// A line comes to its core in `rest`, and is there for others in `delay`.
    fn come_up(&self, line: LineAddr, rest: Duration, delay: Duration) {
        let Some(journey) = self.under_way.borrow_mut().journeys.remove(&line) else { return };
        let Journey { core, permission, trip, changed, waiting, .. } = journey;
        let port = &self.ports[core];
        let at = self.clock.now() + rest;
        if let Some(excerpt) = self.excerpt.get() {
            excerpt.arrived(core, line, at);
        }
        let lost = self.cores.answer(core, line, at, permission, &mut port.outbox.borrow_mut());
        if lost > Duration::ZERO {
            *self.lost.borrow_mut() += trip.lost(lost, at);
        }
        self.settle_entries(core);
        if let Some(task) = port.task.get() {
            self.clock.wake(task);
        }
        for miss in waiting {
            self.misses.push(self.clock.now() + delay, miss);
        }
        if changed {
            self.changed_from_outside(line, true);
        }
        if self.comes_past_caches(line) {
            self.send_past_caches(line);
        }
    }
}
