//! A set-associative array of tags: the stored keys, the recency of their uses, and their MESI states.
//!
//! The array contains only tags. The protection scheme stores the bytes, and the owner of the array models the timing.
//! So one module serves private caches, the last-level cache, metadata caches, TLBs and branch target buffers. Each
//! entry has a stable [`EntryIndex`] number, so an owner can keep other data of an entry (an arrival time, a target) in
//! a separate vector.
//!
//! Replacement is exact least-recently-used, by time stamps, or static re-reference interval prediction (SRRIP; Jaleel
//! et al., ISCA 2010). Under SRRIP, a scan of many lines does not evict the reused lines. A line enters with a late
//! predicted reuse, and only a second use keeps it in the cache. Each set stores its most recently used way and tries
//! it first: most accesses repeat, and this kind of hit reads one tag and writes no memory.

use crate::bits::BitSet;
use crate::prefetch_host::prefetch_host;
use serde::{Deserialize, Serialize};
use std::array;

/// A key that is never stored: marks an empty way.
const EMPTY: u64 = u64::MAX;

/// Number of neighbouring entries that share one bit of `marked`.
const RUN: usize = 8;
/// Number of tags in one cache line of the host.
const TAGS_AT_ONCE: usize = 64 / size_of::<u64>();

/// Position of one entry, which does not change while the array holds the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryIndex(u32);

impl EntryIndex {
    /// Returns the position as an index below [`TagArray::slots`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An entry that was evicted for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Eviction {
    /// Key of the evicted entry.
    pub key: u64,
    /// True if the entry was written to since its key entered the array.
    pub dirty: bool,
}

/// MESI state of an entry (Papamarcos and Patel, ISCA 1984); an empty way is the invalid state. A cache that shares no
/// lines with another cache uses the exclusive and modified states only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MesiState {
    /// Other caches may hold the key too, so the owner must not write to it.
    Shared,
    /// No other cache holds the key.
    Exclusive,
    /// No other cache holds the key, and the entry is dirty.
    Modified,
}

impl MesiState {
    /// Returns the state of an entry that no other cache holds.
    pub const fn owned(dirty: bool) -> MesiState {
        if dirty { MesiState::Modified } else { MesiState::Exclusive }
    }
}

/// Choice of the entry to evict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The least recently used.
    #[default]
    Lru,
    /// The entry with the latest predicted reuse, by 2-bit SRRIP with hit priority.
    Srrip,
}

/// Predictions of SRRIP, stored in place of the stamps. Zero marks an empty way. The values 1 to 4 predict a reuse in
/// the distant future, after a long time, after an intermediate time, and at once.
mod interval {
    pub(super) const DISTANT: u32 = 1;
    pub(super) const LONG: u32 = 2;
    pub(super) const IMMEDIATE: u32 = 4;
}

/// The tags of one set-associative array. Keys are any `u64` but `u64::MAX`; the low bits choose the set.
#[derive(Clone, Debug)]
pub struct TagArray {
    ways: usize,
    set_mask: u64,
    tags: Box<[u64]>,
    /// Time of the latest use of each entry, counted in uses; zero for an empty way. Stamps are half as wide as tags, so a set
    /// of sixteen ways fits into one cache line of the host.
    stamps: Box<[u32]>,
    states: Box<[MesiState]>,
    last_used: Box<[u16]>,
    /// Runs of [`RUN`] entries into which a key was ever entered. Walks of all entries skip the other runs.
    marked: BitSet,
    uses: u32,
    replacement: Replacement,
}

impl TagArray {
    /// Creates an empty array that replaces the least recently used entry.
    ///
    /// # Panics
    /// Under the same conditions as [`TagArray::with_replacement`].
    pub fn new(sets: usize, ways: usize) -> TagArray {
        TagArray::with_replacement(sets, ways, Replacement::Lru)
    }

    /// Creates an empty array with the given replacement policy.
    ///
    /// # Panics
    /// If `sets` is not a power of two, or `ways` is zero or above 65535.
    pub fn with_replacement(sets: usize, ways: usize, replacement: Replacement) -> TagArray {
        assert!(sets.is_power_of_two(), "{sets} sets: not a power of two");
        assert!((1..=usize::from(u16::MAX)).contains(&ways), "{ways} ways: not between 1 and 65535");
        let slots = sets * ways;
        TagArray {
            ways,
            set_mask: sets as u64 - 1,
            tags: vec![EMPTY; slots].into(),
            stamps: vec![0; slots].into(),
            states: vec![MesiState::Exclusive; slots].into(),
            last_used: vec![0; sets].into(),
            marked: BitSet::new(slots.div_ceil(RUN)),
            uses: 0,
            replacement,
        }
    }

    /// Returns the number of entries.
    pub fn slots(&self) -> usize {
        self.tags.len()
    }

    /// Returns the entry of `key`, without counting as a use.
    pub fn probe(&self, key: u64) -> Option<EntryIndex> {
        let base = self.set(key) * self.ways;
        let way = self.tags[base..base + self.ways].iter().position(|&tag| tag == key)?;
        Some(EntryIndex((base + way) as u32))
    }

    /// Prefetches the host memory of the set of `key`.
    #[inline]
    pub fn prefetch_host(&self, key: u64) {
        let set = self.set(key);
        let base = set * self.ways;
        for way in (0..self.ways).step_by(TAGS_AT_ONCE) {
            prefetch_host(&self.tags, base + way);
        }
        prefetch_host(&self.stamps, base);
        prefetch_host(&self.states, base);
        prefetch_host(&self.last_used, set);
    }

    /// Returns the entry of `key`, and makes it the most recently used of its set.
    #[inline]
    pub fn lookup(&mut self, key: u64) -> Option<EntryIndex> {
        let set = self.set(key);
        let likely = set * self.ways + usize::from(self.last_used[set]);
        if self.tags[likely] == key && self.replacement == Replacement::Lru {
            return Some(EntryIndex(likely as u32));
        }
        let slot = self.probe(key)?;
        match self.replacement {
            Replacement::Lru => self.touch(set, slot.index()),
            Replacement::Srrip => self.stamps[slot.index()] = interval::IMMEDIATE,
        }
        Some(slot)
    }

    /// Enters `key` as the most recently used of its set, and evicts the least recently used.
    ///
    /// The array must not hold the key already: look it up first.
    pub fn insert(&mut self, key: u64, dirty: bool) -> (EntryIndex, Option<Eviction>) {
        self.insert_as(key, MesiState::owned(dirty))
    }

    /// Like [`TagArray::insert`], with the given MESI state.
    pub fn insert_as(&mut self, key: u64, state: MesiState) -> (EntryIndex, Option<Eviction>) {
        debug_assert!(key != EMPTY && self.probe(key).is_none(), "key {key:#x} cannot enter");
        let set = self.set(key);
        let index = self.victim(set * self.ways);
        let evicted = Eviction { key: self.tags[index], dirty: self.states[index] == MesiState::Modified };
        self.tags[index] = key;
        self.states[index] = state;
        self.marked.insert(index / RUN);
        match self.replacement {
            Replacement::Lru => self.touch(set, index),
            Replacement::Srrip => self.stamps[index] = interval::LONG,
        }
        (EntryIndex(index as u32), (evicted.key != EMPTY).then_some(evicted))
    }

    /// Returns the ways of the set of `key`: the empty ways first, then the occupied ways, the least recently used
    /// first.
    pub fn by_age(&self, key: u64) -> Vec<EntryIndex> {
        let mut ways: Vec<EntryIndex> = self.ways_of(key).collect();
        ways.sort_by_key(|slot| self.stamps[slot.index()]);
        ways
    }

    /// Returns the ways of the set of `key`, in order of position.
    pub fn ways_of(&self, key: u64) -> impl Iterator<Item = EntryIndex> + use<> {
        let base = self.set(key) * self.ways;
        (base..base + self.ways).map(|way| EntryIndex(way as u32))
    }

    /// Returns the key of an entry, unless it is empty.
    pub fn key(&self, slot: EntryIndex) -> Option<u64> {
        Some(self.tags[slot.index()]).filter(|tag| *tag != EMPTY)
    }

    /// Like [`TagArray::insert_as`], into the entry at `slot`; replaces the key of this entry.
    pub fn replace(&mut self, slot: EntryIndex, key: u64, state: MesiState) {
        debug_assert!(
            self.set(key) * self.ways <= slot.index() && self.probe(key).is_none(),
            "key {key:#x} cannot enter"
        );
        (self.tags[slot.index()], self.states[slot.index()]) = (key, state);
        self.marked.insert(slot.index() / RUN);
        self.touch(self.set(key), slot.index());
    }

    /// Marks the entry as dirty.
    #[inline]
    pub fn mark_dirty(&mut self, slot: EntryIndex) {
        self.states[slot.index()] = MesiState::Modified;
    }

    /// Returns the state of the entry.
    #[inline]
    pub fn state(&self, slot: EntryIndex) -> MesiState {
        self.states[slot.index()]
    }

    /// Raises the state of the entry to at least `state`.
    pub fn raise(&mut self, slot: EntryIndex, state: MesiState) {
        let held = &mut self.states[slot.index()];
        *held = state.max(*held);
    }

    /// Changes the entry to shared; returns true if it was dirty.
    pub fn share(&mut self, slot: EntryIndex) -> bool {
        std::mem::replace(&mut self.states[slot.index()], MesiState::Shared) == MesiState::Modified
    }

    /// Marks the entry as equal to memory; returns true if it was dirty.
    pub fn clean(&mut self, slot: EntryIndex) -> bool {
        let state = &mut self.states[slot.index()];
        let dirty = *state == MesiState::Modified;
        if dirty {
            *state = MesiState::Exclusive;
        }
        dirty
    }

    /// Drops `key`; returns true if it was dirty, and `None` if the array does not hold it.
    pub fn invalidate(&mut self, key: u64) -> Option<bool> {
        let index = self.probe(key)?.index();
        self.tags[index] = EMPTY;
        self.stamps[index] = 0;
        Some(std::mem::replace(&mut self.states[index], MesiState::Exclusive) == MesiState::Modified)
    }

    /// Returns the keys of all dirty entries, in the order of their positions.
    pub fn dirty_keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries().filter(|(slot, _)| self.state(*slot) == MesiState::Modified).map(|(_, key)| key)
    }

    /// Returns the positions of all entries with their keys, in order.
    pub fn entries(&self) -> impl Iterator<Item = (EntryIndex, u64)> + '_ {
        let indexes = self.marked.iter().flat_map(|run| run * RUN..(run * RUN + RUN).min(self.slots()));
        indexes.map(|index| (EntryIndex(index as u32), self.tags[index])).filter(|(_, tag)| *tag != EMPTY)
    }

    /// Drops every entry that is not dirty.
    pub fn drop_clean(&mut self) {
        let (dirty, clean): (Vec<EntryIndex>, Vec<EntryIndex>) =
            self.entries().map(|(slot, _)| slot).partition(|slot| self.state(*slot) == MesiState::Modified);
        for index in clean.into_iter().map(EntryIndex::index) {
            (self.tags[index], self.stamps[index], self.states[index]) = (EMPTY, 0, MesiState::Exclusive);
        }
        self.marked.clear();
        dirty.into_iter().for_each(|slot| self.marked.insert(slot.index() / RUN));
    }

    #[inline]
    fn set(&self, key: u64) -> usize {
        (key & self.set_mask) as usize
    }

    /// Returns the way to evict: the first with the lowest stamp. Under SRRIP, if no way has a distant prediction, all
    /// predictions of the set are first lowered until one has.
    fn victim(&mut self, base: usize) -> usize {
        // Without branches, since no processor can predict the way, and in four dependency chains.
        let order = |way: usize, stamp: u32| u64::from(stamp) << u16::BITS | way as u64;
        let (fours, rest) = self.stamps[base..base + self.ways].as_chunks::<4>();
        let mut firsts = [u64::MAX; 4];
        for (number, four) in fours.iter().enumerate() {
            firsts = array::from_fn(|lane| firsts[lane].min(order(4 * number + lane, four[lane])));
        }
        let rest = rest.iter().zip(4 * fours.len()..).map(|(stamp, way)| order(way, *stamp));
        let first = rest.chain(firsts).fold(u64::MAX, u64::min);
        let index = base + usize::from(first as u16);
        if self.replacement == Replacement::Srrip {
            let step = self.stamps[index].saturating_sub(interval::DISTANT);
            self.stamps[base..base + self.ways].iter_mut().for_each(|stamp| *stamp -= step.min(*stamp));
        }
        index
    }

    fn touch(&mut self, set: usize, index: usize) {
        if self.uses == u32::MAX {
            self.count_anew();
        }
        self.uses += 1;
        self.stamps[index] = self.uses;
        self.last_used[set] = (index - set * self.ways) as u16;
    }

    /// Renumbers the stamps of each set from one, in their order, because the counter of uses has reached its maximum.
    #[cold]
    fn count_anew(&mut self) {
        let mut held = Vec::with_capacity(self.ways);
        for set in self.stamps.chunks_mut(self.ways) {
            held.clear();
            held.extend((0..set.len()).filter(|way| set[*way] > 0));
            held.sort_unstable_by_key(|way| set[*way]);
            held.iter().zip(1..).for_each(|(way, stamp)| set[*way] = stamp);
        }
        self.uses = self.ways as u32;
    }
}

#[cfg(test)]
mod tests;
