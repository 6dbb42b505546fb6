//! Lines of counters in the machine's last-level cache, which they share with data (as in VAULT, Morphable Counters and
//! EMCC, MICRO 2022, whose controllers look there before they ask memory).
//!
//! # Inclusion and eviction
//! * A line of counters is in the controller's cache or in the last-level cache, never in both: it goes to the last-level
//!   cache when it loses its place in the controller's, clean or dirty, and moves back when it is found there.
//! * In the last-level cache it is a line like any other and is replaced by the same rule. Data may displace it, and it data.
//! * A displaced clean line is dropped: memory has it. A dirty one leaves for memory, which its parent is told, as if it had
//!   come from the controller's cache. If it was data that displaced it, the next access to end takes it along; until then
//!   it counts as present.
//! * Whatever is there is on the chip, hence trusted: it was verified when it came in.
//!
//! Who is there is decided by a [`LastLevel`], the machine's or a plain one where there is no machine; the content is here.

use super::CacheCounters;
use crate::verbs::Slot;
use machine::cache::TagArray;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use units::Line;

/// Who decides which lines of counters a last-level cache keeps.
pub trait LastLevel {
    /// Takes a line out; whether it was there.
    fn take(&self, slot: Slot) -> bool;
    /// Whether a line is there, for somebody who reads it; that is a use of it.
    fn look_up(&self, slot: Slot) -> bool;
    /// Puts a line in; the line of counters that had to leave for it, if one had to. Where data had to leave, that is seen to.
    fn enter(&self, slot: Slot) -> Option<Slot>;
    /// The same cache once more; nothing if it belongs to a machine, which is not copied.
    fn twin(&self) -> Option<Box<dyn LastLevel>> {
        None
    }
}

/// A plain cache of lines of counters alone.
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

/// The lines of counters in a last-level cache: their content, and whether memory lacks it.
pub(super) struct Shared {
    cache: Box<dyn LastLevel>,
    content: FxHashMap<Slot, (Line, bool)>,
    pub seen: CacheCounters,
}

impl Shared {
    pub fn new(cache: Box<dyn LastLevel>) -> Shared {
        Shared { cache, content: FxHashMap::default(), seen: CacheCounters::default() }
    }

    /// The same lines once more.
    ///
    /// # Panics
    /// If they are in a machine's cache.
    pub fn twin(&self) -> Shared {
        let cache = self.cache.twin().unwrap_or_else(|| panic!("a machine's last-level cache is not copied"));
        Shared { cache, content: self.content.clone(), seen: self.seen }
    }

    /// Enters a line; the dirty one that leaves for memory, if one does.
    pub fn enter(&mut self, slot: Slot, content: Line, dirty: bool) -> Option<(Slot, Line)> {
        self.content.insert(slot, (content, dirty));
        let displaced = self.cache.enter(slot)?;
        self.displaced(displaced)
    }

    /// A line has lost its place; if it is dirty, it leaves for memory.
    pub fn displaced(&mut self, slot: Slot) -> Option<(Slot, Line)> {
        self.cache.take(slot);
        let (content, dirty) = self.content.remove(&slot)?;
        self.seen.writebacks += u64::from(dirty);
        dirty.then_some((slot, content))
    }

    /// The content of a line, which stays there.
    pub fn peek(&self, slot: Slot) -> Option<Line> {
        self.content.get(&slot).map(|(content, _)| *content)
    }

    /// The content of a line for somebody who reads it, which stays there.
    pub fn look_up(&self, slot: Slot) -> Option<Line> {
        self.cache.look_up(slot).then(|| self.peek(slot)).flatten()
    }

    /// Takes a line out, with whether it is dirty.
    pub fn take(&mut self, slot: Slot) -> Option<(Line, bool)> {
        let line = self.content.remove(&slot)?;
        let was_there = self.cache.take(slot);
        debug_assert!(was_there, "content and tags agree");
        Some(line)
    }

    /// All dirty lines, in order.
    pub fn dirty(&self) -> Vec<Slot> {
        let dirty = self.content.iter().filter(|(_, (_, dirty))| *dirty);
        let mut slots: Vec<Slot> = dirty.map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots
    }

    /// Drops every clean line.
    pub fn forget_clean(&mut self) {
        let cache = &self.cache;
        self.content.retain(|slot, (_, dirty)| *dirty || !cache.take(*slot));
    }
}
