//! A set-associative array of tags: which keys are held, how recently each was used, and in which state.
//!
//! Tags only. The bytes are the scheme's business, the timing is the owner's, so one part serves private caches, the
//! last-level cache, metadata caches, TLBs and branch target buffers. Each entry has a stable [`Slot`] number, so that
//! an owner can keep whatever else it knows about an entry (an arrival time, a target) in a vector of its own.
//!
//! Replacement is exact least-recently-used, by stamps, or static re-reference interval prediction (SRRIP; Jaleel et al.,
//! ISCA 2010), which a scan does not flush: a line enters as one that is not expected back soon, and only a second use
//! makes it stay. Each set remembers the way used last and tries it first: most accesses repeat, and such a hit reads one
//! tag and writes nothing.

use crate::bits::BitSet;
use crate::look_ahead::look_ahead;
use serde::{Deserialize, Serialize};
use std::array;

/// A key that is never stored: marks an empty way.
const EMPTY: u64 = u64::MAX;

/// Neighbouring entries that have one mark together.
const RUN: usize = 8;
/// Tags that the host brings at once.
const TAGS_AT_ONCE: usize = 64 / size_of::<u64>();

/// The position of one entry, stable for as long as the entry is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(u32);

impl Slot {
    /// The position as an index below [`TagArray::slots`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What had to leave so that something else could enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// Its key.
    pub key: u64,
    /// Whether it had been written to since it entered.
    pub dirty: bool,
}

/// What may be done with an entry: MESI (Papamarcos and Patel, ISCA 1984), where an empty way is the invalid state. An
/// owner that shares with no other cache has entries that are exclusive or modified only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// Others may have it too: it must not be written to.
    Shared,
    /// No other cache has it.
    Exclusive,
    /// No other cache has it, and it was written to: it is dirty.
    Modified,
}

impl State {
    /// The state of an entry that no other cache has.
    pub const fn owned(dirty: bool) -> State {
        if dirty { State::Modified } else { State::Exclusive }
    }
}

/// Which entry has to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The least recently used.
    #[default]
    Lru,
    /// The one that is expected back last, by 2-bit SRRIP with hit priority.
    Srrip,
}

/// SRRIP's predictions, kept instead of the stamps: zero is an empty way, the others are expected back in the
/// distant future, after a long time, an intermediate time, at once.
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
    /// When each was used last, counted in uses; zero of an empty way. Half as wide as tags: a set of sixteen ways has a line of
    /// the host's.
    stamps: Box<[u32]>,
    states: Box<[State]>,
    last_used: Box<[u16]>,
    /// The runs of entries in which one was entered: a walk of all entries passes over the others.
    marked: BitSet,
    uses: u32,
    replacement: Replacement,
}

impl TagArray {
    /// An empty array that replaces the least recently used.
    ///
    /// # Panics
    /// As [`TagArray::with_replacement`].
    pub fn new(sets: usize, ways: usize) -> TagArray {
        TagArray::with_replacement(sets, ways, Replacement::Lru)
    }

    /// An empty array.
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
            states: vec![State::Exclusive; slots].into(),
            last_used: vec![0; sets].into(),
            marked: BitSet::new(slots.div_ceil(RUN)),
            uses: 0,
            replacement,
        }
    }

    /// How many entries there is room for.
    pub fn slots(&self) -> usize {
        self.tags.len()
    }

    /// Where `key` is, without counting as a use.
    pub fn probe(&self, key: u64) -> Option<Slot> {
        let base = self.set(key) * self.ways;
        let way = self.tags[base..base + self.ways].iter().position(|&tag| tag == key)?;
        Some(Slot((base + way) as u32))
    }

    /// Asks the host for the set of `key`.
    #[inline]
    pub fn look_ahead(&self, key: u64) {
        let set = self.set(key);
        let base = set * self.ways;
        for way in (0..self.ways).step_by(TAGS_AT_ONCE) {
            look_ahead(&self.tags, base + way);
        }
        look_ahead(&self.stamps, base);
        look_ahead(&self.states, base);
        look_ahead(&self.last_used, set);
    }

    /// Where `key` is; makes it the most recently used of its set.
    #[inline]
    pub fn lookup(&mut self, key: u64) -> Option<Slot> {
        let set = self.set(key);
        let likely = set * self.ways + usize::from(self.last_used[set]);
        if self.tags[likely] == key && self.replacement == Replacement::Lru {
            return Some(Slot(likely as u32));
        }
        let slot = self.probe(key)?;
        match self.replacement {
            Replacement::Lru => self.touch(set, slot.index()),
            Replacement::Srrip => self.stamps[slot.index()] = interval::IMMEDIATE,
        }
        Some(slot)
    }

    /// Enters `key` as the most recently used of its set, in place of the least recently used.
    ///
    /// The key must not be held already: look it up first.
    pub fn insert(&mut self, key: u64, dirty: bool) -> (Slot, Option<Evicted>) {
        self.insert_as(key, State::owned(dirty))
    }

    /// As [`TagArray::insert`], in any state.
    pub fn insert_as(&mut self, key: u64, state: State) -> (Slot, Option<Evicted>) {
        debug_assert!(key != EMPTY && self.probe(key).is_none(), "key {key:#x} cannot enter");
        let set = self.set(key);
        let index = self.victim(set * self.ways);
        let evicted = Evicted { key: self.tags[index], dirty: self.states[index] == State::Modified };
        self.tags[index] = key;
        self.states[index] = state;
        self.marked.insert(index / RUN);
        match self.replacement {
            Replacement::Lru => self.touch(set, index),
            Replacement::Srrip => self.stamps[index] = interval::LONG,
        }
        (Slot(index as u32), (evicted.key != EMPTY).then_some(evicted))
    }

    /// The ways in which `key` can be: empty ones first, then those used least recently.
    pub fn by_age(&self, key: u64) -> Vec<Slot> {
        let mut ways: Vec<Slot> = self.ways_of(key).collect();
        ways.sort_by_key(|slot| self.stamps[slot.index()]);
        ways
    }

    /// The same in no order.
    pub fn ways_of(&self, key: u64) -> impl Iterator<Item = Slot> + use<> {
        let base = self.set(key) * self.ways;
        (base..base + self.ways).map(|way| Slot(way as u32))
    }

    /// The key of an entry, unless it is empty.
    pub fn key(&self, slot: Slot) -> Option<u64> {
        Some(self.tags[slot.index()]).filter(|tag| *tag != EMPTY)
    }

    /// As [`TagArray::insert_as`], in the place of that entry.
    pub fn replace(&mut self, slot: Slot, key: u64, state: State) {
        debug_assert!(
            self.set(key) * self.ways <= slot.index() && self.probe(key).is_none(),
            "key {key:#x} cannot enter"
        );
        (self.tags[slot.index()], self.states[slot.index()]) = (key, state);
        self.marked.insert(slot.index() / RUN);
        self.touch(self.set(key), slot.index());
    }

    /// Notes that the entry was written to.
    #[inline]
    pub fn mark_dirty(&mut self, slot: Slot) {
        self.states[slot.index()] = State::Modified;
    }

    /// What may be done with the entry.
    #[inline]
    pub fn state(&self, slot: Slot) -> State {
        self.states[slot.index()]
    }

    /// Allows at least as much as `state` does.
    pub fn raise(&mut self, slot: Slot, state: State) {
        let held = &mut self.states[slot.index()];
        *held = state.max(*held);
    }

    /// Shares the entry from now on; returns whether it was dirty.
    pub fn share(&mut self, slot: Slot) -> bool {
        std::mem::replace(&mut self.states[slot.index()], State::Shared) == State::Modified
    }

    /// The entry is as memory has it from now on; returns whether it was dirty.
    pub fn clean(&mut self, slot: Slot) -> bool {
        let state = &mut self.states[slot.index()];
        let dirty = *state == State::Modified;
        if dirty {
            *state = State::Exclusive;
        }
        dirty
    }

    /// Drops `key`; returns whether it was dirty, or nothing if it was not held.
    pub fn invalidate(&mut self, key: u64) -> Option<bool> {
        let index = self.probe(key)?.index();
        self.tags[index] = EMPTY;
        self.stamps[index] = 0;
        Some(std::mem::replace(&mut self.states[index], State::Exclusive) == State::Modified)
    }

    /// The keys of all dirty entries, in the order of their positions.
    pub fn dirty_keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries().filter(|(slot, _)| self.state(*slot) == State::Modified).map(|(_, key)| key)
    }

    /// The positions of all entries with their keys, in order.
    pub fn entries(&self) -> impl Iterator<Item = (Slot, u64)> + '_ {
        let indexes = self.marked.iter().flat_map(|run| run * RUN..(run * RUN + RUN).min(self.slots()));
        indexes.map(|index| (Slot(index as u32), self.tags[index])).filter(|(_, tag)| *tag != EMPTY)
    }

    /// Drops every entry that is not dirty.
    pub fn drop_clean(&mut self) {
        let (dirty, clean): (Vec<Slot>, Vec<Slot>) =
            self.entries().map(|(slot, _)| slot).partition(|slot| self.state(*slot) == State::Modified);
        for index in clean.into_iter().map(Slot::index) {
            (self.tags[index], self.stamps[index], self.states[index]) = (EMPTY, 0, State::Exclusive);
        }
        self.marked.clear();
        dirty.into_iter().for_each(|slot| self.marked.insert(slot.index() / RUN));
    }

    #[inline]
    fn set(&self, key: u64) -> usize {
        (key & self.set_mask) as usize
    }

    /// The way of a set that has to leave: the first with the lowest stamp. Under SRRIP, if none is expected in the
    /// distant future, the whole set comes closer to that first.
    fn victim(&mut self, base: usize) -> usize {
        // Without branches, since no processor can predict which way it is, and in four chains.
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

    /// Numbers the uses of each set from one on, in their order, since they have come to the end of their numbers.
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
