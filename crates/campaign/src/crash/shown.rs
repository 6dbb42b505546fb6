//! Operations issued to memory, and the *shown* keystream, which an attacker on the bus has seen in use.
//!
//! A pad counts as used when its ciphertext leaves the chip, and a mask when the tag of its line does. The lines of an open
//! tuple are in the queue. If the queue is discarded, no attacker has seen them. So the ledger keeps, over a loss of power, the
//! keystream of complete tuples and of lines outside tuples. A line in flight counts whether or not it arrived, because it was
//! on the bus.

use protection::domain::WritePendingQueue;
use protection::execution::Operation;
use protection::ledger::Ledger;
use protection::verbs::{Keystream, Role, Slot};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Operations that change memory, in order, and the encryptions between them.
pub struct Changes {
    /// The changes, in order.
    pub operations: Vec<Operation>,
    /// Keystream that was used for lines in these slots, each with the number of changes before it.
    spent: Vec<(usize, Slot, Keystream)>,
}

impl Changes {
    /// Selects the operations that change memory.
    pub fn among(issued: Vec<Operation>) -> Changes {
        let mut changes = Changes { operations: Vec::new(), spent: Vec::new() };
        for operation in issued {
            match operation {
                Operation::PersistPart(role, slot, content, _) => {
                    changes.operations.push(Operation::Persist(role, slot, content));
                }
                Operation::Spend(slot, keystream) => changes.spent.push((changes.operations.len(), slot, keystream)),
                change if changes_memory(&change) => changes.operations.push(change),
                _ => {}
            }
        }
        changes
    }

    /// Returns the ledger of the keystream shown, before the first change and after each.
    pub fn shown(&self, before: &Rc<Ledger>, queue: WritePendingQueue) -> Vec<Rc<Ledger>> {
        let mut ledgers = vec![before.clone()];
        for (index, leaves) in self.leaving(queue).into_iter().enumerate() {
            let last = ledgers[index].clone();
            ledgers.push(if leaves.is_empty() { last } else { Rc::new(with(&last, &leaves)) });
        }
        ledgers
    }

    /// Returns the ledger of the keystream shown after the last change.
    pub fn shown_at_last(&self, before: &Ledger, queue: WritePendingQueue) -> Ledger {
        with(before, &self.leaving(queue).concat())
    }

    /// Returns the keystream that leaves the chip with each change.
    fn leaving(&self, queue: WritePendingQueue) -> Vec<Vec<&Keystream>> {
        let mut all = Vec::new();
        let (mut spent, mut ready, mut open) = (self.spent.iter().peekable(), BTreeMap::new(), Vec::new());
        for (index, operation) in self.operations.iter().enumerate() {
            while let Some((_, slot, spent)) = spent.next_if(|(issued, ..)| *issued <= index) {
                ready.insert((*slot, matches!(spent, Keystream::Masks(_))), spent);
            }
            let mut of =
                |slot: &Slot| [false, true].into_iter().filter_map(|mask| ready.remove(&(*slot, mask))).collect();
            all.push(match operation {
                Operation::Persist(Role::Data, slot, _) if queue == WritePendingQueue::Inside => {
                    let of: Vec<&Keystream> = of(slot);
                    open.extend(of);
                    Vec::new()
                }
                Operation::Persist(Role::Data, slot, _) | Operation::Store(Role::Data, slot, _) => of(slot),
                Operation::Complete(_) => std::mem::take(&mut open),
                _ => Vec::new(),
            });
        }
        all
    }
}

fn with(ledger: &Ledger, spent: &[&Keystream]) -> Ledger {
    let mut ledger = ledger.clone();
    spent.iter().for_each(|spent| ledger.note((*spent).clone()));
    ledger
}

/// Returns true if an operation changes the state that a loss of power leaves.
pub fn changes_memory(operation: &Operation) -> bool {
    match operation {
        Operation::Store(_, _, content) => !content.is_blank(),
        Operation::Persist(..) | Operation::PersistPart(..) | Operation::Fence | Operation::Complete(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::Nonce;
    use protection::domain::RegisterUpdate;

    #[test]
    fn a_pad_is_shown_when_its_tuple_completes_or_at_once_with_a_queue_outside_the_domain() {
        let seal = |text: u8| Operation::Spend(Slot(3), Keystream::Pad(Nonce::new(3, 1), [text; 64]));
        let persist = || Operation::Persist(Role::Data, Slot(3), [9; 64].into());
        let complete = || Operation::Complete(RegisterUpdate::default());
        let changes =
            Changes::among(vec![seal(1), persist(), Operation::Fence, complete(), seal(2), persist(), complete()]);
        let numbers = |queue| -> Vec<(usize, bool)> {
            let shown = changes.shown(&Rc::default(), queue);
            shown.iter().map(|ledger| (ledger.pads(), ledger.reuse().is_some())).collect()
        };
        let (not_yet, once, twice) = ((0, false), (1, false), (1, true));
        assert_eq!(numbers(WritePendingQueue::Inside), [not_yet, not_yet, not_yet, once, once, twice]);
        assert_eq!(numbers(WritePendingQueue::Outside), [not_yet, once, once, once, twice, twice]);
    }
}
