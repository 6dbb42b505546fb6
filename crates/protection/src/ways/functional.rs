//! Functional: every verb is ready at once. Real bytes, no time: what campaigns attack.

use crate::domain::Registers;
use crate::ledger::PadLedger;
use crate::media::Media;
use crate::verbs::{Fault, LockName, Plaintext, Role, Slot, Untrusted, Verbs};
use crate::ways::Watch;
use crypto::Nonce;
use sim::lock::Mode;
use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use units::{Line, LineAddr};

/// Runs a text whose verbs are all ready at once.
///
/// # Panics
/// If the text waits for something: then it was not run on [`Functional`].
pub fn run_now<T>(text: impl Future<Output = T>) -> T {
    match pin!(text).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a functional run never waits"),
    }
}

/// A memory without time, its ledger of pads, and what came out of it.
#[derive(Clone)]
pub struct Functional {
    /// The memory chips. Attackers may change them between accesses.
    pub media: RefCell<Media>,
    registers: RefCell<Registers>,
    ledger: RefCell<PadLedger>,
    released: Cell<Option<(LineAddr, Plaintext)>>,
    refused: Cell<Option<(LineAddr, Plaintext)>>,
    fault: Cell<Option<Fault>>,
}

impl Functional {
    /// A blank memory of this many slots.
    pub fn new(slots: u64) -> Functional {
        Functional {
            media: RefCell::new(Media::new(slots)),
            registers: RefCell::default(),
            ledger: RefCell::new(PadLedger::default()),
            released: Cell::new(None),
            refused: Cell::new(None),
            fault: Cell::new(None),
        }
    }

    /// What the last access released, if it did; asking forgets it.
    pub fn take_released(&self) -> Option<(LineAddr, Plaintext)> {
        self.released.take()
    }

    /// What was released ahead of a verdict that then was bad, and so is on the chip and nowhere else; asking forgets it.
    pub fn take_refused(&self) -> Option<(LineAddr, Plaintext)> {
        self.refused.take()
    }

    /// The tampering that the last access reported, if it did; asking forgets it.
    pub fn take_fault(&self) -> Option<Fault> {
        self.fault.take()
    }

    /// The registers that outlive power.
    pub fn registers(&self) -> Registers {
        self.registers.borrow().clone()
    }

    /// Goes on with the ledger of a machine that had the same keys before.
    pub fn carry(&self, ledger: PadLedger) {
        self.ledger.replace(ledger);
    }

    /// The ledger of pads.
    pub fn ledger(&self) -> std::cell::Ref<'_, PadLedger> {
        self.ledger.borrow()
    }
}

impl Watch for Functional {}

impl Verbs for Functional {
    type Guard<'a> = ();

    fn fetch(&self, slot: Slot, _: Role) -> impl Future<Output = Untrusted> {
        ready(self.media.borrow().read(slot))
    }

    fn store(&self, slot: Slot, _: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.media.borrow_mut().store(slot, content);
        ready(())
    }

    fn complete(&self, registers: Registers) {
        self.registers.replace(registers);
    }

    fn lock(&self, _: LockName, _: Mode) -> impl Future<Output = ()> {
        ready(())
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext) {
        self.released.set(Some((line, plaintext)));
    }

    fn settle(&self, _: LineAddr, good: bool) {
        if !good {
            self.refused.set(self.released.take());
        }
    }

    fn fault(&self, fault: Fault) {
        self.fault.set(Some(fault));
    }

    fn boot(&self, _: LineAddr, _: impl FnOnce(&mut Media, &Line) -> Option<Nonce>) {}

    fn sealed(&self, nonce: &Nonce, plaintext: &Line) {
        self.ledger.borrow_mut().note(nonce, plaintext);
    }
}
