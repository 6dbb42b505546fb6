//! A set-associative array of tags: which keys are held, how recently each was used, and in which state.
//!
//! Tags only. The bytes are the scheme's business, the timing is the owner's, so one part serves private caches, the
//! last-level cache, metadata caches, TLBs and branch target buffers. Each place has a stable [`Slot`] number, so that an
//! owner can keep whatever else it knows about an entry (an arrival time, a target) in a vector of its own beside it.
//!
//! Replacement is exact least-recently-used, by stamps, or static re-reference interval prediction (SRRIP; Jaleel et al.,
//! ISCA 2010), which a scan does not flush: a line enters as one that is not expected back soon, and only a second use
//! makes it stay. Each set remembers the way used last and tries it first: most accesses repeat, and such a hit reads one
//! tag and writes nothing.

use serde::{Deserialize, Serialize};

/// A key that is never stored: marks an empty way.
const EMPTY: u64 = u64::MAX;

/// Entries of a large array that are looked at in one go.
const RUN: usize = 64;

/// Whether there is such a thing among all these. Looks at all of them, without a branch for each.
fn has_any<T: Copy>(run: &[T], is_such: impl Fn(T) -> bool) -> bool {
    run.iter().fold(false, |any, item| any | is_such(*item))
}

/// The place of one entry, stable for as long as the entry is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(u32);

impl Slot {
    /// The place as an index below [`TagArray::slots`].
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
/// owner who shares with nobody has entries that are exclusive or modified only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// Others may have it too: it must not be written to.
    Shared,
    /// Nobody else has it.
    Exclusive,
    /// Nobody else has it, and it was written to: it is dirty.
    Modified,
}

impl State {
    /// The state of an entry that nobody else has.
    pub const fn owned(dirty: bool) -> State {
        if dirty { State::Modified } else { State::Exclusive }
    }
}

/// Who has to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The least recently used.
    #[default]
    Lru,
    /// The one that is expected back last, by 2-bit SRRIP with hit priority.
    Srrip,
}

/// SRRIP's predictions, kept in the place of the stamps: zero is an empty way, the others are expected back in the
/// distant future, after a long time, an intermediate time, at once.
mod interval {
    pub(super) const DISTANT: u64 = 1;
    pub(super) const LONG: u64 = 2;
    pub(super) const IMMEDIATE: u64 = 4;
}

/// The tags of one set-associative array. Keys are any `u64` but `u64::MAX`; the low bits choose the set.
#[derive(Clone, Debug)]
pub struct TagArray {
    ways: usize,
    set_mask: u64,
    tags: Box<[u64]>,
    stamps: Box<[u64]>,
    states: Box<[State]>,
    last_used: Box<[u16]>,
    uses: u64,
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
        match self.replacement {
            Replacement::Lru => self.touch(set, index),
            Replacement::Srrip => self.stamps[index] = interval::LONG,
        }
        (Slot(index as u32), (evicted.key != EMPTY).then_some(evicted))
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

    /// Shares the entry from now on; tells whether it was dirty.
    pub fn share(&mut self, slot: Slot) -> bool {
        std::mem::replace(&mut self.states[slot.index()], State::Shared) == State::Modified
    }

    /// Drops `key`; tells whether it was dirty, or nothing if it was not held.
    pub fn invalidate(&mut self, key: u64) -> Option<bool> {
        let index = self.probe(key)?.index();
        self.tags[index] = EMPTY;
        self.stamps[index] = 0;
        Some(std::mem::replace(&mut self.states[index], State::Exclusive) == State::Modified)
    }

    /// The keys of all dirty entries, in the order of their places.
    pub fn dirty_keys(&self) -> impl Iterator<Item = u64> + '_ {
        // Most of a large array is clean.
        let runs = self.tags.chunks(RUN).zip(self.states.chunks(RUN));
        let some = runs.filter(|(_, states)| has_any(states, |state| state == State::Modified));
        let pairs = some.flat_map(|(tags, states)| tags.iter().zip(states));
        pairs.filter(|(_, state)| **state == State::Modified).map(|(tag, _)| *tag)
    }

    /// The places of all entries with their keys, in order.
    pub fn entries(&self) -> impl Iterator<Item = (Slot, u64)> + '_ {
        let runs = self.tags.chunks(RUN).enumerate().filter(|(_, tags)| has_any(tags, |tag| tag != EMPTY));
        let tags =
            runs.flat_map(|(run, tags)| tags.iter().enumerate().map(move |(index, tag)| (run * RUN + index, tag)));
        tags.filter(|(_, tag)| **tag != EMPTY).map(|(index, tag)| (Slot(index as u32), *tag))
    }

    /// Drops every entry that is not dirty.
    pub fn drop_clean(&mut self) {
        let clean = self.entries().map(|(slot, _)| slot.index()).filter(|at| self.states[*at] != State::Modified);
        for index in clean.collect::<Vec<usize>>() {
            (self.tags[index], self.stamps[index], self.states[index]) = (EMPTY, 0, State::Exclusive);
        }
    }

    #[inline]
    fn set(&self, key: u64) -> usize {
        (key & self.set_mask) as usize
    }

    /// The way of a set that has to leave: the first with the lowest stamp. Under SRRIP, if none is expected in the
    /// distant future, the whole set comes closer to that first.
    fn victim(&mut self, base: usize) -> usize {
        let mut index = base;
        for way in base + 1..base + self.ways {
            if self.stamps[way] < self.stamps[index] {
                index = way;
            }
        }
        if self.replacement == Replacement::Srrip {
            let step = self.stamps[index].saturating_sub(interval::DISTANT);
            self.stamps[base..base + self.ways].iter_mut().for_each(|stamp| *stamp -= step.min(*stamp));
        }
        index
    }

    fn touch(&mut self, set: usize, index: usize) {
        self.uses += 1;
        self.stamps[index] = self.uses;
        self.last_used[set] = (index - set * self.ways) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious thing: each set a list, most recent first.
    struct Naive {
        ways: usize,
        sets: Vec<Vec<(u64, bool)>>,
    }

    impl Naive {
        fn set(&mut self, key: u64) -> &mut Vec<(u64, bool)> {
            let sets = self.sets.len() as u64;
            &mut self.sets[(key % sets) as usize]
        }

        fn access(&mut self, key: u64, write: bool) -> (bool, Option<Evicted>) {
            let ways = self.ways;
            let set = self.set(key);
            if let Some(at) = set.iter().position(|entry| entry.0 == key) {
                let (key, dirty) = set.remove(at);
                set.insert(0, (key, dirty || write));
                return (true, None);
            }
            set.insert(0, (key, write));
            let victim = (set.len() > ways).then(|| set.pop().unwrap());
            (false, victim.map(|(key, dirty)| Evicted { key, dirty }))
        }

        fn invalidate(&mut self, key: u64) -> Option<bool> {
            let set = self.set(key);
            let at = set.iter().position(|entry| entry.0 == key)?;
            Some(set.remove(at).1)
        }
    }

    proptest! {
        #[test]
        fn replacement_is_least_recently_used(
            sets in 0..3u32, ways in 1..5usize,
            script in proptest::collection::vec((0..40u64, 0..8u8), 1..400),
        ) {
            let sets = 1usize << sets;
            let mut array = TagArray::new(sets, ways);
            let mut naive = Naive { ways, sets: vec![Vec::new(); sets] };
            for (key, action) in script {
                if action == 0 {
                    prop_assert_eq!(array.invalidate(key), naive.invalidate(key));
                    continue;
                }
                if action == 2 && key == 0 {
                    array.drop_clean();
                    naive.sets.iter_mut().for_each(|set| set.retain(|(_, dirty)| *dirty));
                    continue;
                }
                let write = action == 1;
                let found = array.lookup(key);
                let evicted = match found {
                    Some(slot) => {
                        if write {
                            array.mark_dirty(slot);
                        }
                        None
                    }
                    None => array.insert(key, write).1,
                };
                prop_assert_eq!((found.is_some(), evicted), naive.access(key, write));
            }
            let mut dirty: Vec<u64> = array.dirty_keys().collect();
            let mut expected: Vec<u64> = naive.sets.iter().flatten().filter(|e| e.1).map(|e| e.0).collect();
            dirty.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(dirty, expected);
        }
    }

    #[test]
    fn a_probe_does_not_count_as_a_use() {
        let mut array = TagArray::new(1, 2);
        array.insert(1, false);
        array.insert(2, false);
        assert!(array.probe(1).is_some());
        assert_eq!(array.insert(3, false).1, Some(Evicted { key: 1, dirty: false }));
    }

    /// SRRIP as its paper tells it: a list of ways with predictions from 0 (at once) to 3 (in the distant future).
    fn naive_srrip(ways: usize, keys: &[u64]) -> Vec<bool> {
        let mut set: Vec<Option<(u64, u8)>> = vec![None; ways];
        let mut access = |key: u64| {
            if let Some(entry) = set.iter_mut().flatten().find(|entry| entry.0 == key) {
                entry.1 = 0;
                return true;
            }
            let way = loop {
                if let Some(way) = set.iter().position(|entry| entry.is_none_or(|entry| entry.1 == 3)) {
                    break way;
                }
                set.iter_mut().flatten().for_each(|entry| entry.1 += 1);
            };
            set[way] = Some((key, 2));
            false
        };
        keys.iter().map(|key| access(*key)).collect()
    }

    fn hits(array: &mut TagArray, keys: &[u64]) -> Vec<bool> {
        let mut access = |key: u64| {
            let hit = array.lookup(key).is_some();
            if !hit {
                array.insert(key, false);
            }
            hit
        };
        keys.iter().map(|key| access(*key)).collect()
    }

    proptest! {
        #[test]
        fn srrip_is_what_its_paper_says(ways in 1..6usize, keys in proptest::collection::vec(0..12u64, 1..300)) {
            let mut array = TagArray::with_replacement(1, ways, Replacement::Srrip);
            prop_assert_eq!(hits(&mut array, &keys), naive_srrip(ways, &keys));
        }
    }

    #[test]
    fn a_short_scan_flushes_lru_and_not_srrip() {
        let working_set: Vec<u64> = (0..4).chain(0..4).collect();
        let scan: Vec<u64> = (100..110).collect();
        let survivors = |replacement| {
            let mut array = TagArray::with_replacement(1, 8, replacement);
            hits(&mut array, &working_set);
            hits(&mut array, &scan);
            hits(&mut array, &[0, 1, 2, 3]).into_iter().filter(|hit| *hit).count()
        };
        assert_eq!((survivors(Replacement::Lru), survivors(Replacement::Srrip)), (0, 4));
    }
}
