//! One metadata cache with its content: look-ups and evictions.

use crate::slot::{Kind, Role, Slot};
use enum_map::{Enum, EnumMap};
use machine::cache::{EntryIndex, TagArray};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use units::{LINE_BYTES, Line, ZERO_LINE};

/// Size of one metadata cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Number of sets; a power of two.
    pub sets: usize,
    /// Associativity: lines in a set.
    pub ways: usize,
}

impl Geometry {
    /// Returns the size of the content in bytes.
    pub fn bytes(&self) -> u64 {
        (self.sets * self.ways * LINE_BYTES) as u64
    }
}

/// Sizes of the metadata caches, and the cache of each kind of metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometries {
    /// Size of each cache.
    pub caches: Vec<Geometry>,
    /// Index of the cache for each kind, if a cache keeps it.
    pub of: EnumMap<Kind, Option<usize>>,
}

impl Geometries {
    /// Returns one cache for all kinds.
    pub fn unified(all: Geometry) -> Geometries {
        Geometries { caches: vec![all], of: EnumMap::from_fn(|kind: Kind| kind.cache().map(|_| 0)) }
    }

    /// Returns separate caches, in the order of [`MetadataCacheKind`].
    pub fn separate(caches: Vec<Geometry>) -> Geometries {
        Geometries { caches, of: EnumMap::from_fn(|kind: Kind| kind.cache().map(Enum::into_usize)) }
    }
}

/// A metadata line with its role.
#[derive(Clone, Copy)]
pub struct CachedLine {
    /// Role of the line in the design.
    pub role: Role,
    /// Content of the line.
    pub content: Line,
    /// Number of requests for the line that have not been useful for a read yet; counted only for copies in L2s.
    pub unused: u64,
    /// Bit mask of the positions in a counter line for which the cache keeps the first offset.
    pub offsets: u128,
}

/// A line that lost its entry in a cache.
pub struct MetadataEviction {
    /// Slot of the line.
    pub slot: Slot,
    /// The line with its role.
    pub held: CachedLine,
    /// True if memory does not have the content.
    pub dirty: bool,
}

/// One cache of metadata lines, with their content.
pub struct MetadataCache {
    tags: TagArray,
    blocks: Box<[Option<Rc<Block>>]>,
}

/// Content of neighbouring entries. The block is allocated when a line first enters one of these entries, so that a
/// large cache needs no host memory for unused entries. A twin of the cache shares the block until either cache changes
/// it.
type Block = [CachedLine; BLOCK_LINES];
const BLOCK_LINES: usize = 8;
/// Content of an unused entry; never read.
const NOTHING: CachedLine = CachedLine { role: Role::Data, content: ZERO_LINE, unused: 0, offsets: 0 };

impl MetadataCache {
    /// Returns an empty cache.
    pub fn new(geometry: Geometry) -> MetadataCache {
        let tags = TagArray::new(geometry.sets, geometry.ways);
        let blocks = vec![None; tags.slots().div_ceil(BLOCK_LINES)].into();
        MetadataCache { tags, blocks }
    }

    /// Returns the line in an entry.
    fn held(&self, entry: EntryIndex) -> &CachedLine {
        let block = self.blocks[entry.index() / BLOCK_LINES].as_ref();
        block.map_or(&NOTHING, |block| &block[entry.index() % BLOCK_LINES])
    }

    /// Returns the line in an entry, for changing.
    fn held_mut(&mut self, entry: EntryIndex) -> &mut CachedLine {
        let block = self.blocks[entry.index() / BLOCK_LINES].get_or_insert_with(|| Rc::new([NOTHING; BLOCK_LINES]));
        &mut Rc::make_mut(block)[entry.index() % BLOCK_LINES]
    }

    /// Returns the content of a line, if the cache has it.
    pub fn get(&mut self, slot: Slot) -> Option<&Line> {
        let entry = self.tags.lookup(slot.0)?;
        Some(&self.held(entry).content)
    }

    /// Returns the content of a line, for a change that memory has too. Does not update replacement state.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Line> {
        let entry = self.tags.probe(slot.0)?;
        Some(&mut self.held_mut(entry).content)
    }

    /// Returns true if the cache has a line. Does not update replacement state.
    pub fn holds(&self, slot: Slot) -> bool {
        self.tags.probe(slot.0).is_some()
    }

    /// Returns the content of a line for changing, and marks the line dirty.
    pub fn edit(&mut self, slot: Slot) -> Option<&mut Line> {
        let entry = self.tags.lookup(slot.0)?;
        self.tags.mark_dirty(entry);
        Some(&mut self.held_mut(entry).content)
    }

    /// Returns the number of requests for a line that have not been useful for a read yet, if the cache has the line.
    /// Does not update replacement state.
    pub fn unused(&mut self, slot: Slot) -> Option<&mut u64> {
        let entry = self.tags.probe(slot.0)?;
        Some(&mut self.held_mut(entry).unused)
    }

    /// Returns the bit mask of the positions in a counter line for which the first offset is kept, if the cache has
    /// the line. Does not update replacement state.
    pub fn offsets(&mut self, slot: Slot) -> Option<&mut u128> {
        let entry = self.tags.probe(slot.0)?;
        Some(&mut self.held_mut(entry).offsets)
    }

    /// Enters a line. Returns the line that lost its entry to it, if one did.
    pub fn insert(&mut self, role: Role, slot: Slot, content: &Line, dirty: bool) -> Option<MetadataEviction> {
        let (entry, evicted) = self.tags.insert(slot.0, dirty);
        let held =
            std::mem::replace(self.held_mut(entry), CachedLine { role, content: *content, unused: 0, offsets: 0 });
        evicted.map(|evicted| MetadataEviction { slot: Slot(evicted.key), held, dirty: evicted.dirty })
    }

    /// Removes a line, and returns its content.
    pub fn take(&mut self, slot: Slot) -> Option<Line> {
        let entry = self.tags.probe(slot.0)?;
        self.tags.invalidate(slot.0);
        Some(self.held(entry).content)
    }

    /// Records that memory has this content: a line with the same content is clean from now on.
    pub fn written_through(&mut self, slot: Slot, content: &Line) {
        if let Some(entry) = self.tags.probe(slot.0)
            && self.held(entry).content == *content
        {
            self.tags.share(entry);
        }
    }

    /// Returns the slots of all lines.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.tags.entries().map(|(_, key)| Slot(key))
    }

    /// Returns the slots of all dirty lines.
    pub fn dirty(&self) -> Vec<Slot> {
        self.tags.dirty_keys().map(Slot).collect()
    }

    /// Drops every clean line.
    pub fn forget_clean(&mut self) {
        self.tags.drop_clean();
    }
}

impl Hash for MetadataCache {
    /// Leaves out the order of replacement.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        let mut lines: Vec<_> = self.tags.entries().map(|(entry, slot)| (slot, self.held(entry).content)).collect();
        let mut dirty = self.dirty();
        lines.sort_unstable();
        dirty.sort_unstable();
        (lines, dirty).hash(hash);
    }
}

impl Clone for MetadataCache {
    /// Does not copy the content of unused entries, which is never read.
    fn clone(&self) -> MetadataCache {
        let mut blocks: Box<[Option<Rc<Block>>]> = vec![None; self.blocks.len()].into();
        for block in self.tags.entries().map(|(entry, _)| entry.index() / BLOCK_LINES) {
            blocks[block].clone_from(&self.blocks[block]);
        }
        MetadataCache { tags: self.tags.clone(), blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metadata_cache_of_three_ways_and_eight_sets_has_24_lines() {
        assert_eq!(Geometry { sets: 8, ways: 3 }.bytes(), 24 * 64);
    }

    #[test]
    fn a_dirty_metadata_line_is_clean_only_after_its_present_content_is_written() {
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
