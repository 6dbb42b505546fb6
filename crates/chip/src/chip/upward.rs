//! Lines on their way from the last-level cache's controller to a core.
//!
//! From its claim until its arrival, a line belongs to one request. Requests of other cores for the line wait. After
//! the arrival, the controller handles them as new requests, since another core may own the line now. Changes of the
//! line by the kernel wait as well. The tags of the private caches are updated at the moment when the line leaves the
//! controller, with its time of arrival. If the line may have to wait for links of the network, the tags are updated
//! when the line begins the last stretch of its way.

use super::Chip;
use super::direct::DirectReads;
use crate::waits::RequestTrip;
use machine::coherence::{Claim, LineSupplier};
use machine::node::{PageKey, Permission, Request, RequestKind};
use protection::execution::ReadPart;
use rustc_hash::FxHashMap;
use sim::TaskId;
use std::cell::{Cell, RefCell};
use std::rc::Weak;
use units::{Duration, LineAddr, Time, Word, Words};

/// Interface of one core to the chip.
#[derive(Default)]
pub struct Port {
    /// Requests that left the private caches and that the chip has not handled yet.
    outbox: RefCell<Vec<Request>>,
    /// The task that runs the core.
    task: Cell<Option<TaskId>>,
}

impl Port {
    /// Lines with stores that left the private caches and that the chip has not handled yet.
    pub(super) fn stored(&self) -> Vec<LineAddr> {
        self.outbox.borrow().iter().filter(has_stores).map(|request| request.line).collect()
    }

    /// True if `stored` contains the line.
    pub fn has_stored(&self, line: LineAddr) -> bool {
        self.outbox.borrow().iter().filter(has_stores).any(|request| request.line == line)
    }
}

fn has_stores(request: &&Request) -> bool {
    matches!(request.kind, RequestKind::WriteBack | RequestKind::PastCaches)
}

/// Request of a core for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    /// Index of the core.
    pub core: usize,
    /// Address of the line.
    pub line: LineAddr,
    /// Critical word: the word that the core needs first.
    pub word: Word,
    /// Kind of the request.
    pub kind: RequestKind,
    /// Time at which the request left the L2.
    pub left: Time,
    /// True if the request is still in the L2, which then begins the read.
    pub in_l2: bool,
}

/// State of a line on its way to a core.
#[derive(Debug)]
pub struct Journey {
    core: usize,
    permission: Permission,
    /// Time of the request to memory, if memory was involved.
    pub requested_at: Option<Time>,
    /// Parts of the latency of the request.
    pub trip: RequestTrip,
    /// True if the kernel changed the line since its claim.
    pub changed: bool,
    /// Other misses that wait for the line, in order of arrival.
    waiting: Vec<Miss>,
}

/// All lines on their way.
pub struct LinesInFlight {
    /// Chip that the lines belong to.
    chip: Weak<Chip>,
    journeys: FxHashMap<LineAddr, Journey>,
    /// Reads that bypass the caches.
    pub(super) direct: DirectReads,
}

impl LinesInFlight {
    /// Creates an empty set of journeys for `chip`.
    pub fn new(chip: Weak<Chip>) -> LinesInFlight {
        LinesInFlight { chip, journeys: FxHashMap::default(), direct: DirectReads::default() }
    }

    /// Journey of a line that is on its way.
    pub fn of(&mut self, line: LineAddr) -> Option<&mut Journey> {
        self.journeys.get_mut(&line)
    }
}

impl Chip {
    /// Sets the task that runs a core; the chip wakes it whenever a line arrives.
    pub fn set_core_task(&self, core: usize, task: TaskId) {
        self.ports[core].task.set(Some(task));
    }

    /// Wakes the task that runs a core.
    pub fn wake_core(&self, core: usize) {
        if let Some(task) = self.ports[core].task.get() {
            self.clock.wake(task);
        }
    }

    /// Requests that left a core's private caches and that the chip has not handled yet.
    pub fn outbox(&self, core: usize) -> &RefCell<Vec<Request>> {
        &self.ports[core].outbox
    }

    /// Claims the line of a miss for the last-level cache's controller. Returns the supplier of the line and the cores
    /// that were probed, or `None` if the line is on its way to another core. The miss then waits until the line has
    /// arrived.
    pub fn claim(&self, miss: Miss) -> Option<Claim> {
        let Miss { core, line, kind, left, .. } = miss;
        if let Some(journey) = self.under_way.borrow_mut().of(line) {
            journey.waiting.push(Miss { in_l2: false, ..miss });
            return None;
        }
        self.take_back_everything();
        let unverified = self.llc.is_unverified(line);
        let claim = self.cores.claim(core, line, kind);
        self.flush_entries(core, line, kind);
        let Claim { permission, .. } = claim;
        let journey = Journey {
            core,
            permission,
            requested_at: None,
            trip: RequestTrip::begin(left),
            changed: false,
            waiting: Vec::new(),
        };
        self.under_way.borrow_mut().journeys.insert(line, journey);
        match claim.supplier {
            LineSupplier::Core { dirty: true, .. } => self.take_back(line, true),
            LineSupplier::Core { dirty: false, .. } => self.pass_by(line),
            LineSupplier::Itself | LineSupplier::Below => {}
        }
        self.llc.count(|counts| {
            counts.upgrades += u64::from(claim.supplier == LineSupplier::Itself);
            let from_core = matches!(claim.supplier, LineSupplier::Core { .. });
            counts.from_cores += u64::from(from_core);
            counts.from_cores_unverified += u64::from(from_core && unverified);
            counts.probes += claim.probed.iter().count() as u64;
        });
        Some(claim)
    }

    /// Handles the evictions of all cores now, so that they precede the request of another core.
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

    /// Adds a time for which a line waited on its way to the latency parts of the line's request.
    pub fn waited(&self, line: LineAddr, part: ReadPart, time: Duration) {
        if let Some(journey) = self.under_way.borrow_mut().of(line) {
            journey.trip.waited(part, time);
        }
    }

    /// Sends a claimed line, which is at its last-level cache slice after `delay`, to its core as soon as the links are
    /// free.
    pub fn deliver(&self, line: LineAddr, delay: Duration) {
        let Some(core) = self.under_way.borrow_mut().of(line).map(|journey| journey.core) else { return };
        if let Some(excerpt) = self.account.excerpt() {
            excerpt.set_off(core, line, self.clock.now());
        }
        if !self.latencies.network.has_links() {
            self.arrive(line, delay + self.latencies.network.way(core, line), delay);
            return;
        }
        let (clock, chip) = (self.clock.clone(), self.under_way.borrow().chip.clone());
        self.clock.spawn(async move {
            clock.sleep(delay).await;
            let Some(chip) = chip.upgrade() else { return };
            chip.latencies.network.carry(&clock, core, line).await;
            chip.arrive(line, chip.latencies.network.shortest(), Duration::ZERO);
        });
    }

    /// Sends the first words of a claimed line, which are at its last-level cache slice after `delay`, to its core
    /// before the remaining words. If the network has links, the words wait for the whole line, since links carry whole
    /// lines.
    pub fn deliver_first(&self, line: LineAddr, words: Words, delay: Duration) {
        if self.latencies.network.has_links() {
            return;
        }
        let mut under_way = self.under_way.borrow_mut();
        let Some(Journey { core, trip, .. }) = under_way.of(line) else { return };
        let (at, port) = (self.clock.now() + delay + self.latencies.network.way(*core, line), &self.ports[*core]);
        let mut node = self.cores.nodes()[*core].borrow_mut();
        let lost = node.arrived_in_part(line, words, at, &mut port.outbox.borrow_mut());
        drop(node);
        self.account.lose_parts(trip.lost(lost, at));
        if let Some(task) = port.task.get() {
            self.clock.wake(task);
        }
        let core = *core;
        drop(under_way);
        self.settle_entries(core);
    }

    /// Resumes a core: the record of a page that its TLBs requested at `requested` is on the chip.
    pub fn record_arrived(&self, core: usize, page: PageKey, requested: Time) {
        let (now, port) = (self.clock.now(), &self.ports[core]);
        let lost = self.cores.nodes()[core].borrow_mut().record_arrived(page, now, &mut port.outbox.borrow_mut());
        let mut trip = RequestTrip::begin(requested);
        trip.waited(ReadPart::Tree, now.since(requested));
        self.account.lose_parts(trip.lost(lost, now));
        self.settle_entries(core);
        self.wake_core(core);
    }

    /// Sends a line up to its core, where it arrives after `rest`. Other misses for the line are handled again after
    /// `delay`.
    fn arrive(&self, line: LineAddr, rest: Duration, delay: Duration) {
        if self.llc.is_inclusive() {
            // Another line may have displaced this line from the last-level cache while it waited for another core or
            // for a link.
            self.pass_by(line);
        }
        self.come_up(line, rest, delay);
    }

    /// Delivers a line to the L2 that read it. If the last-level cache has the line encrypted, the L2 must send the
    /// plaintext later, even if it evicts the line clean.
    pub fn arrived(&self, line: LineAddr) {
        let core = self.under_way.borrow_mut().of(line).map(|journey| journey.core);
        if let Some(core) = core.filter(|_| self.llc.is_unverified(line)) {
            self.cores.nodes()[core].borrow_mut().owe(line);
        }
        self.come_up(line, Duration::ZERO, Duration::ZERO);
    }

    /// Delivers a line to its core after `rest`; the waiting requests of other cores are handled after `delay`.
    fn come_up(&self, line: LineAddr, rest: Duration, delay: Duration) {
        let Some(journey) = self.under_way.borrow_mut().journeys.remove(&line) else { return };
        let Journey { core, permission, trip, changed, waiting, .. } = journey;
        let port = &self.ports[core];
        let at = self.clock.now() + rest;
        if let Some(excerpt) = self.account.excerpt() {
            excerpt.arrived(core, line, at);
        }
        let lost = self.cores.answer(core, line, at, permission, &mut port.outbox.borrow_mut());
        if lost > Duration::ZERO {
            self.account.lose_parts(trip.lost(lost, at));
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
        if self.out.past_caches.has(line) {
            self.send_past_caches(line);
        }
    }
}
