//! Lines of counters, and nodes of the tree if the design says so, in the machine's last-level cache, which they share with
//! data (as in VAULT, Morphable Counters and EMCC, MICRO 2022, whose controllers look there before they ask memory).
//!
//! # Inclusion and eviction
//! * Such a line is in the controller's cache or in the last-level cache, never in both: it goes to the last-level cache when
//!   it loses its entry in the controller's, clean or dirty, and moves back when it is found there.
//! * In the last-level cache it is a line like any other and is replaced by the same rule. Data may displace it, and it data.
//! * A displaced clean line is dropped: memory has it. A dirty one leaves for memory, for which its parent is updated, as if it had
//!   come from the controller's cache. If it was data that displaced it, the next access to end takes it along; until then
//!   it counts as present.
//! * Whatever is there is on the chip, hence trusted: it was verified when it came in.
//!
//! What is there is decided by a [`LastLevel`], the machine's or a plain one where there is no machine; the content is here.

use super::CacheCounters;
use crate::planted::{Bug, Planted};
use crate::slot::{Kind, Role, Slot};
use enum_map::EnumMap;
use machine::cache::TagArray;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use units::Line;

/// What goes on to a last-level cache when it loses its entry in the controller's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoesOn {
    /// Lines of counters.
    Counters,
    /// Nodes of the tree as well.
    CountersAndNodes,
}

impl GoesOn {
    /// Whether lines of this kind do.
    pub fn includes(self, role: Role) -> bool {
        match role.kind() {
            Kind::Counters => true,
            Kind::Nodes => self == GoesOn::CountersAndNodes,
            _ => false,
        }
    }
}

/// What decides which lines of metadata a last-level cache keeps.
pub trait LastLevel {
    /// Takes a line out; whether it was there.
    fn take(&self, slot: Slot) -> bool;
    /// Whether a line is there; looking is a use of it.
    fn look_up(&self, slot: Slot) -> bool;
    /// Puts a line in; the line of metadata that had to leave for it, if one had to. Where data had to leave, that is seen to.
    fn enter(&self, slot: Slot) -> Option<Slot>;
    /// The same cache once more; nothing if it belongs to a machine, which is not copied.
    fn twin(&self) -> Option<Box<dyn LastLevel>> {
        None
    }
}

/// A plain cache of lines of metadata alone.
struct Plain(RefCell<TagArray>);

/// A plain last-level cache of so many sets and ways.
pub(super) fn plain(sets: usize, ways: usize) -> Box<dyn LastLevel> {
    Box::new(Plain(RefCell::new(TagArray::new(sets, ways))))
}

impl LastLevel for Plain {
    fn take(&self, slot: Slot) -> bool {
        let mut tags = self.0.borrow_mut();
        let found = tags.probe(slot.0).is_some();
        tags.invalidate(slot.0);
        found
    }

    fn look_up(&self, slot: Slot) -> bool {
        self.0.borrow_mut().lookup(slot.0).is_some()
    }

    fn enter(&self, slot: Slot) -> Option<Slot> {
        let (_, evicted) = self.0.borrow_mut().insert(slot.0, false);
        evicted.map(|evicted| Slot(evicted.key))
    }

    fn twin(&self) -> Option<Box<dyn LastLevel>> {
        Some(Box::new(Plain(self.0.clone())))
    }
}

/// A line in a last-level cache.
#[derive(Clone, Copy)]
pub(super) struct Resident {
    role: Role,
    pub content: Line,
    /// Whether memory lacks it.
    pub dirty: bool,
}

/// The lines of metadata in a last-level cache.
pub(super) struct Shared {
    cache: Box<dyn LastLevel>,
    goes_on: GoesOn,
    content: FxHashMap<Slot, Resident>,
    pub seen: EnumMap<Kind, CacheCounters>,
}

impl Shared {
    pub fn new(cache: Box<dyn LastLevel>, goes_on: GoesOn) -> Shared {
        Shared { cache, goes_on, content: FxHashMap::default(), seen: Default::default() }
    }

    /// The lines lie in this cache from now on, before the first comes.
    pub fn move_to(&mut self, cache: Box<dyn LastLevel>) {
        *self = Shared::new(cache, self.goes_on);
    }

    /// The same lines once more.
    ///
    /// # Panics
    /// If they are in a machine's cache.
    pub fn twin(&self) -> Shared {
        let cache = self.cache.twin().unwrap_or_else(|| panic!("a machine's last-level cache is not copied"));
        Shared { cache, goes_on: self.goes_on, content: self.content.clone(), seen: self.seen }
    }

    /// Whether lines of this kind come here.
    pub fn is_for(&self, role: Role) -> bool {
        self.goes_on.includes(role)
    }

    /// Enters a line; the dirty one that leaves for memory, if one does.
    pub fn enter(&mut self, role: Role, slot: Slot, content: Line, dirty: bool) -> Option<(Role, Slot, Line)> {
        self.content.insert(slot, Resident { role, content, dirty });
        let displaced = self.cache.enter(slot)?;
        self.displaced(displaced)
    }

    /// A line has lost its entry; if it is dirty, it leaves for memory.
    pub fn displaced(&mut self, slot: Slot) -> Option<(Role, Slot, Line)> {
        self.cache.take(slot);
        let Resident { role, content, dirty } = self.content.remove(&slot)?;
        self.seen[role.kind()].writebacks += u64::from(dirty);
        dirty.then_some((role, slot, content))
    }

    /// Memory has this content: a line that holds it needs not be written back.
    pub fn written_through(&mut self, slot: Slot, content: &Line, planted: Planted) {
        if let Some(line) = self.content.get_mut(&slot) {
            line.dirty &= line.content != *content && !planted.has(Bug::NewerLineMarkedClean);
        }
    }

    /// The content of a line, which stays there.
    pub fn peek(&self, slot: Slot) -> Option<Line> {
        self.content.get(&slot).map(|resident| resident.content)
    }

    /// Whether a line is there; looking is no use of it.
    pub fn holds(&self, slot: Slot) -> bool {
        self.content.contains_key(&slot)
    }

    /// The content of a line, which stays there; looking is a use of it.
    pub fn look_up(&self, slot: Slot) -> Option<Line> {
        self.cache.look_up(slot).then(|| self.peek(slot)).flatten()
    }

    /// Takes a line out.
    pub fn take(&mut self, slot: Slot) -> Option<Resident> {
        let line = self.content.remove(&slot)?;
        let was_there = self.cache.take(slot);
        debug_assert!(was_there, "content and tags agree");
        Some(line)
    }

    /// All dirty lines for which `which` holds, in order.
    pub fn dirty(&self, which: impl Fn(Slot) -> bool) -> Vec<Slot> {
        let dirty = self.content.iter().filter(|(slot, resident)| resident.dirty && which(**slot));
        let mut slots: Vec<Slot> = dirty.map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots
    }

    /// Drops every clean line.
    pub fn forget_clean(&mut self) {
        let cache = &self.cache;
        self.content.retain(|slot, resident| resident.dirty || !cache.take(*slot));
    }
}
