//! Functional: every verb is ready at once. Real bytes, no time: what campaigns attack.

use crate::domain::{Completion, Registers};
use crate::execution::start_up::StartUp;
use crate::execution::{Outcomes, Untimed, Watch};
use crate::ledger::Ledger;
use crate::media::Media;
use crate::placement::DataSlot;
use crate::verbs::{Fault, Keystream, Plaintext, Role, Slot, Untrusted};
use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use units::{Line, LineAddr, Words};

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
    first: Cell<Option<(LineAddr, Plaintext, Words)>>,
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
            first: Cell::new(None),
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

    /// Changes a cell of the chips as if booting had left it so: the cell that a slot reaches, which is its own unless something
    /// on the bus leads elsewhere. The chip puts the line there, whatever cell that is.
    pub fn boot_cell(&self, cell: Slot, (slot, role): (Slot, Role), change: impl Fn(Untrusted) -> Untrusted) {
        let mut media = self.media.borrow_mut();
        let booted = change(media.read(cell));
        self.note_write(slot, role, &booted);
        media.store(cell, booted);
    }

    /// What the last access released, if it did; asking forgets it.
    pub fn take_released(&self) -> Option<(LineAddr, Plaintext)> {
        self.released.take()
    }

    /// The words that the last access released before the rest of their line, if the rest was not released; asking forgets
    /// it.
    pub fn take_released_first(&self) -> Option<(LineAddr, Plaintext, Words)> {
        self.first.take()
    }

    /// What was released before a verdict that then was bad, and so is on the chip and nowhere else; asking forgets it.
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

    /// Goes on with the registers that a loss of power has left.
    pub fn go_on_with(&self, registers: Registers) {
        self.registers.replace(registers);
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

impl Untimed for Functional {
    type Outcomes = Functional;

    fn outcomes(&self) -> &Functional {
        self
    }

    fn read(&self, slot: Slot) -> Untrusted {
        self.media.borrow().read(slot)
    }

    fn write(&self, slot: Slot, role: Role, content: Untrusted) {
        self.note_write(slot, role, &content);
        self.media.borrow_mut().store(slot, content);
    }

    fn started_with(&self, at: DataSlot) -> Option<Line> {
        let start_up = self.start_up.as_ref()?;
        // Of lines that move, their scheme knows which are there.
        (at.moves() || start_up.awaits(at.slot())).then(|| start_up.content(at.line()))
    }

    fn change_at_boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted) {
        self.boot_cell(slot, (slot, role), change);
    }

    fn pause(&self) -> impl Future<Output = ()> {
        ready(())
    }
}

impl Outcomes for Functional {
    fn keep(&self, completion: Completion) {
        self.registers.borrow_mut().set(&completion);
    }

    fn take_first(&self, line: LineAddr, plaintext: Plaintext, words: Words) {
        self.first.set(Some((line, plaintext, words)));
    }

    fn take(&self, line: LineAddr, plaintext: Plaintext) {
        self.first.set(None);
        self.released.set(Some((line, plaintext)));
    }

    fn judge(&self, _: LineAddr, good: bool) {
        if !good {
            self.refused.set(self.released.take());
        }
    }

    fn report(&self, fault: Fault) {
        self.fault.set(Some(fault));
    }

    fn note(&self, _: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        keystream().into_iter().for_each(|keystream| self.ledger.borrow_mut().note(keystream));
    }
}
