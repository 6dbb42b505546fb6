//! Metadata on the chip: the caches of counters, tags and tree nodes, the root register with the roots of a forest, and what
//! is on its way out.
//!
//! Whatever is here is trusted: it was verified when it came in, and nobody outside reaches it. A dirty line that must
//! make room goes to the list of *leaving* lines, where it still counts as present, until its parent has been told and
//! memory has it.

use crate::tree::{Forest, Node};
use crate::verbs::{Fault, Role, Slot};
use derive_more::{AddAssign, Sub};
use machine::cache::TagArray;
use serde::Serialize;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// The size of one metadata cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Sets; a power of two.
    pub sets: usize,
    /// Lines in a set.
    pub ways: usize,
}

impl Geometry {
    /// Bytes of content.
    pub fn bytes(&self) -> u64 {
        (self.sets * self.ways * LINE_BYTES) as u64
    }
}

/// Hits and misses of one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CacheCounters {
    /// Look-ups that found the line on the chip.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
    /// Dirty lines that had to leave.
    pub writebacks: u64,
}

/// One cache of metadata lines, with their content.
struct MetadataCache {
    tags: TagArray,
    content: Box<[Line]>,
    counters: CacheCounters,
}

impl MetadataCache {
    fn new(geometry: Geometry) -> MetadataCache {
        let tags = TagArray::new(geometry.sets, geometry.ways);
        let content = vec![ZERO_LINE; tags.slots()].into();
        MetadataCache { tags, content, counters: CacheCounters::default() }
    }

    fn get(&mut self, slot: Slot) -> Option<&Line> {
        self.tags.lookup(slot.0).map(|place| &self.content[place.index()])
    }

    fn edit(&mut self, slot: Slot) -> Option<&mut Line> {
        let place = self.tags.lookup(slot.0)?;
        self.tags.mark_dirty(place);
        Some(&mut self.content[place.index()])
    }

    /// Enters a line; returns the dirty line that had to leave for it.
    fn insert(&mut self, slot: Slot, content: &Line, dirty: bool) -> Option<(Slot, Line)> {
        let (place, evicted) = self.tags.insert(slot.0, dirty);
        let old = std::mem::replace(&mut self.content[place.index()], *content);
        let victim = evicted.filter(|evicted| evicted.dirty).map(|evicted| (Slot(evicted.key), old));
        self.counters.writebacks += u64::from(victim.is_some());
        victim
    }

    fn take(&mut self, slot: Slot) -> Option<Line> {
        let place = self.tags.probe(slot.0)?;
        self.tags.invalidate(slot.0);
        Some(self.content[place.index()])
    }
}

/// One departure of a line: the same line may be called back and leave again with the same content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// What goes to memory.
    pub content: Line,
    number: u64,
}

/// A dirty line that has lost its place in the cache and is not yet in memory.
struct Leaving {
    slot: Slot,
    departure: Departure,
    /// Somebody is taking care of it.
    claimed: bool,
}

/// A write that waits to become durable.
pub struct Waiting {
    /// Where.
    pub line: LineAddr,
    /// What.
    pub plaintext: Line,
    /// Whether it has its line to itself, so that anybody may carry it out.
    pub ready: Rc<Cell<bool>>,
    /// How it ended, once it has.
    pub fate: Rc<Cell<Option<Result<(), Fault>>>>,
}

/// The trusted state of one scheme.
pub struct OnChip {
    counters: MetadataCache,
    tags: MetadataCache,
    nodes: MetadataCache,
    leaving: Vec<Leaving>,
    departures: u64,
    /// Writes that wait to become durable, in the order in which they came.
    pub gathering: VecDeque<Waiting>,
    /// The nodes that vouch for the topmost stored ones: the root of the tree.
    pub root: Box<[Line]>,
    /// The other roots. They count as lines of the cache of nodes that never make room.
    pub forest: Forest,
}

impl OnChip {
    /// Empty caches of these sizes, a blank root of so many lines, and the other roots of a blank forest.
    pub fn new(counters: Geometry, tags: Geometry, nodes: Geometry, root_lines: usize, forest: Forest) -> OnChip {
        OnChip {
            counters: MetadataCache::new(counters),
            tags: MetadataCache::new(tags),
            nodes: MetadataCache::new(nodes),
            leaving: Vec::new(),
            departures: 0,
            gathering: VecDeque::new(),
            root: vec![ZERO_LINE; root_lines].into(),
            forest,
        }
    }

    fn cache(&mut self, role: Role) -> &mut MetadataCache {
        match role {
            Role::Counter | Role::Owner => &mut self.counters,
            Role::Tag => &mut self.tags,
            Role::Node(_) => &mut self.nodes,
            Role::Data => unreachable!("data is not metadata"),
        }
    }

    /// Whether a line is on the chip; if it was leaving, it stays after all. Counts a hit or a miss.
    pub fn present(&mut self, role: Role, slot: Slot) -> bool {
        let found = self.get(role, slot).is_some();
        let counters = &mut self.cache(role).counters;
        counters.hits += u64::from(found);
        counters.misses += u64::from(!found);
        found
    }

    /// The content of a line, if it is on the chip.
    pub fn get(&mut self, role: Role, slot: Slot) -> Option<&Line> {
        if self.keeps(role, slot) {
            return self.forest.node(slot);
        }
        self.call_back(role, slot);
        self.cache(role).get(slot)
    }

    /// The content of a line for changing, if it is in a cache or a root: a leaving line is not called back, so that no other
    /// has to make room for it.
    pub fn edit_resident(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if self.keeps(role, slot) {
            return self.forest.node_mut(slot);
        }
        self.cache(role).edit(slot)
    }

    /// Memory has this content: a line that holds it needs not be written back.
    pub fn written_through(&mut self, role: Role, slot: Slot, content: &Line) {
        self.leaving.retain(|leaving| leaving.slot != slot || leaving.departure.content != *content);
        let cache = self.cache(role);
        if let Some(place) = cache.tags.probe(slot.0)
            && cache.content[place.index()] == *content
        {
            cache.tags.share(place);
        }
    }

    /// The content of a line for changing, if it is on the chip.
    pub fn edit(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if self.keeps(role, slot) {
            return self.forest.node_mut(slot);
        }
        self.call_back(role, slot);
        self.cache(role).edit(slot)
    }

    fn keeps(&self, role: Role, slot: Slot) -> bool {
        matches!(role, Role::Node(_)) && self.forest.is_root(Node::Stored(slot))
    }

    /// Keeps a node that is on the chip as a root, if there is room. Not if it is no longer on the chip.
    pub fn keep(&mut self, role: Role, slot: Slot) -> bool {
        let Role::Node(level) = role else { return true };
        if self.keeps(role, slot) || !self.forest.has_room() {
            return true;
        }
        self.call_back(role, slot);
        let content = self.nodes.take(slot);
        content.is_some_and(|content| {
            self.forest.keep(slot, level as usize, content);
            true
        })
    }

    /// Makes an ordinary node of a root if it still holds what its parent was told; dirty, since memory does not know.
    pub fn give_up(&mut self, role: Role, slot: Slot, told: &Line, dirty: bool) -> bool {
        let given_up = self.forest.give_up(slot, told);
        if given_up {
            self.admit(role, slot, told, dirty);
        }
        given_up
    }

    /// Enters a verified line. A dirty line that must make room starts leaving.
    pub fn admit(&mut self, role: Role, slot: Slot, content: &Line, dirty: bool) {
        if let Some((slot, content)) = self.cache(role).insert(slot, content, dirty) {
            self.depart(slot, content);
        }
    }

    /// Puts a leaving line back into its cache. The others keep their order, which must not depend on what of another kind
    /// leaves at the same time.
    fn call_back(&mut self, role: Role, slot: Slot) {
        if let Some(index) = self.leaving.iter().position(|leaving| leaving.slot == slot) {
            let leaving = self.leaving.remove(index);
            self.admit(role, slot, &leaving.departure.content, true);
        }
    }

    fn depart(&mut self, slot: Slot, content: Line) {
        self.departures += 1;
        let departure = Departure { content, number: self.departures };
        self.leaving.push(Leaving { slot, departure, claimed: false });
    }

    /// A leaving line that nobody takes care of yet; the caller now does.
    pub fn claim_leaving(&mut self) -> Option<Slot> {
        let leaving = self.leaving.iter_mut().find(|leaving| !leaving.claimed)?;
        leaving.claimed = true;
        Some(leaving.slot)
    }

    /// The departure of a line, if it is leaving.
    pub fn leaving(&self, slot: Slot) -> Option<Departure> {
        self.leaving.iter().find(|leaving| leaving.slot == slot).map(|leaving| leaving.departure)
    }

    /// The line is in memory: it has left.
    pub fn left(&mut self, slot: Slot) {
        self.leaving.retain(|leaving| leaving.slot != slot);
    }

    /// Makes every dirty line for which `which` holds start leaving.
    pub fn dismiss_dirty(&mut self, role: Role, which: impl Fn(Slot) -> bool) {
        let cache = self.cache(role);
        let slots: Vec<Slot> = cache.tags.dirty_keys().map(Slot).filter(|slot| which(*slot)).collect();
        for slot in slots {
            if let Some(content) = self.cache(role).take(slot) {
                self.cache(role).counters.writebacks += 1;
                self.depart(slot, content);
            }
        }
    }

    /// Forgets every clean line, so that memory must be asked again.
    pub fn forget_clean(&mut self) {
        for cache in [&mut self.counters, &mut self.tags, &mut self.nodes] {
            let dirty: Vec<u64> = cache.tags.dirty_keys().collect();
            let clean: Vec<u64> = cache.tags.keys().filter(|key| !dirty.contains(key)).collect();
            clean.into_iter().for_each(|key| {
                cache.tags.invalidate(key);
            });
        }
    }

    /// The writes that become durable next: in order, at most so many, as far as they have their lines.
    pub fn gather(&mut self, most: usize) -> Vec<Waiting> {
        let ready = self.gathering.iter().take(most).take_while(|waiting| waiting.ready.get()).count();
        self.gathering.drain(..ready).collect()
    }

    /// Hits and misses of the counter, tag and node caches.
    pub fn counters(&self) -> [CacheCounters; 3] {
        [self.counters.counters, self.tags.counters, self.nodes.counters]
    }
}
