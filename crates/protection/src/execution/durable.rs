//! State of a timed memory, without its chips, at a loss of power: the registers, and the open tuple, which the loss reverts.
//!
//! The bytes of a line are visible from the moment at which it is written, also as part of a tuple. A tuple is atomic
//! only when it is complete ([`domain`](crate::domain)). If power can fail, this module keeps the content of the
//! tuple's slots from before the tuple until the tuple is complete. It also keeps the keystream that hides the tuple's
//! lines. These lines are in the queue, and if the tuple is dropped, no observer has seen them.

use crate::domain::{RegisterUpdate, Registers};
use crate::ledger::Ledger;
use crate::media::Media;
use crate::planted::{Bug, PlantedBug};
use crate::slot::{Slot, Untrusted};
use crate::verbs::Keystream;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// A slot, and true for the mask of its tag instead of its pad.
type KeystreamKey = (Slot, bool);

/// State that a loss of power reverts: the changes of the open tuple.
#[derive(Default)]
struct TupleChanges {
    /// Content of the tuple's slots before the tuple.
    before: FxHashMap<Slot, Untrusted>,
    /// Keystream for lines that were not written yet: for each slot the latest pad, and the latest mask.
    used: FxHashMap<KeystreamKey, Keystream>,
    /// Keystream of the tuple's lines.
    hidden: Vec<Keystream>,
}

impl TupleChanges {
    fn take_used(&mut self, slot: Slot) -> impl Iterator<Item = Keystream> + '_ {
        [false, true].into_iter().filter_map(move |mask| self.used.remove(&(slot, mask)))
    }
}

/// State of a timed memory, without its chips, at a loss of power.
#[derive(Default)]
pub(super) struct Durable {
    /// Registers that outlive the loss.
    pub registers: RefCell<Registers>,
    /// Keystream of lines that have been in memory, if a ledger is kept.
    pub ledger: Option<RefCell<Ledger>>,
    open_tuple: OpenTuple,
    pub planted: PlantedBug,
}

impl Durable {
    /// Returns registers that were never set. With `ledger`, keystream is recorded.
    pub fn new(ledger: bool) -> Durable {
        Durable { ledger: ledger.then(RefCell::default), ..Durable::default() }
    }

    /// From now on, keeps the state that a loss of power reverts.
    pub fn keep_open_tuple(&self) {
        self.open_tuple.keep();
    }

    /// Returns the content of these chips after a loss of power.
    ///
    /// # Panics
    /// If `keep_open_tuple` was not called.
    pub fn left_of(&self, media: &Media) -> Media {
        self.open_tuple.undone(media)
    }

    /// Writes a slot; if it `persists`, as part of the open tuple.
    pub fn put(&self, media: &RefCell<Media>, slot: Slot, content: Untrusted, persists: bool) {
        let mut media = media.borrow_mut();
        let shown = self.open_tuple.changes(slot, || media.read(slot), persists);
        media.store(slot, content);
        self.show(shown);
    }

    /// Writes the machine's start-up content to a slot, as if before the writes of the open tuple. The content is
    /// visible in memory at once.
    pub fn boot(&self, media: &RefCell<Media>, slot: Slot, change: impl Fn(Untrusted) -> Untrusted) {
        let mut media = media.borrow_mut();
        self.open_tuple.boots(slot, &change);
        let before = media.read(slot);
        let booted = change(before);
        media.store(slot, booted);
        if booted != before {
            self.show(self.open_tuple.shown_at_boot(slot));
        }
    }

    /// Completes the open tuple.
    pub fn complete(&self, completion: &RegisterUpdate) {
        self.show(self.open_tuple.completes());
        self.registers.borrow_mut().set(completion);
    }

    /// Records keystream that is used for a slot. If power may fail, the keystream enters the ledger only when memory
    /// holds the line that it hides.
    pub fn note(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        let used = self.ledger.as_ref().and_then(|_| keystream());
        self.show(used.and_then(|keystream| self.open_tuple.used(self.key(slot, &keystream), keystream)));
    }

    /// Returns the key of keystream that no written line has shown yet: a slot has a pad and a mask.
    fn key(&self, slot: Slot, keystream: &Keystream) -> KeystreamKey {
        (slot, matches!(keystream, Keystream::Masks(_)) && !self.planted.has(Bug::MaskReplacesPad))
    }

    fn show(&self, shown: impl IntoIterator<Item = Keystream>) {
        if let Some(ledger) = &self.ledger {
            shown.into_iter().for_each(|keystream| ledger.borrow_mut().note(keystream));
        }
    }
}

/// The open tuple, if it is kept.
#[derive(Default)]
struct OpenTuple(RefCell<Option<TupleChanges>>);

impl OpenTuple {
    /// Keeps the open tuple from now on.
    fn keep(&self) {
        self.0.borrow_mut().get_or_insert_default();
    }

    /// Notes keystream that is used for a line in a slot. Returns it if the tuple is not kept.
    fn used(&self, key: KeystreamKey, keystream: Keystream) -> Option<Keystream> {
        match &mut *self.0.borrow_mut() {
            None => Some(keystream),
            Some(open) => {
                open.used.insert(key, keystream);
                None
            }
        }
    }

    /// Writes a slot that had the content `before`: as part of the tuple if the write `persists`, otherwise
    /// permanently. Returns the keystream that an observer of memory may see from now on.
    #[inline]
    fn changes(&self, slot: Slot, before: impl FnOnce() -> Untrusted, persists: bool) -> Vec<Keystream> {
        let mut kept = self.0.borrow_mut();
        let Some(open) = &mut *kept else { return Vec::new() };
        let shown: Vec<_> = open.take_used(slot).collect();
        if !persists {
            open.before.remove(&slot);
            return shown;
        }
        open.before.entry(slot).or_insert_with(before);
        open.hidden.extend(shown);
        Vec::new()
    }

    /// Applies a change by booting to the content that is kept for a slot from before the tuple.
    fn boots(&self, slot: Slot, change: impl Fn(Untrusted) -> Untrusted) {
        let mut kept = self.0.borrow_mut();
        let before = kept.as_mut().and_then(|open| open.before.get_mut(&slot));
        before.into_iter().for_each(|before| *before = change(*before));
    }

    /// Returns the keystream that was used for a line that boots in a slot.
    fn shown_at_boot(&self, slot: Slot) -> Vec<Keystream> {
        self.0.borrow_mut().as_mut().map_or_else(Vec::new, |open| open.take_used(slot).collect())
    }

    /// Completes the tuple. Returns the keystream that an observer of memory may see from now on.
    fn completes(&self) -> Vec<Keystream> {
        let mut kept = self.0.borrow_mut();
        let Some(open) = &mut *kept else { return Vec::new() };
        open.before.clear();
        std::mem::take(&mut open.hidden)
    }

    /// Returns the content of these chips from before the open tuple.
    ///
    /// # Panics
    /// If the tuple is not kept.
    fn undone(&self, media: &Media) -> Media {
        let open = self.0.borrow();
        let Some(open) = &*open else { panic!("nobody has said that power may fail") };
        let mut media = media.clone();
        open.before.iter().for_each(|(slot, before)| media.store(*slot, *before));
        media
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_loss_undoes_exactly_the_writes_of_the_open_persist_tuple() {
        let mut media = Media::new(4);
        let tuple = OpenTuple::default();
        tuple.keep();
        let left = |media: &Media| {
            let left = tuple.undone(media);
            [0, 1, 2].map(|slot| (!left.is_blank(Slot(slot))).then(|| left.read(Slot(slot)).examine()[0]))
        };
        let mut write = |slot: u64, byte: u8, persists| {
            tuple.changes(Slot(slot), || media.read(Slot(slot)), persists);
            media.store(Slot(slot), [byte; 64].into());
            left(&media)
        };
        assert_eq!(write(0, 1, false), [Some(1), None, None]);
        assert_eq!(write(0, 2, true), [Some(1), None, None], "an open tuple");
        assert_eq!(write(0, 3, true), [Some(1), None, None], "once more");
        assert_eq!(write(1, 4, true), [Some(1), None, None], "a slot that was blank is blank again");
        assert_eq!(write(1, 5, false), [Some(1), Some(5), None], "a write that is none of the tuple's");
        tuple.boots(Slot(0), |_| [9; 64].into());
        assert_eq!(write(1, 6, false), [Some(9), Some(6), None], "a line that boots below what the tuple has written");
        tuple.completes();
        assert_eq!(write(2, 7, true), [Some(3), Some(6), None], "the next tuple");
    }
}
