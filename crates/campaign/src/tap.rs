//! A tap on the bus between the chip and the memory while the victim runs: an interposer, or a malicious module.
//!
//! The victim's scheme runs over [`Tapped`], a functional memory behind a [`Tap`]. The tap observes only slots and
//! bytes. It can drop, delay, repeat and reorder writes, and map two addresses to one cell. The memory has a ghost cell
//! for every cell, at a distance equal to the size of the memory. With a [`Probe`](Tap::listen) the tap also records
//! the crossings on the chip's side, as the probe of a timed memory does, with an order instead of times.

use machine::dram::Kind;
use protection::execution::{Functional, Outcomes, Untimed};
use protection::ledger::Reuse;
use protection::media::{Media, Shape};
use protection::placement::DataSlot;
use protection::probe::Crossing;
use protection::verbs::{Fault, Role, Slot, Untrusted};
use std::cell::{Cell, RefCell};
use units::{Line, LineAddr, Words};

/// Treatment of a write on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meddling {
    /// The write passes unchanged.
    Pass,
    /// The write never arrives.
    Drop,
    /// The write arrives when the tap releases the writes that it holds back.
    Delay,
    /// The write arrives, and arrives again when the tap releases the writes that it holds back.
    Duplicate,
    /// The write arrives just after the next write of the same slot.
    Reorder,
}

/// Mapping of addresses to cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alias {
    /// Each address has a separate cell.
    None,
    /// The highest bit of the address is ignored: a ghost address reaches the cell of the true one.
    Ghost,
    /// True addresses reach the ghost cells.
    Diverted,
    /// These two reach each other's cells.
    Crossed(Slot, Slot),
}

/// The device on the bus.
#[derive(Clone)]
pub struct Tap {
    slots: u64,
    meddling: Cell<Meddling>,
    /// The only slot that the tap meddles with; `None` for all.
    only: Cell<Option<Slot>>,
    alias: Cell<Alias>,
    held: RefCell<Vec<(Slot, Untrusted)>>,
    heard: RefCell<Option<Heard>>,
    followed: RefCell<Option<Vec<Crossed>>>,
}

/// A slot that has crossed the bus, with its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossed {
    /// Number of the slot.
    pub slot: Slot,
    /// Direction of the crossing, from the chip's view.
    pub kind: Kind,
    /// Content read or written.
    pub content: Line,
}

/// Crossings that a tap has recorded.
#[derive(Clone)]
struct Heard {
    shape: Shape,
    with_bytes: bool,
    crossings: Vec<Crossing>,
}

impl Heard {
    /// Records the lines of a slot, as the memory of a machine of this shape moves them.
    fn note(&mut self, slot: Slot, kind: Kind, read: impl Fn(Slot) -> Untrusted) {
        let (first, second) = self.shape.lines(slot);
        for line in [Some(first), second].into_iter().flatten() {
            let content = self.with_bytes.then(|| self.shape.content(line, &read)).flatten();
            self.crossings.push(Crossing { line, kind, burst: true, content });
        }
    }
}

impl Tap {
    /// Starts to record crossings, line by line as a memory of this shape moves them. The record has all lines that the chip
    /// sends, even if the tap changes or drops them, and all that it receives. It has the order of the crossings, without times
    /// or queues.
    pub fn listen(&self, shape: Shape, with_bytes: bool) {
        self.heard.replace(Some(Heard { shape, with_bytes, crossings: Vec::new() }));
    }

    /// Returns and clears the recorded crossings, in order.
    pub fn take_heard(&self) -> Vec<Crossing> {
        self.heard.borrow_mut().as_mut().map(|heard| std::mem::take(&mut heard.crossings)).unwrap_or_default()
    }

    /// Starts to record the slots that cross, in order.
    pub fn follow_slots(&self) {
        self.followed.replace(Some(Vec::new()));
    }

    /// Returns and clears the recorded slots; empty unless the tap follows slots.
    pub fn take_followed(&self) -> Vec<Crossed> {
        self.followed.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn follow(&self, slot: Slot, kind: Kind, content: Untrusted) {
        if let Some(followed) = &mut *self.followed.borrow_mut() {
            followed.push(Crossed { slot, kind, content: content.examine() });
        }
    }

    /// Starts to meddle with writes, of one slot or of all.
    pub fn meddle(&self, meddling: Meddling, only: Option<Slot>) {
        self.meddling.set(meddling);
        self.only.set(only);
    }

    /// Changes the mapping of addresses to cells.
    pub fn connect(&self, alias: Alias) {
        self.alias.set(alias);
    }

    /// Returns the ghost of a slot.
    pub fn ghost(&self, slot: Slot) -> Slot {
        Slot(slot.0 + self.slots)
    }

    fn cell(&self, slot: Slot) -> Slot {
        match self.alias.get() {
            Alias::None => slot,
            Alias::Ghost => Slot(slot.0 % self.slots),
            Alias::Diverted => Slot(slot.0 % self.slots + self.slots),
            Alias::Crossed(one, other) if slot == one => other,
            Alias::Crossed(one, other) if slot == other => one,
            Alias::Crossed(..) => slot,
        }
    }

    /// Passes on the writes that reach the cells when this write is sent, in order.
    fn hand_on(&self, slot: Slot, content: Untrusted, arrive: impl Fn(Slot, Untrusted)) {
        let concerned = self.only.get().is_none_or(|only| only == slot);
        let mut held = self.held.borrow_mut();
        match self.meddling.get() {
            Meddling::Drop if concerned => {}
            Meddling::Delay if concerned => held.push((slot, content)),
            Meddling::Duplicate if concerned => {
                held.push((slot, content));
                arrive(slot, content);
            }
            Meddling::Reorder if concerned => match held.iter().position(|(waiting, _)| *waiting == slot) {
                Some(index) => {
                    arrive(slot, content);
                    let (_, earlier) = held.swap_remove(index);
                    arrive(slot, earlier);
                }
                None => held.push((slot, content)),
            },
            _ => arrive(slot, content),
        }
    }
}

/// Outcome of a read, as the core sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadOutcome {
    /// Content of the line, if the chip released all of it.
    pub released: Option<Line>,
    /// The line with the words that the chip released first, if it then did not release the remaining words.
    pub first: Option<(Line, Words)>,
    /// Fault that the chip reported, if any.
    pub fault: Option<Fault>,
}

/// A functional memory behind a tap.
#[derive(Clone)]
pub struct Tapped {
    memory: Functional,
    tap: Tap,
}

impl Tapped {
    /// Creates a blank memory of this many slots, with a tap that passes all writes. With `start_up`, the machine starts with a
    /// content drawn from this seed.
    pub fn new(slots: u64, start_up: Option<u64>) -> Tapped {
        let tap = Tap {
            slots,
            meddling: Cell::new(Meddling::Pass),
            only: Cell::new(None),
            alias: Cell::new(Alias::None),
            held: RefCell::new(Vec::new()),
            heard: RefCell::new(None),
            followed: RefCell::new(None),
        };
        let memory = match start_up {
            Some(seed) => Functional::booting(2 * slots, seed),
            None => Functional::new(2 * slots),
        };
        Tapped { memory, tap }
    }

    /// The memory chips, with the ghost cells at the top.
    pub fn media(&self) -> &RefCell<Media> {
        &self.memory.media
    }

    /// The tap on this memory.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// The functional memory behind the tap.
    pub fn memory(&self) -> &Functional {
        &self.memory
    }

    /// Stops meddling; all writes that were held back arrive.
    pub fn let_go(&self) {
        self.tap.meddle(Meddling::Pass, None);
        for (slot, content) in self.tap.held.take() {
            self.put(slot, content);
        }
    }

    /// Returns and forgets the fault that the last access reported, if any.
    pub fn take_fault(&self) -> Option<Fault> {
        self.memory.take_fault()
    }

    /// Returns and forgets the outcome of the last access, a read of this line.
    ///
    /// # Panics
    /// If another line was released.
    pub fn take_outcome(&self, line: LineAddr) -> ReadOutcome {
        let fault = self.memory.take_fault();
        let first = self.memory.take_released_first().map(|(_, plaintext, words)| (plaintext.bytes, words));
        let released = self.memory.take_released().map(|(released, plaintext)| {
            assert_eq!(released, line, "another line was released than was requested");
            plaintext.bytes
        });
        ReadOutcome { released, first, fault }
    }

    /// Returns and forgets the plaintext that the last refused read had released to the core before its verdict, if any. This
    /// plaintext is on the chip only.
    pub fn take_refused(&self) -> Option<Line> {
        self.memory.take_refused().map(|(_, plaintext)| plaintext.bytes)
    }

    /// First keystream that was used twice, if any.
    pub fn keystream_reuse(&self) -> Option<Reuse> {
        self.memory.ledger().reuse()
    }

    /// Reads a slot as software that uses no protection, such as a hypervisor with a separate mapping.
    pub fn get(&self, slot: Slot) -> Untrusted {
        self.memory.read(self.tap.cell(slot))
    }

    /// Writes a slot as software that uses no protection.
    pub fn put(&self, slot: Slot, content: Untrusted) {
        self.memory.media.borrow_mut().store(self.tap.cell(slot), content);
    }
}

impl Untimed for Tapped {
    fn outcomes(&self) -> &dyn Outcomes {
        &self.memory
    }

    fn read(&self, slot: Slot) -> Untrusted {
        let stored = |slot| self.get(slot);
        if let Some(heard) = &mut *self.tap.heard.borrow_mut() {
            heard.note(slot, Kind::Read, stored);
        }
        self.tap.follow(slot, Kind::Read, stored(slot));
        stored(slot)
    }

    fn kept(&self, slot: Slot) -> Untrusted {
        self.get(slot)
    }

    fn write(&self, slot: Slot, role: Role, content: Untrusted) {
        self.memory.note_write(slot, role, &content);
        if let Some(heard) = &mut *self.tap.heard.borrow_mut() {
            heard.note(slot, Kind::Write, |on_line| if on_line == slot { content } else { self.get(on_line) });
        }
        self.tap.follow(slot, Kind::Write, content);
        self.tap.hand_on(slot, content, |slot, content| self.put(slot, content));
    }

    fn started_with(&self, at: DataSlot) -> Option<Line> {
        self.memory.started_with(at)
    }

    fn change_at_boot(&self, slot: Slot, role: Role, change: &dyn Fn(Untrusted) -> Untrusted) {
        self.memory.boot_cell(self.tap.cell(slot), (slot, role), change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protection::placement::Placement;

    #[test]
    fn the_initial_content_of_a_line_is_written_to_the_aliased_slot() {
        let [line, other] = [3, 5].map(|line| Placement::Fixed.of(LineAddr(line)));
        let tapped = Tapped::new(8, Some(1));
        tapped.tap().connect(Alias::Crossed(line.slot(), other.slot()));
        tapped.change_at_boot(line.slot(), Role::Data, &|_| [7; 64].into());
        tapped.tap().connect(Alias::None);
        assert_eq!(tapped.media().borrow().read(other.slot()).examine(), [7; 64]);
        assert_eq!((tapped.started_with(line), tapped.started_with(other).is_some()), (None, true));
    }
}
