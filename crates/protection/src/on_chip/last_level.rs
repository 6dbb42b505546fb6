//! Counter lines in the machine's last-level cache, and nodes of the tree if the design requests it. They share the
//! cache with data, as in VAULT, Morphable Counters and EMCC (MICRO 2022). The controllers of these designs look up
//! metadata in this cache before memory.
//!
//! # Inclusion and eviction
//! * A metadata line is in the controller's cache or in the last-level cache, never in both. It moves to the
//!   last-level cache when the controller's cache evicts it, clean or dirty, and moves back when a look-up finds it in
//!   the last-level cache.
//! * In the last-level cache, a metadata line is replaced by the same rule as data. Data may displace metadata, and
//!   metadata may displace data.
//! * A displaced clean line is dropped, since memory has it. A displaced dirty line leaves for memory like a line
//!   evicted from the controller's cache, and its parent is updated. If data displaced the line, the next access that
//!   ends writes it back; until then the line counts as present.
//! * All metadata in the last-level cache is on the chip, hence trusted: it was verified when it entered the chip.
//!
//! A [`LastLevel`] decides which lines are in the cache: the cache of the machine, or a plain cache in runs without a
//! machine. This module keeps the content of the lines.

use super::MetadataCacheCounts;
use crate::planted::{Bug, PlantedBug};
use crate::slot::{Kind, Role, Slot};
use enum_map::EnumMap;
use machine::cache::TagArray;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use units::Line;

/// Kinds of metadata that enter a last-level cache when the controller's cache evicts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoesOn {
    /// Counter lines, and no other line.
    Counters,
    /// Counter lines, and nodes of the tree.
    CountersAndNodes,
}

impl GoesOn {
    /// Returns true if lines of this kind enter a last-level cache.
    pub fn includes(self, role: Role) -> bool {
        match role.kind() {
            Kind::Counters => true,
            Kind::Nodes => self == GoesOn::CountersAndNodes,
            Kind::Data | Kind::Tags | Kind::Owners | Kind::Bitmaps | Kind::Records | Kind::Contexts => false,
        }
    }
}

/// The replacement policy of a last-level cache, which decides which metadata lines it keeps.
pub trait LastLevel {
    /// Removes a line. Returns whether the cache had it.
    fn take(&self, slot: Slot) -> bool;
    /// Returns true if the cache has a line. Counts as a use of the line.
    fn look_up(&self, slot: Slot) -> bool;
    /// Enters a line, and handles the data that it evicts. Returns the metadata line that it evicts, if any.
    fn enter(&self, slot: Slot) -> Option<Slot>;
    /// Returns a copy of this cache, or `None` if it belongs to a machine, which is not copied.
    fn twin(&self) -> Option<Box<dyn LastLevel>> {
        None
    }
}

/// A plain cache that holds only metadata lines.
struct Plain(RefCell<TagArray>);

/// Returns a plain last-level cache of this many sets and ways.
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
pub(super) struct MetadataLine {
    role: Role,
    pub content: Line,
    /// True if memory does not have the content.
    pub dirty: bool,
}

/// The metadata lines in a last-level cache.
pub(super) struct LastLevelMetadata {
    cache: Box<dyn LastLevel>,
    goes_on: GoesOn,
    content: FxHashMap<Slot, MetadataLine>,
    pub seen: EnumMap<Kind, MetadataCacheCounts>,
}

impl LastLevelMetadata {
    pub fn new(cache: Box<dyn LastLevel>, goes_on: GoesOn) -> LastLevelMetadata {
        LastLevelMetadata { cache, goes_on, content: FxHashMap::default(), seen: Default::default() }
    }

    /// Stores the lines in this cache from now on. To be called before the first line enters.
    pub fn move_to(&mut self, cache: Box<dyn LastLevel>) {
        *self = LastLevelMetadata::new(cache, self.goes_on);
    }

    /// Returns a copy of these lines.
    ///
    /// # Panics
    /// If the lines are in a machine's cache.
    pub fn twin(&self) -> LastLevelMetadata {
        let cache = self.cache.twin().unwrap_or_else(|| panic!("a machine's last-level cache is not copied"));
        LastLevelMetadata { cache, goes_on: self.goes_on, content: self.content.clone(), seen: self.seen }
    }

    /// Returns true if lines of this kind enter the cache.
    pub fn is_for(&self, role: Role) -> bool {
        self.goes_on.includes(role)
    }

    /// Enters a line. Returns the dirty line that leaves for memory, if one does.
    pub fn enter(&mut self, role: Role, slot: Slot, content: Line, dirty: bool) -> Option<(Role, Slot, Line)> {
        self.content.insert(slot, MetadataLine { role, content, dirty });
        let displaced = self.cache.enter(slot)?;
        self.displaced(displaced)
    }

    /// Removes a line that the cache has evicted. Returns a dirty line, which then leaves for memory.
    pub fn displaced(&mut self, slot: Slot) -> Option<(Role, Slot, Line)> {
        self.cache.take(slot);
        let MetadataLine { role, content, dirty } = self.content.remove(&slot)?;
        self.seen[role.kind()].writebacks += u64::from(dirty);
        dirty.then_some((role, slot, content))
    }

    /// Records that memory has this content: a line with the same content is clean from now on.
    pub fn written_through(&mut self, slot: Slot, content: &Line, planted: PlantedBug) {
        if let Some(line) = self.content.get_mut(&slot) {
            line.dirty &= line.content != *content && !planted.has(Bug::NewerLineMarkedClean);
        }
    }

    /// Returns the content of a line, which stays in the cache.
    pub fn peek(&self, slot: Slot) -> Option<Line> {
        self.content.get(&slot).map(|resident| resident.content)
    }

    /// Returns true if the cache has a line. Does not update replacement state.
    pub fn holds(&self, slot: Slot) -> bool {
        self.content.contains_key(&slot)
    }

    /// Returns the content of a line, which stays in the cache. Counts as a use of the line.
    pub fn look_up(&self, slot: Slot) -> Option<Line> {
        self.cache.look_up(slot).then(|| self.peek(slot)).flatten()
    }

    /// Removes a line, and returns it.
    pub fn take(&mut self, slot: Slot) -> Option<MetadataLine> {
        let line = self.content.remove(&slot)?;
        let was_there = self.cache.take(slot);
        debug_assert!(was_there, "content and tags agree");
        Some(line)
    }

    /// Returns all dirty lines for which `which` holds, in order.
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
