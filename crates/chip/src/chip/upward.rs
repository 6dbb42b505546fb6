//! Lines on their way from the last-level cache's controller to a core.
//!
//! From its claim until its arrival, a line belongs to one request. Requests of other cores for the line wait. After
//! the arrival, the controller handles them as new requests, since another core may own the line now. Changes of the
//! line by the kernel wait as well. The tags of the private caches are updated at the moment when the line leaves the
//! controller, with its time of arrival. If the line may have to wait for links of the network, the tags are updated
//! when the line begins the last stretch of its way.

use super::Chip;
use super::in_flight::{Journey, Miss};
use crate::waits::RequestTrip;
use machine::coherence::{Claim, LineSupplier};
use machine::node::{PageKey, Request, RequestKind};
use protection::execution::ReadPart;
use units::{Duration, LineAddr, Time, Words};

impl Chip {
    /// Claims the line of a miss for the last-level cache's controller. Returns the supplier of the line and the cores
    /// that were probed, or `None` if the line is on its way to another core. The miss then waits until the line has
    /// arrived.
    pub fn claim(&self, miss: Miss) -> Option<Claim> {
        let Miss { core, line, kind, .. } = miss;
        if self.under_way.lets_wait(miss) {
            return None;
        }
        self.take_back_everything();
        let unverified = self.llc.is_unverified(line);
        let claim = self.cores.claim(core, line, kind);
        self.flush_entries(core, line, kind);
        self.under_way.begin(miss, claim.permission);
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
        if self.ports.count() == 1 {
            return;
        }
        for core in 0..self.ports.count() {
            let take_back = |request: &Request| {
                let stays = !request.kind.is_eviction();
                if !stays {
                    self.take_back(request.line, request.kind == RequestKind::WriteBack);
                }
                stays
            };
            self.ports.collect(core, |out| out.retain(take_back));
        }
    }

    /// Sends a claimed line, which is at its last-level cache slice after `delay`, to its core as soon as the links are
    /// free.
    pub fn deliver(&self, line: LineAddr, delay: Duration) {
        let Some(core) = self.under_way.core_of(line) else { return };
        if let Some(excerpt) = self.account.excerpt() {
            excerpt.set_off(core, line, self.clock.now());
        }
        if !self.latencies.network.has_links() {
            self.arrive(line, delay + self.latencies.network.way(core, line), delay);
            return;
        }
        let (clock, chip) = (self.clock.clone(), self.under_way.chip());
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
        let Some((core, trip)) = self.under_way.trip_of(line) else { return };
        let at = self.clock.now() + delay + self.latencies.network.way(core, line);
        let node = &self.cores.nodes()[core];
        let lost = self.ports.collect(core, |out| node.borrow_mut().arrived_in_part(line, words, at, out));
        self.account.lose_parts(trip.lost(lost, at));
        self.ports.wake(core);
        self.settle_entries(core);
    }

    /// Resumes a core: the record of a page that its TLBs requested at `requested` is on the chip.
    pub fn record_arrived(&self, core: usize, page: PageKey, requested: Time) {
        let (now, node) = (self.clock.now(), &self.cores.nodes()[core]);
        let lost = self.ports.collect(core, |out| node.borrow_mut().record_arrived(page, now, out));
        let mut trip = RequestTrip::begin(requested);
        trip.waited(ReadPart::Tree, now.since(requested));
        self.account.lose_parts(trip.lost(lost, now));
        self.settle_entries(core);
        self.ports.wake(core);
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
        if let Some(core) = self.under_way.core_of(line).filter(|_| self.llc.is_unverified(line)) {
            self.cores.nodes()[core].borrow_mut().caches_mut().l2.clean_victims.owe(line);
        }
        self.come_up(line, Duration::ZERO, Duration::ZERO);
    }

    /// Delivers a line to its core after `rest`; the waiting requests of other cores are handled after `delay`.
    fn come_up(&self, line: LineAddr, rest: Duration, delay: Duration) {
        let Some(journey) = self.under_way.end(line) else { return };
        let Journey { core, permission, trip, changed, waiting, .. } = journey;
        let at = self.clock.now() + rest;
        if let Some(excerpt) = self.account.excerpt() {
            excerpt.arrived(core, line, at);
        }
        let lost = self.ports.collect(core, |out| self.cores.answer(core, line, at, permission, out));
        if lost > Duration::ZERO {
            self.account.lose_parts(trip.lost(lost, at));
        }
        self.settle_entries(core);
        self.ports.wake(core);
        for miss in waiting {
            self.under_way.push_miss(self.clock.now() + delay, miss);
        }
        if changed {
            self.changed_from_outside(line, true);
        }
        if self.out.past_caches.has(line) {
            self.send_past_caches(line);
        }
    }
}
