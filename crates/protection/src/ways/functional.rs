//! Functional: every verb is ready at once. Real bytes, no time: what campaigns attack.

use crate::domain::Registers;
use crate::ledger::Ledger;
use crate::media::Media;
use crate::placement::DataSlot;
use crate::verbs::{Fault, Keystream, LockName, Plaintext, Role, Slot, Untrusted, Verbs};
use crate::ways::Watch;
use crate::ways::start_up::StartUp;
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

/// A memory without time, its ledger of keystream, and what came out of it.
#[derive(Clone)]
pub struct Functional {
    /// The memory chips. Attackers may change them between accesses.
    pub media: RefCell<Media>,
    registers: RefCell<Registers>,
    ledger: RefCell<Ledger>,
    released: Cell<Option<(LineAddr, Plaintext)>>,
    refused: Cell<Option<(LineAddr, Plaintext)>>,
    fault: Cell<Option<Fault>>,
    start_up: Option<StartUp>,
}

impl Functional {
    /// A blank memory of this many slots, of a machine that starts with nothing.
    pub fn new(slots: u64) -> Functional {
        Functional {
            start_up: None,
            media: RefCell::new(Media::new(slots)),
            registers: RefCell::default(),
            ledger: RefCell::new(Ledger::default()),
            released: Cell::new(None),
            refused: Cell::new(None),
            fault: Cell::new(None),
        }
    }

    /// A blank memory of this many slots, of a machine that starts with a content drawn from `seed`.
    pub fn booting(slots: u64, seed: u64) -> Functional {
        Functional { start_up: Some(StartUp::new(seed)), ..Functional::new(slots) }
    }

    /// What the machine started with, if it did with anything.
    pub fn start_up_content(&self, line: LineAddr) -> Option<Line> {
        self.start_up.as_ref().map(|start_up| start_up.content(line))
    }

    /// Notes that the chip writes a slot, whatever becomes of it on the way to the chips: a line of data no longer has what
    /// the machine started with.
    pub fn note_write(&self, slot: Slot, role: Role, content: &Untrusted) {
        if let (Some(start_up), Role::Data, false) = (&self.start_up, role, content.is_blank()) {
            start_up.enter(slot);
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
    pub fn carry(&self, ledger: Ledger) {
        self.ledger.replace(ledger);
    }

    /// The ledger of keystream.
    pub fn ledger(&self) -> std::cell::Ref<'_, Ledger> {
        self.ledger.borrow()
    }
}

impl Watch for Functional {}

impl Verbs for Functional {
    type Guard<'a> = ();

    fn fetch(&self, slot: Slot, _: Role) -> impl Future<Output = Untrusted> {
        ready(self.media.borrow().read(slot))
    }

    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.note_write(slot, role, &content);
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

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        let start_up = self.start_up.as_ref()?;
        start_up.awaits(at.slot()).then(|| start_up.content(at.line()))
    }

    fn boot(&self, slot: Slot, role: Role, change: impl FnOnce(Untrusted) -> Untrusted) {
        let mut media = self.media.borrow_mut();
        let booted = change(media.read(slot));
        self.note_write(slot, role, &booted);
        media.store(slot, booted);
    }

    fn spend(&self, _: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        keystream().into_iter().for_each(|keystream| self.ledger.borrow_mut().note(keystream));
    }
}
