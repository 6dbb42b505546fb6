//! Verbs that execute a permutation without its time, over verbs with time. The difference between two runs, with and
//! without them, is the time that permutations cost.

use crate::domain::RegisterUpdate;
use crate::placement::DataSlot;
use crate::slot::{Role, Slot, Untrusted};
use crate::untimed::{Outcomes, Untimed};
use crate::verbs::{Fault, Keystream, Plaintext, Verbs};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use strum::VariantArray;
use units::{Line, LineAddr, Words};

/// Simulated time of permutations: all of it, only the time that the bus is not idle, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum PermutationTime {
    /// Every memory access, hash and encryption of a permutation takes its time.
    Charged,
    /// The same, with one difference: memory accesses for slots use the bus only while no other request waits, until an
    /// access waits for the permutation.
    #[default]
    IdleBus,
    /// Permutations take no time.
    Free,
}

/// Other verbs, without their time.
pub(super) struct Free<'a, V>(pub &'a V);

impl<V: Verbs> Untimed for Free<'_, V> {
    fn outcomes(&self) -> &dyn Outcomes {
        self
    }

    fn read(&self, slot: Slot) -> Untrusted {
        let content = Cell::new(Untrusted::BLANK);
        self.0.boot(slot, Role::Data, |stored| {
            content.set(stored);
            stored
        });
        content.get()
    }

    fn write(&self, slot: Slot, role: Role, content: Untrusted) {
        self.0.boot(slot, role, |_| content);
    }

    fn started_with(&self, at: DataSlot) -> Option<Line> {
        self.0.start_up(at)
    }

    fn change_at_boot(&self, slot: Slot, role: Role, change: &dyn Fn(Untrusted) -> Untrusted) {
        self.0.boot(slot, role, change);
    }
}

impl<V: Verbs> Outcomes for Free<'_, V> {
    fn keep(&self, completion: RegisterUpdate) {
        self.0.complete(completion);
    }

    fn take_first(&self, line: LineAddr, plaintext: Plaintext, words: Words) {
        self.0.release_first(line, plaintext, words);
    }

    fn take(&self, line: LineAddr, plaintext: Plaintext) {
        self.0.release(line, plaintext, crate::verbs::Exit::Controller);
    }

    fn judge(&self, line: LineAddr, good: bool) {
        self.0.settle(line, good);
    }

    fn report(&self, fault: Fault) {
        self.0.fault(fault);
    }

    fn note(&self, slot: Slot, keystream: &mut dyn FnMut() -> Option<Keystream>) {
        self.0.spend(slot, keystream);
    }
}
