//! Runner at once: executes the verbs over a timed memory while its clock is stopped.
//!
//! Between the detailed windows of a sampled run, this runner processes accesses without time. It uses the memory
//! chips, the metadata caches and the receiver of the timed run, so that either runner continues where the other
//! stopped. Every verb completes at once and is not counted; the timed memory must be idle.

use crate::domain::RegisterUpdate;
use crate::execution::{Outcomes, TimedMemory, Untimed};
use crate::placement::DataSlot;
use crate::verbs::{Fault, Keystream, Plaintext, Role, Slot, Untrusted};
use std::cell::Cell;
use std::rc::Rc;
use units::{Line, LineAddr, Words};

/// Verbs that complete at once, over a memory that is otherwise timed.
pub struct AtOnce {
    memory: Rc<TimedMemory>,
    released: Cell<Option<Plaintext>>,
    /// True if the receiver gets each line at the moment of its release.
    hands_over: bool,
}

impl AtOnce {
    /// Returns the verbs over a memory.
    pub fn new(memory: &Rc<TimedMemory>) -> AtOnce {
        AtOnce { memory: memory.clone(), released: Cell::new(None), hands_over: false }
    }

    /// Returns the verbs with the rule that the memory's receiver gets each line at the moment of its release. Designs need
    /// this rule if a read changes memory after it has released its line, as the permutation of a page chunk does.
    #[must_use]
    pub fn handing_over(self) -> AtOnce {
        AtOnce { hands_over: true, ..self }
    }

    /// Returns and clears the plaintext that the last read released, if any, unless the receiver got it.
    pub fn take_released(&self) -> Option<Plaintext> {
        self.released.take()
    }
}

impl Untimed for AtOnce {
    fn outcomes(&self) -> &dyn Outcomes {
        self
    }

    fn read(&self, slot: Slot) -> Untrusted {
        self.memory.media().borrow().read(slot)
    }

    fn write(&self, slot: Slot, _: Role, content: Untrusted) {
        self.memory.durable.put(self.memory.media(), slot, content, false);
    }

    fn write_in_tuple(&self, slot: Slot, _: Role, content: Untrusted) {
        self.memory.durable.put(self.memory.media(), slot, content, true);
    }

    fn started_with(&self, at: DataSlot) -> Option<Line> {
        self.memory.start_up(at)
    }

    fn change_at_boot(&self, slot: Slot, _: Role, change: &dyn Fn(Untrusted) -> Untrusted) {
        self.memory.durable.boot(self.memory.media(), slot, change);
    }
}

impl Outcomes for AtOnce {
    fn keep(&self, completion: RegisterUpdate) {
        self.memory.complete(&completion);
    }

    /// Has no effect: the release of the whole line follows.
    fn take_first(&self, _: LineAddr, _: Plaintext, _: Words) {}

    fn take(&self, line: LineAddr, plaintext: Plaintext) {
        if self.hands_over {
            self.memory.receiver().released(line, &plaintext);
        } else {
            self.released.set(Some(plaintext));
        }
    }

    fn judge(&self, _: LineAddr, good: bool) {
        if !good {
            self.released.set(None);
        }
    }

    fn report(&self, fault: Fault) {
        self.memory.receiver().fault(fault);
    }

    fn note(&self, slot: Slot, keystream: &mut dyn FnMut() -> Option<Keystream>) {
        self.memory.durable.note(slot, keystream);
    }
}
