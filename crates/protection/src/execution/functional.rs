//! Functional runner: every verb completes at once. It reads and writes real bytes without time; campaigns attack this
//! runner.

use crate::domain::{RegisterUpdate, Registers};
use crate::execution::start_up::StartUp;
use crate::execution::{Outcomes, Untimed};
use crate::ledger::Ledger;
use crate::media::Media;
use crate::placement::DataSlot;
use crate::verbs::{Fault, Keystream, Plaintext, Role, Slot, Untrusted};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use units::{Line, LineAddr, Words};

/// Executes the code of a scheme with verbs that all complete at once.
///
/// # Panics
/// If the code waits: then its verbs were not those of a runner without time.
pub fn run_now<T>(text: impl Future<Output = T>) -> T {
    match pin!(text).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a functional run never waits"),
    }
}

/// A memory without time, its ledger of keystream, and the outcomes of its accesses.
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
    /// Returns a blank memory of this many slots, for a machine that starts empty.
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

    /// Returns a blank memory of this many slots, for a machine with start-up content drawn from `seed`.
    pub fn booting(slots: u64, seed: u64) -> Functional {
        Functional { start_up: Some(StartUp::new(seed)), ..Functional::new(slots) }
    }

    /// Returns the start-up content of a line, if the machine starts with any.
    pub fn start_up_content(&self, line: LineAddr) -> Option<Line> {
        self.start_up.as_ref().map(|start_up| start_up.content(line))
    }

    /// Notes that the chip writes a slot, even if an attacker changes the write on the bus: a line of data no longer
    /// has its start-up content.
    pub fn note_write(&self, slot: Slot, role: Role, content: &Untrusted) {
        if let (Some(start_up), Role::Data, false) = (&self.start_up, role, content.is_blank()) {
            start_up.enter(slot);
        }
    }

    /// Changes a memory cell as if booting had written this content. `cell` is the cell that an access to the slot
    /// reaches: the slot's own cell, unless an attack on the bus redirects the access. In either case, the slot's line
    /// counts as put into memory.
    pub fn boot_cell(&self, cell: Slot, (slot, role): (Slot, Role), change: &dyn Fn(Untrusted) -> Untrusted) {
        let mut media = self.media.borrow_mut();
        let booted = change(media.read(cell));
        self.note_write(slot, role, &booted);
        media.store(cell, booted);
    }

    /// Returns and clears the plaintext that the last access released, if any.
    pub fn take_released(&self) -> Option<(LineAddr, Plaintext)> {
        self.released.take()
    }

    /// Returns and clears the words that the last access released first, if the remaining words of the line were not
    /// released.
    pub fn take_released_first(&self) -> Option<(LineAddr, Plaintext, Words)> {
        self.first.take()
    }

    /// Returns and clears plaintext that was released before a bad verdict, and therefore has not left the chip.
    pub fn take_refused(&self) -> Option<(LineAddr, Plaintext)> {
        self.refused.take()
    }

    /// Returns and clears the fault that the last access reported, if any.
    pub fn take_fault(&self) -> Option<Fault> {
        self.fault.take()
    }

    /// The registers that outlive power.
    pub fn registers(&self) -> Registers {
        self.registers.borrow().clone()
    }

    /// Continues with the registers that a loss of power has left.
    pub fn go_on_with(&self, registers: Registers) {
        self.registers.replace(registers);
    }

    /// Continues with the ledger of a machine that had the same keys before.
    pub fn carry(&self, ledger: Ledger) {
        self.ledger.replace(ledger);
    }

    /// Returns the ledger of keystream.
    pub fn ledger(&self) -> std::cell::Ref<'_, Ledger> {
        self.ledger.borrow()
    }
}

impl Untimed for Functional {
    fn outcomes(&self) -> &dyn Outcomes {
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
        // If lines are permuted, the scheme knows which of them memory holds.
        (at.moves() || start_up.awaits(at.slot())).then(|| start_up.content(at.line()))
    }

    fn change_at_boot(&self, slot: Slot, role: Role, change: &dyn Fn(Untrusted) -> Untrusted) {
        self.boot_cell(slot, (slot, role), change);
    }
}

impl Outcomes for Functional {
    fn keep(&self, completion: RegisterUpdate) {
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

    fn note(&self, _: Slot, keystream: &mut dyn FnMut() -> Option<Keystream>) {
        keystream().into_iter().for_each(|keystream| self.ledger.borrow_mut().note(keystream));
    }
}
