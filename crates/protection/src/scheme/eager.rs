//! The read that an L2 begins: the same work, at another place and earlier (EMCC: Wang, Kotra and Jian, "Eager Memory
//! Cryptography in Caches", MICRO 2022).
//!
//! ```text
//! L2:          look for a copy of the counters ─ ask the last-level cache ─ outwait its hit ─ pad ────────┐
//! request:     last-level cache ─ controller ─ fetch ciphertext ─ stored tag ^ product ─ back to the L2 ──┴ compare ─ release
//!                                                  └ without counters from above: as any read, at the controller
//! ```
//! The controller alone fetches counters from memory and verifies them; L2s get copies of what it vouches for, from the
//! last-level cache or from itself. An L2 that would have to wait long for its AES units leaves the line to the controller
//! with the request. What begins here is the work for one line: the controller's part of it is in [`read`](super::read).

use super::Scheme;
use super::early::Early;
use super::read::Arrived;
use crate::metadata::FoundIn;
use crate::planted::Bug;
use crate::verbs::{AesUnits, Cache, Exit, Fault, Leg, Plaintext, Role, Slot, Verbs};
use sim::join;
use std::cell::Cell;
use std::future::{Future, Ready, poll_fn, ready};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use units::{Line, LineAddr};

/// What an L2 can do for a line that it misses.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// It has the counters, from there, and pads.
    Counters(Line, FoundIn),
    /// Neither it nor the last-level cache has them, which the controller knows by now.
    Nothing,
    /// Its AES units are busy: the request says that the controller is to do it all.
    LeftToController,
}

/// A read that an L2 has begun.
pub(super) struct Begun {
    core: usize,
    slot: Slot,
    /// Whether the L2 has told the controller that it expects the line in memory.
    predicted: bool,
    found: Cell<Option<Found>>,
    padded: Cell<bool>,
    /// Whether the line comes from memory, as soon as that is known: if not, there is nothing to decrypt.
    from_memory: Cell<Option<bool>>,
    /// The L2 asked the last-level cache for the counters, and no copy of them came of it.
    asked_in_vain: Cell<bool>,
    /// Whether the line of counters has changed since the read began.
    changed: Rc<Cell<bool>>,
}

impl Begun {
    /// The first that is found counts.
    fn find(&self, found: Found) {
        self.found.set(self.found.get().or(Some(found)));
    }

    /// What the L2 can do, as soon as that is known.
    pub async fn found(&self) -> Found {
        poll_fn(|_| self.found.get().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Whether what the L2 has found is no longer so.
    pub fn is_void(&self) -> bool {
        self.changed.get()
    }

    /// Whether the line is known to come from memory.
    fn is_from_memory(&self) -> bool {
        self.from_memory.get() == Some(true)
    }

    async fn padded(&self) {
        poll_fn(|_| if self.padded.get() { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

impl Scheme {
    /// Whether L2s begin reads.
    pub fn is_eager(&self) -> bool {
        self.metadata.on_chip(|chip| chip.copies.is_some())
    }

    /// Data lines whose counters share a line, if there are counters.
    pub fn lines_per_counter_line(&self) -> Option<u64> {
        self.counters.exist().then(|| self.counters.lines_per_group())
    }

    /// Lets the L2 of a core begin reads from now on, or leave all to the controller and keep no copies.
    pub fn let_begin(&self, core: usize, begins: bool) {
        self.metadata.on_copies(|copies| copies.let_begin(core, begins));
    }

    /// Moves the counters of a line on to the last-level cache, as if others had needed their place.
    pub fn hand_on_counters(&self, line: LineAddr) {
        if let Some(slot) = self.counter_slot(line) {
            self.metadata.on_chip(|chip| chip.hand_on(slot));
        }
    }

    /// Reads a line for a core, whose L2 begins the read if L2s do: releases its plaintext, or reports why not.
    pub async fn read_by<V: Verbs>(&self, verbs: &V, line: LineAddr, core: usize) {
        self.read_from(verbs, line, core, ready(true), None::<Ready<()>>).await;
    }

    /// As [`Scheme::read_by`], of a line that the L2 of `core` misses.
    ///
    /// `request` is the request's way to the controller, and says whether it came there: it does not if the line is found
    /// on the chip. `prediction` is what is left of the way of the L2's message that it expects the line in memory, if
    /// it does: the message left when the L2's look-up began.
    pub async fn read_from<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        core: usize,
        request: impl Future<Output = bool>,
        prediction: Option<impl Future<Output = ()>>,
    ) {
        let early = Early::default();
        let asked = pin!(async {
            let comes = request.await;
            early.settle();
            comes
        });
        let predicted = prediction.is_some();
        // The fetch first: what it brings must be there when the read looks.
        join!(
            self.fetch_early(verbs, line, prediction, &early),
            self.read_asked(verbs, line, (core, predicted), asked, &early)
        );
    }

    /// A read whose fetch may begin early, elsewhere.
    async fn read_asked<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        (core, predicted): (usize, bool),
        request: impl Future<Output = bool>,
        early: &Early,
    ) {
        let asker = Scheme::tenant(line);
        let started = self.counter_slot(line).and_then(|slot| {
            let changed = self.metadata.on_copies(|copies| copies.begin(core, slot))??;
            let (found, padded, from_memory, asked_in_vain) = Default::default();
            Some(Begun { core, slot, predicted, found, padded, from_memory, asked_in_vain, changed })
        });
        let Some(begun) = &started else {
            if request.await {
                let outcome = Box::pin(self.try_read(verbs, line, asker, None, early)).await;
                self.finish(verbs, outcome).await;
            }
            return;
        };
        let at_controller = async {
            let from_memory = request.await;
            begun.from_memory.set(Some(from_memory));
            if from_memory {
                self.metadata.on_copies(|copies| copies.serve(begun.core, begun.slot));
                // Boxed: what is around it is moved for every request, and most need no memory.
                return Box::pin(self.try_read(verbs, line, asker, Some(begun), early)).await;
            }
            Ok(())
        };
        let ((), outcome) = join!(self.begin_in_l2(verbs, line, begun), at_controller);
        if outcome.is_ok() && matches!(begun.found.get(), Some(Found::Nothing)) && begun.is_from_memory() {
            self.send_copy(verbs, begun).await;
        }
        self.metadata.on_copies(|copies| {
            copies.end(&begun.changed);
            copies.seen.useless += u64::from(begun.asked_in_vain.get() && !begun.is_from_memory());
        });
        self.finish(verbs, outcome).await;
    }

    /// The L2's side. AES units are not used before it is clear that the line comes from memory, and only for counters that
    /// were on the chip.
    async fn begin_in_l2<V: Verbs>(&self, verbs: &V, line: LineAddr, begun: &Begun) {
        let blocks = self.blocks();
        let left = !verbs.take_on(begun.core, line, blocks, begun.predicted);
        if left {
            begun.find(Found::LeftToController);
        }
        let hit_is_over = verbs.outwait_hit(begun.core, line);
        if !self.copy_of_counters(verbs, begun).await || left {
            return;
        }
        let counter = self.decode(verbs);
        hit_is_over.await;
        if begun.from_memory.get() != Some(false) {
            verbs.pad(AesUnits::L2(begun.core), blocks, counter).await;
            begun.padded.set(true);
        }
    }

    /// Whether the L2 gets the counters, from its own copy or else from the last-level cache, of which it then gets one. The
    /// controller hears of it only where both lack them: a line whose counters are on their way to the L2 leaves as ciphertext.
    async fn copy_of_counters<V: Verbs>(&self, verbs: &V, begun: &Begun) -> bool {
        let Begun { core, slot, .. } = *begun;
        verbs.look_up(Cache::L2(Role::Counter)).await;
        let copy = self.metadata.on_copies(|copies| copies.look_up(core, slot)).flatten();
        if let Some(counters) = copy {
            begun.find(Found::Counters(counters, FoundIn::L2));
            return true;
        }
        verbs.travel(Leg::Request(core, slot.on_chip())).await;
        self.count(|counted| counted.counters_found.looked_up_in_last_level += 1);
        let Some(counters) = self.metadata.on_chip(|chip| chip.shared(slot)) else {
            begun.asked_in_vain.set(true);
            verbs.travel(Leg::ToController).await;
            begun.find(Found::Nothing);
            return false;
        };
        begun.find(Found::Counters(counters, FoundIn::LastLevel));
        verbs.travel(Leg::Answer(core, slot.on_chip())).await;
        self.enter_copy(begun, &counters);
        true
    }

    /// The controller answers the L2's request for counters that were not on their way.
    async fn send_copy<V: Verbs>(&self, verbs: &V, begun: &Begun) {
        let Some(counters) = self.metadata.on_chip(|chip| chip.peek(Role::Counter, begun.slot)) else { return };
        verbs.travel(Leg::FromController).await;
        verbs.travel(Leg::Answer(begun.core, begun.slot.on_chip())).await;
        self.enter_copy(begun, &counters);
    }

    /// A copy arrives in an L2, unless the line has changed since it was asked for.
    fn enter_copy(&self, begun: &Begun, counters: &Line) {
        begun.asked_in_vain.set(begun.is_void());
        if !begun.is_void() || self.planted.has(Bug::OutdatedCopyEnters) {
            self.metadata.on_chip(|chip| chip.enter_copy(begun.core, begun.slot, counters, begun.is_from_memory()));
        }
    }

    /// Ends a read in the L2: the controller takes the product of the ciphertext off the stored tag and sends both; the L2
    /// compares what is left with the mask, decrypts and releases.
    pub(super) async fn open_in_private<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived,
        begun: &Begun,
    ) -> Result<(), Fault> {
        let Arrived { at, counter, stored, tag, .. } = *arrived;
        let line = at.line();
        let ciphertext = stored.examine();
        let Some(mac) = &self.mac else { unreachable!("a design without tags does not begin reads in L2s") };
        verbs.mac().await;
        let left_of_tag = mac.without_product(tag, &ciphertext);
        verbs.travel(Leg::FromController).await;
        verbs.travel(Leg::Answer(begun.core, line)).await;
        begun.padded().await;
        if !mac.fits(left_of_tag, mac.mask(at, counter)) {
            return Err(Fault::Tag(line));
        }
        let bytes = self.cipher.open(at, counter, &ciphertext);
        verbs.release(line, Plaintext { bytes, verified: true }, Exit::L2);
        Ok(())
    }
}
