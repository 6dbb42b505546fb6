//! What was asked of memory, and what memory has shown of it: the keystream that an attacker has seen in use.
//!
//! A pad is used up when its ciphertext leaves the chip, not before: the lines of an open tuple are in the queue, and if it
//! is thrown away nobody has seen them. So the ledger of pads goes over a loss of power with what had left the chip by then:
//! complete tuples, and all that belonged to none. Whether a line on its way did arrive does not matter, for it was on the bus.

use super::states::changes_memory;
use crypto::Nonce;
use protection::domain::Queue;
use protection::ledger::PadLedger;
use protection::verbs::{Role, Slot};
use protection::ways::Operation;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::Line;

/// What was asked of memory and changes it, in order, and the encryptions between.
pub struct Changes {
    /// The changes.
    pub operations: Vec<Operation>,
    /// Each encryption, with how many changes had been asked for before it.
    sealed: Vec<(usize, Nonce, Line)>,
}

impl Changes {
    /// What changes memory among these operations.
    pub fn among(asked: Vec<Operation>) -> Changes {
        let mut changes = Changes { operations: Vec::new(), sealed: Vec::new() };
        for operation in asked {
            match operation {
                Operation::Sealed(nonce, text) => changes.sealed.push((changes.operations.len(), nonce, text)),
                change if changes_memory(&change) => changes.operations.push(change),
                _ => {}
            }
        }
        changes
    }

    /// The ledger of what memory has shown, before the first change and after each.
    pub fn shown(&self, before: &Rc<PadLedger>, queue: Queue) -> Vec<Rc<PadLedger>> {
        let mut ledgers = vec![before.clone()];
        let (mut sealed, mut ready, mut open) = (self.sealed.iter().peekable(), BTreeMap::new(), Vec::new());
        for (index, operation) in self.operations.iter().enumerate() {
            while let Some((_, nonce, text)) = sealed.next_if(|(asked, ..)| *asked <= index) {
                ready.insert(Slot(nonce.line().0), (*nonce, *text));
            }
            let leaves: Vec<(Nonce, Line)> = match operation {
                Operation::Persist(Role::Data, slot, _) if queue == Queue::Inside => {
                    open.extend(ready.remove(slot));
                    Vec::new()
                }
                Operation::Persist(Role::Data, slot, _) | Operation::Store(Role::Data, slot, _) => {
                    ready.remove(slot).into_iter().collect()
                }
                Operation::Complete(_) => std::mem::take(&mut open),
                _ => Vec::new(),
            };
            let last = ledgers[index].clone();
            ledgers.push(if leaves.is_empty() { last } else { Rc::new(with(&last, &leaves)) });
        }
        ledgers
    }
}

fn with(ledger: &PadLedger, notes: &[(Nonce, Line)]) -> PadLedger {
    let mut ledger = ledger.clone();
    notes.iter().for_each(|(nonce, text)| ledger.note(nonce, text));
    ledger
}

#[cfg(test)]
mod tests {
    use super::*;
    use protection::domain::Registers;
    use units::LineAddr;

    #[test]
    fn a_pad_counts_as_shown_when_its_tuple_is_complete_or_at_once_if_nothing_holds_tuples() {
        let seal = |text: u8| Operation::Sealed(Nonce::new(LineAddr(3), 1), [text; 64]);
        let persist = || Operation::Persist(Role::Data, Slot(3), [9; 64]);
        let complete = || Operation::Complete(Registers::default());
        let changes =
            Changes::among(vec![seal(1), persist(), Operation::Fence, complete(), seal(2), persist(), complete()]);
        let numbers = |queue| -> Vec<(usize, bool)> {
            let shown = changes.shown(&Rc::default(), queue);
            shown.iter().map(|ledger| (ledger.len(), ledger.reuse().is_some())).collect()
        };
        let (not_yet, once, twice) = ((0, false), (1, false), (1, true));
        assert_eq!(numbers(Queue::Inside), [not_yet, not_yet, not_yet, once, once, twice]);
        assert_eq!(numbers(Queue::Outside), [not_yet, once, once, once, twice, twice]);
    }
}
