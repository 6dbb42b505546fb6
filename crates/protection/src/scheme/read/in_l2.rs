//! A read that an L2 begins: the L2 decrypts and verifies the line, earlier than the controller could. Source: EMCC (Wang, Kotra and
//! Jian, "Eager Memory Cryptography in Caches", MICRO 2022).
//!
//! ```text
//! L2:          look for a copy of the counters ─ ask the last-level cache ─ outwait its hit ─ pad ────────┐
//! request:     last-level cache ─ controller ─ fetch ciphertext ─ stored tag ^ product ─ back to the L2 ──┴ compare ─ release
//!                                                  └ without counters from above: as any read, at the controller
//! ```
//! Only the controller fetches counters from memory and verifies them. L2s get copies of verified counters, from the
//! last-level cache or from the controller. If an L2 would have to wait long for its AES units, it leaves the read to
//! the controller, and the request says so. This file contains the L2's part of the read; the controller's part is in
//! the [stages of a read](super).

use super::DataAccess;
use super::early::PredictedFetch;
use crate::codec::Arrived;
use crate::metadata::FoundIn;
use crate::ownership::Asker;
use crate::planted::Bug;
use crate::slot::{Role, Slot};
use crate::verbs::{AesUnits, Cache, Exit, Fault, Leg, Plaintext, Verbs};
use sim::{Once, join};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use units::{Line, LineAddr, Word};

/// Request of a core for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Address of the line.
    pub line: LineAddr,
    /// The word that the core needs first.
    pub word: Word,
    /// Index of the core.
    pub core: usize,
}

impl Demand {
    /// Returns the request of a core for the first word of a line.
    pub fn of(line: LineAddr, core: usize) -> Demand {
        Demand { line, word: Word::FIRST, core }
    }
}

/// Part of the read that an L2 can do for a line that it misses.
#[derive(Clone, Copy)]
pub(super) enum L2LookUp {
    /// The L2 has the counters, from this place, and computes the pads.
    Counters(Line, FoundIn),
    /// Neither the L2 nor the last-level cache has the counters, and the controller has been notified.
    Nothing,
    /// The L2's AES units are busy: the request leaves the whole read to the controller.
    LeftToController,
}

/// A read that an L2 has begun.
pub(in crate::scheme) struct L2Read<'a, V> {
    access: DataAccess<'a, V>,
    core: usize,
    /// Slot of the line's counters.
    slot: Slot,
    /// True if the L2 has sent the controller its prediction that the line is in memory.
    predicted: bool,
    /// First result of the L2's part of the read; later results are ignored.
    found: Once<L2LookUp>,
    padded: Once<()>,
    /// Set once the source of the line is known: true if it is memory, false if the L2 need not decrypt the line.
    from_memory: Once<bool>,
    /// True if the L2 requested the counters from the last-level cache, and has not received a valid copy.
    requested_in_vain: Cell<bool>,
    /// True if the counter line has changed since the read began.
    changed: Rc<Cell<bool>>,
}

/// Reads a line that a core's L2 misses, with the three futures of [`Scheme::read_from`](super::super::Scheme::read_from).
pub(in crate::scheme) async fn read_missed<V: Verbs>(
    access: DataAccess<'_, V>,
    core: usize,
    missed: impl Future<Output = ()>,
    request: impl Future<Output = bool>,
    prediction: Option<impl Future<Output = ()>>,
) {
    let early = PredictedFetch::default();
    let answered = pin!(async {
        let comes = request.await;
        early.settle();
        comes
    });
    let predicted = prediction.is_some();
    // The fetch is polled first: its line must have arrived when the read checks for it.
    let read = async {
        missed.await;
        let outcome = read_requested(access, (core, predicted), answered, &early).await;
        access.scheme.finish(access.verbs, outcome).await;
    };
    join!(early.fetch(&access, prediction), read);
}

/// Reads a line after its request; `early` may already fetch the line.
async fn read_requested<'a, V: Verbs>(
    access: DataAccess<'a, V>,
    (core, predicted): (usize, bool),
    request: impl Future<Output = bool>,
    early: &PredictedFetch,
) -> Result<(), Fault> {
    let at_controller = |begun| access.read(Asker::tenant(access.line()), begun, early);
    let Some(begun) = L2Read::new(access, core, predicted) else {
        // Boxed: the enclosing future is moved for every request, and most need no memory.
        return if request.await { Box::pin(at_controller(None)).await } else { Ok(()) };
    };
    let at_controller = async {
        let from_memory = request.await;
        begun.from_memory.set(from_memory);
        if from_memory {
            access.scheme.metadata.on_copies(|copies| copies.serve(begun.core, begun.slot));
            return Box::pin(at_controller(Some(&begun))).await;
        }
        Ok(())
    };
    let ((), outcome) = join!(begun.work_in_l2(), at_controller);
    if outcome.is_ok() && begun.found_nothing() && begun.is_from_memory() {
        begun.send_copy().await;
    }
    begun.end();
    outcome
}

impl<'a, V: Verbs> L2Read<'a, V> {
    /// Returns a read that the L2 of this core begins; `None` if the L2 begins no read.
    fn new(access: DataAccess<'a, V>, core: usize, predicted: bool) -> Option<L2Read<'a, V>> {
        let slot = access.counter_slot()?;
        let changed = access.scheme.metadata.on_copies(|copies| copies.begin(core, slot))??;
        let (found, padded, from_memory, requested_in_vain) = Default::default();
        Some(L2Read { access, core, slot, predicted, found, padded, from_memory, requested_in_vain, changed })
    }

    /// Waits for the part of the read that the L2 can do.
    pub(super) async fn found(&self) -> &L2LookUp {
        self.found.wait().await
    }

    fn found_nothing(&self) -> bool {
        matches!(self.found.get(), Some(L2LookUp::Nothing))
    }

    /// Returns true if the counters that the L2 found have changed.
    pub(super) fn is_void(&self) -> bool {
        self.changed.get()
    }

    /// Returns true if the line is known to arrive from memory.
    fn is_from_memory(&self) -> bool {
        self.from_memory.get() == Some(&true)
    }

    /// Performs the L2's part of the read. The L2 uses its AES units only after the wait for the last-level cache's
    /// hit, and only for counters that were on the chip.
    async fn work_in_l2(&self) {
        let DataAccess { scheme, verbs, .. } = self.access;
        let (line, blocks) = (self.access.line(), scheme.codec.work.blocks());
        let left = !verbs.take_on(self.core, line, blocks, self.predicted);
        if left {
            self.found.set(L2LookUp::LeftToController);
        }
        let hit_is_over = verbs.outwait_hit(self.core, line);
        if !self.copy_of_counters().await || left {
            return;
        }
        let counter = scheme.codec.work.decode(verbs);
        hit_is_over.await;
        if self.from_memory.get() != Some(&false) {
            let pad = verbs.pad(AesUnits::L2(self.core), scheme.codec.work.early_in_l2(), counter);
            verbs.await_blocks(pad).await;
            self.padded.set(());
        }
    }

    /// Returns true if the L2 gets the counters: from its copy, or from the last-level cache, which then also sends it
    /// a copy. The L2 notifies the controller only if both look-ups miss. If the L2 gets the counters, the controller
    /// sends the line as ciphertext.
    async fn copy_of_counters(&self) -> bool {
        let L2Read { access: DataAccess { scheme, verbs, .. }, core, slot, .. } = *self;
        verbs.look_up(Cache::L2(Role::Counter)).await;
        let copy = scheme.metadata.on_copies(|copies| copies.look_up(core, slot)).flatten();
        if let Some(counters) = copy {
            self.found.set(L2LookUp::Counters(counters, FoundIn::L2));
            return true;
        }
        verbs.travel(Leg::Request(core, slot.on_chip())).await;
        scheme.counted.change(|counted| counted.counters_found.looked_up_in_last_level += 1);
        let Some(counters) = scheme.metadata.on_chip(|chip| chip.shared(slot)) else {
            self.requested_in_vain.set(true);
            verbs.travel(Leg::ToController).await;
            self.found.set(L2LookUp::Nothing);
            return false;
        };
        self.found.set(L2LookUp::Counters(counters, FoundIn::LastLevel));
        verbs.travel(Leg::Answer(core, slot.on_chip())).await;
        self.enter_copy(&counters);
        true
    }

    /// Sends a copy from the controller to the L2 that requested the counters, if the controller's cache has them.
    async fn send_copy(&self) {
        let DataAccess { scheme, verbs, .. } = self.access;
        let peek = scheme.metadata.on_chip(|chip| chip.caches.peek(Role::Counter, self.slot));
        let Some(counters) = peek else { return };
        verbs.travel(Leg::FromController).await;
        verbs.travel(Leg::Answer(self.core, self.slot.on_chip())).await;
        self.enter_copy(&counters);
    }

    /// Enters a copy in the L2, unless the counter line has changed since the read began.
    fn enter_copy(&self, counters: &Line) {
        self.requested_in_vain.set(self.is_void());
        let scheme = self.access.scheme;
        if !self.is_void() || scheme.planted.has(Bug::OutdatedCopyEnters) {
            let from_memory = self.is_from_memory();
            scheme.metadata.on_chip(|chip| chip.enter_copy(self.core, self.slot, counters, from_memory));
        }
    }

    /// Ends the read. Counts a useless request if the request for counters left the L2 without a valid copy, and the
    /// line was not in memory.
    fn end(&self) {
        self.access.scheme.metadata.on_copies(|copies| {
            copies.end(&self.changed);
            copies.seen.useless += u64::from(self.requested_in_vain.get() && !self.is_from_memory());
        });
    }

    /// Ends a read in the L2. The controller XORs the product of the ciphertext to the stored tag, and sends the result
    /// and the ciphertext to the L2. The L2 compares the result with the mask, decrypts the line and releases it to the
    /// core.
    pub(super) async fn release(&self, arrived: &Arrived<'_>) -> Result<(), Fault> {
        let Arrived { at, counter, ref stored, ref tag, .. } = *arrived;
        let (verbs, codec, line) = (self.access.verbs, &self.access.scheme.codec, at.line());
        let Some(mac) = &codec.mac else { unreachable!("a design without tags does not begin reads in L2s") };
        verbs.mac().await;
        let left_of_tag = mac.without_product(tag.get(), &stored.examine());
        verbs.travel(Leg::FromController).await;
        verbs.travel(Leg::Answer(self.core, line)).await;
        self.padded.wait().await;
        if !mac.fits(left_of_tag, mac.mask(at, counter)) {
            return Err(Fault::Tag(line));
        }
        let bytes = codec.decrypt(at, counter, stored);
        verbs.release(line, Plaintext { bytes, verified: true }, Exit::L2);
        Ok(())
    }
}
