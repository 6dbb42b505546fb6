//! One cache of metadata with its content: what it is asked, and what has to leave it.

use crate::slot::{Kind, Role, Slot};
use enum_map::EnumMap;
use machine::cache::{Slot as Place, TagArray};
use std::rc::Rc;
use units::{LINE_BYTES, Line, ZERO_LINE};

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

/// Which caches there are, and which of them each kind of metadata has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometries {
    /// The size of each.
    pub caches: Vec<Geometry>,
    /// Which of them is for a kind.
    pub of: EnumMap<Kind, usize>,
}

impl Geometries {
    /// One cache of everything.
    pub fn unified(all: Geometry) -> Geometries {
        Geometries { caches: vec![all], of: EnumMap::default() }
    }

    /// One each of counters, of tags, of nodes and of bitmaps ([`Kind::cache`]).
    pub fn separate(caches: [Geometry; Kind::CACHES]) -> Geometries {
        Geometries { caches: caches.into(), of: EnumMap::from_fn(Kind::cache) }
    }
}

/// A line of metadata with what it is for.
#[derive(Clone, Copy)]
pub struct Held {
    /// What it is for.
    pub role: Role,
    /// What it holds.
    pub content: Line,
    /// Requests for it that have served no read yet; counted of copies in L2s alone.
    pub unused: u64,
    /// Of which positions of a line of counters the first offsets are there as well, by bits.
    pub offsets: u128,
}

/// A line that lost its entry in a cache.
pub struct Evicted {
    /// Which.
    pub slot: Slot,
    /// What it was.
    pub held: Held,
    /// Whether memory lacks it.
    pub dirty: bool,
}

/// One cache of metadata lines, with their content.
pub struct MetadataCache {
    tags: TagArray,
    blocks: Box<[Option<Rc<Block>>]>,
}

/// What neighbouring entries hold. There from when something first enters one of them, so that a large cache costs
/// nothing until it is used; a twin of the cache shares it until one of them changes it.
type Block = [Held; BLOCK_LINES];
const BLOCK_LINES: usize = 8;
/// What is left in an entry that nothing has entered; never looked at.
const NOTHING: Held = Held { role: Role::Data, content: ZERO_LINE, unused: 0, offsets: 0 };

impl MetadataCache {
    /// An empty one.
    pub fn new(geometry: Geometry) -> MetadataCache {
        let tags = TagArray::new(geometry.sets, geometry.ways);
        let blocks = vec![None; tags.slots().div_ceil(BLOCK_LINES)].into();
        MetadataCache { tags, blocks }
    }

    /// What an entry holds.
    fn held(&self, place: Place) -> &Held {
        let block = self.blocks[place.index() / BLOCK_LINES].as_ref();
        block.map_or(&NOTHING, |block| &block[place.index() % BLOCK_LINES])
    }

    /// What an entry holds, for changing.
    fn held_mut(&mut self, place: Place) -> &mut Held {
        let block = self.blocks[place.index() / BLOCK_LINES].get_or_insert_with(|| Rc::new([NOTHING; BLOCK_LINES]));
        &mut Rc::make_mut(block)[place.index() % BLOCK_LINES]
    }

    /// The content of a line.
    pub fn get(&mut self, slot: Slot) -> Option<&Line> {
        let place = self.tags.lookup(slot.0)?;
        Some(&self.held(place).content)
    }

    /// The content of a line for changing as memory changes; looking is no use of it.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Line> {
        let place = self.tags.probe(slot.0)?;
        Some(&mut self.held_mut(place).content)
    }

    /// Whether a line is there; looking is no use of it.
    pub fn holds(&self, slot: Slot) -> bool {
        self.tags.probe(slot.0).is_some()
    }

    /// The content of a line for changing; it is dirty from now on.
    pub fn edit(&mut self, slot: Slot) -> Option<&mut Line> {
        let place = self.tags.lookup(slot.0)?;
        self.tags.mark_dirty(place);
        Some(&mut self.held_mut(place).content)
    }

    /// Requests for a line that have served no read yet, if it is there; looking is no use of it.
    pub fn unused(&mut self, slot: Slot) -> Option<&mut u64> {
        let place = self.tags.probe(slot.0)?;
        Some(&mut self.held_mut(place).unused)
    }

    /// Of which positions of a line of counters the first offsets are there, if the line is; looking is no use of it.
    pub fn offsets(&mut self, slot: Slot) -> Option<&mut u128> {
        let place = self.tags.probe(slot.0)?;
        Some(&mut self.held_mut(place).offsets)
    }

    /// Enters a line; returns the one that had to leave for it.
    pub fn insert(&mut self, role: Role, slot: Slot, content: &Line, dirty: bool) -> Option<Evicted> {
        let (place, evicted) = self.tags.insert(slot.0, dirty);
        let held = std::mem::replace(self.held_mut(place), Held { role, content: *content, unused: 0, offsets: 0 });
        evicted.map(|evicted| Evicted { slot: Slot(evicted.key), held, dirty: evicted.dirty })
    }

    /// Takes a line out.
    pub fn take(&mut self, slot: Slot) -> Option<Line> {
        let place = self.tags.probe(slot.0)?;
        self.tags.invalidate(slot.0);
        Some(self.held(place).content)
    }

    /// Memory has this content: a line that holds it needs not be written back.
    pub fn written_through(&mut self, slot: Slot, content: &Line) {
        if let Some(place) = self.tags.probe(slot.0)
            && self.held(place).content == *content
        {
            self.tags.share(place);
        }
    }

    /// All lines.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.tags.entries().map(|(_, key)| Slot(key))
    }

    /// All dirty lines.
    pub fn dirty(&self) -> Vec<Slot> {
        self.tags.dirty_keys().map(Slot).collect()
    }

    /// Drops every clean line.
    pub fn forget_clean(&mut self) {
        self.tags.drop_clean();
    }
}

impl Clone for MetadataCache {
    /// What was held in entries that are empty is never looked at, so it is left out.
    fn clone(&self) -> MetadataCache {
        let mut blocks: Box<[Option<Rc<Block>>]> = vec![None; self.blocks.len()].into();
        for block in self.tags.entries().map(|(place, _)| place.index() / BLOCK_LINES) {
            blocks[block].clone_from(&self.blocks[block]);
        }
        MetadataCache { tags: self.tags.clone(), blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_of_three_ways_and_eight_sets_holds_twenty_four_lines() {
        assert_eq!(Geometry { sets: 8, ways: 3 }.bytes(), 24 * 64);
    }

    #[test]
    fn a_line_is_clean_again_only_when_memory_has_what_it_holds() {
        let mut cache = MetadataCache::new(Geometry { sets: 1, ways: 2 });
        for (slot, content) in [(Slot(1), [1; 64]), (Slot(2), [2; 64])] {
            cache.insert(Role::Counter, slot, &content, true);
            cache.written_through(slot, &[1; 64]);
        }
        assert_eq!(cache.dirty(), [Slot(2)]);
        cache.forget_clean();
        assert_eq!([1, 2].map(|slot| cache.get(Slot(slot)).copied()), [None, Some([2; 64])]);
    }
}
