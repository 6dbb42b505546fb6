//! Lines that the last-level cache locks until their page chunk is permuted (HIDE: Zhuang, Zhang and Pande, ASPLOS 2004; CryptoPage:
//! Duc and Keryell, ACSAC 2006, section 2.2).
//!
//! A fill from memory and a store lock the line. A locked line is not evicted. A line without a lock equals its copy in
//! memory, unless a private cache above has stored to the line. A line of this kind is locked at the moment when it
//! would be evicted. A way is reserved for a line before the request to memory, and counts as locked.

use super::Llc;
use crate::cache::{EntryIndex, MesiState, TagArray};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use units::LineAddr;

/// Lock state of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    Unlocked,
    /// Reserved for an outstanding line.
    Reserved,
    /// The line was stored to, and not read since its page chunk was permuted.
    Stored,
    /// The line was read since its page chunk was permuted.
    Read,
}

/// Result of a request for a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayReservation {
    /// A way is reserved. The line in it, if any, was evicted.
    Reserved(Option<LineAddr>),
    /// A way is already reserved for the line, and the line has not arrived.
    Coming,
    /// All ways are locked.
    Full,
}

/// The locks of a last-level cache.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    lines_per_page_chunk: u64,
    ways: Box<[Lock]>,
    /// Number of locked lines of each page chunk.
    locked: FxHashMap<u64, u32>,
    /// Number of locked lines of all page chunks.
    sum: usize,
}

impl Locks {
    fn of(&self, slot: EntryIndex) -> Lock {
        self.ways[slot.index()]
    }

    /// Returns true if the way is reserved and still without its line.
    pub fn is_reserved(&self, slot: EntryIndex) -> bool {
        self.of(slot) == Lock::Reserved
    }

    fn chunk(&self, line: u64) -> u64 {
        line / self.lines_per_page_chunk
    }

    fn lock(&mut self, slot: EntryIndex, line: u64, lock: Lock) {
        let before = std::mem::replace(&mut self.ways[slot.index()], lock);
        if matches!(before, Lock::Unlocked | Lock::Reserved) {
            *self.locked.entry(self.chunk(line)).or_default() += 1;
            self.sum += 1;
        }
    }
}

impl Llc {
    /// Returns the cache with locks on lines, for page chunks of `lines_per_page_chunk` lines.
    #[must_use]
    pub fn locking(self, lines_per_page_chunk: u64) -> Llc {
        let ways = vec![Lock::Unlocked; self.tags.slots()].into();
        Llc { locks: Some(Locks { lines_per_page_chunk, ways, locked: FxHashMap::default(), sum: 0 }), ..self }
    }

    /// Returns access to the lines and their locks.
    ///
    /// # Panics
    /// If this cache does not lock lines.
    pub fn locked_lines(&mut self) -> LockedLines<'_> {
        let Some(locks) = &mut self.locks else { panic!("this last-level cache locks no lines") };
        LockedLines { tags: &mut self.tags, locks }
    }

    /// Returns true if a line is locked or its way reserved.
    pub(super) fn is_locked(&self, line: LineAddr) -> bool {
        let locks = self.locks.as_ref().zip(self.tags.probe(line.0));
        locks.is_some_and(|(locks, slot)| locks.of(slot) != Lock::Unlocked)
    }
}

/// Access to the lines of a last-level cache and their locks.
pub struct LockedLines<'a> {
    tags: &'a mut TagArray,
    locks: &'a mut Locks,
}

impl LockedLines<'_> {
    /// Returns the line that [`LockedLines::reserve`] evicts for a line, if any: the least recently used unlocked line.
    /// If caches above have stored to it, the caller locks it with [`LockedLines::lock`] and asks for the next one.
    pub fn next_victim(&self, line: LineAddr) -> Option<LineAddr> {
        let is_absent = self.tags.probe(line.0).is_none();
        self.way_for(line).filter(|_| is_absent).and_then(|slot| self.tags.key(slot)).map(LineAddr)
    }

    /// Locks a line that caches above have stored to. Does not count as a use of the line.
    pub fn lock(&mut self, line: LineAddr) {
        if let Some(slot) = self.tags.probe(line.0) {
            self.tags.mark_dirty(slot);
            self.locks.lock(slot, line.0, Lock::Stored);
        }
    }

    /// Reserves a way for a line that the cache does not hold. The least recently used unlocked line is evicted.
    pub fn reserve(&mut self, line: LineAddr) -> WayReservation {
        if self.tags.probe(line.0).is_some() {
            return WayReservation::Coming;
        }
        let Some(slot) = self.way_for(line) else { return WayReservation::Full };
        let leaving = self.tags.key(slot).map(LineAddr);
        self.tags.replace(slot, line.0, MesiState::Exclusive);
        self.locks.ways[slot.index()] = Lock::Reserved;
        WayReservation::Reserved(leaving)
    }

    /// Returns the empty way, or the least recently used unlocked way, of a line's set.
    fn way_for(&self, line: LineAddr) -> Option<EntryIndex> {
        let is_free = |slot: &EntryIndex| self.tags.key(*slot).is_none() || self.locks.of(*slot) == Lock::Unlocked;
        self.tags.by_age(line.0).into_iter().find(is_free)
    }

    /// Frees the way that was reserved for a line.
    pub fn give_back(&mut self, line: LineAddr) {
        if let Some(slot) = self.tags.probe(line.0).filter(|slot| self.locks.is_reserved(*slot)) {
            self.locks.ways[slot.index()] = Lock::Unlocked;
            self.tags.invalidate(line.0);
        }
    }

    /// Enters a line into its reserved way, unchanged from memory or with a store (`is_stored`).
    ///
    /// # Panics
    /// If no way is reserved for the line.
    pub fn enter(&mut self, line: LineAddr, is_stored: bool) {
        let slot = self.tags.lookup(line.0).filter(|slot| self.locks.is_reserved(*slot));
        let Some(slot) = slot else { panic!("no way is reserved for line {line}") };
        if is_stored {
            self.tags.mark_dirty(slot);
        }
        self.locks.lock(slot, line.0, if is_stored { Lock::Stored } else { Lock::Read });
    }

    /// Stores to a line, which locks it; returns false if the cache does not hold it.
    pub fn store(&mut self, line: LineAddr) -> bool {
        let Some(slot) = self.tags.lookup(line.0).filter(|slot| !self.locks.is_reserved(*slot)) else { return false };
        self.tags.mark_dirty(slot);
        if self.locks.of(slot) == Lock::Unlocked {
            self.locks.lock(slot, line.0, Lock::Stored);
        }
        true
    }

    /// Returns true if the cache holds the line and it was read since its page chunk was last permuted.
    pub fn was_read(&self, line: LineAddr) -> bool {
        self.tags.probe(line.0).is_some_and(|slot| self.locks.of(slot) == Lock::Read)
    }

    /// Returns the number of unlocked ways in a line's set.
    pub fn unlocked_ways(&self, line: LineAddr) -> usize {
        self.tags.ways_of(line.0).filter(|slot| self.locks.of(*slot) == Lock::Unlocked).count()
    }

    /// Returns the number of locked lines, and of all lines that the cache has room for.
    pub fn locked(&self) -> (usize, usize) {
        (self.locks.sum, self.tags.slots())
    }

    /// Returns the page chunk with most locked lines in the whole cache, and among equals the first. `None` without a
    /// locked line.
    pub fn chunk_with_most_of_all(&self) -> Option<u64> {
        self.locks.locked.iter().max_by_key(|(chunk, lines)| (**lines, Reverse(**chunk))).map(|(chunk, _)| *chunk)
    }

    /// Returns the page chunk to unlock for a line: of those with a locked line in the line's set, the one with the most
    /// locked lines in the whole cache. A tie selects the page chunk of the least recently used line.
    pub fn chunk_with_most(&self, line: LineAddr) -> Option<u64> {
        let is_locked = |slot: &EntryIndex| matches!(self.locks.of(*slot), Lock::Stored | Lock::Read);
        let locked = self.tags.by_age(line.0).into_iter().filter(is_locked).filter_map(|slot| self.tags.key(slot));
        let chunks: Vec<u64> = locked.map(|held| self.locks.chunk(held)).collect();
        // `max_by_key` returns the last maximum, and the reversed list ends with the least recently used line.
        chunks.into_iter().rev().max_by_key(|chunk| self.locks.locked.get(chunk).copied().unwrap_or(0))
    }

    /// Returns the page chunk to unlock for a line, if all ways of its set are locked. If the set contains only
    /// reserved ways, returns an error with one of the lines that must arrive first.
    pub fn to_come_first(&self, line: LineAddr) -> Result<u64, LineAddr> {
        self.chunk_with_most(line).ok_or_else(|| self.coming(line).unwrap_or(line))
    }

    /// Returns a line in the same set that has a reserved way, if any.
    fn coming(&self, line: LineAddr) -> Option<LineAddr> {
        let reserved = self.tags.by_age(line.0).into_iter().find(|slot| self.locks.is_reserved(*slot))?;
        self.tags.key(reserved).map(LineAddr)
    }

    /// Unlocks all lines of a page chunk before they are written to memory. Returns the lines that the cache holds, in
    /// order.
    pub fn unlock(&mut self, chunk: u64) -> Vec<LineAddr> {
        self.locks.sum -= self.locks.locked.remove(&chunk).unwrap_or(0) as usize;
        let per_chunk = self.locks.lines_per_page_chunk;
        let held = (chunk * per_chunk..(chunk + 1) * per_chunk).filter_map(|line| Some((line, self.tags.probe(line)?)));
        let held: Vec<(u64, EntryIndex)> = held.filter(|(_, slot)| !self.locks.is_reserved(*slot)).collect();
        for (_, slot) in &held {
            self.tags.clean(*slot);
            self.locks.ways[slot.index()] = Lock::Unlocked;
        }
        held.into_iter().map(|(line, _)| LineAddr(line)).collect()
    }

    /// Returns the page chunks with a locked line, in order.
    pub fn chunks_with_locks(&self) -> Vec<u64> {
        let mut chunks: Vec<u64> = self.locks.locked.keys().copied().collect();
        chunks.sort_unstable();
        chunks
    }

    /// Returns the page chunks with a dirty line, in order.
    pub fn chunks_with_stores(&self) -> Vec<u64> {
        let mut chunks: Vec<u64> = self.tags.dirty_keys().map(|line| self.locks.chunk(line)).collect();
        chunks.sort_unstable();
        chunks.dedup();
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Replacement;
    use crate::llc::Inclusion;

    const CHUNK: u64 = 256;

    fn of_one_set(ways: usize) -> Llc {
        Llc::new(1, ways, Replacement::Lru, Inclusion::Inclusive).locking(CHUNK)
    }

    fn fill(llc: &mut Llc, line: u64) -> WayReservation {
        let way = llc.locked_lines().reserve(LineAddr(line));
        if way != WayReservation::Full {
            llc.locked_lines().enter(LineAddr(line), false);
        }
        way
    }

    #[test]
    fn a_locked_llc_line_is_evicted_only_after_its_page_chunk_is_unlocked() {
        let mut llc = of_one_set(2);
        assert_eq!([0, 1].map(|line| fill(&mut llc, line)), [WayReservation::Reserved(None); 2]);
        assert_eq!((fill(&mut llc, 300), llc.locked_lines().unlocked_ways(LineAddr(300))), (WayReservation::Full, 0));
        assert_eq!(llc.locked_lines().unlock(0), [LineAddr(0), LineAddr(1)]);
        assert!(!llc.locked_lines().was_read(LineAddr(0)));
        assert_eq!(fill(&mut llc, 300), WayReservation::Reserved(Some(LineAddr(0))));
        assert!(llc.locked_lines().was_read(LineAddr(300)) && !llc.look_up(LineAddr(0)));
    }

    #[test]
    fn stores_lock_llc_lines_and_lines_dirty_in_private_caches_are_locked_not_evicted() {
        let mut llc = of_one_set(3);
        for line in 0..3 {
            fill(&mut llc, line);
        }
        llc.locked_lines().unlock(0);
        assert!(llc.locked_lines().store(LineAddr(0)) && !llc.locked_lines().store(LineAddr(9)));
        assert_eq!(llc.locked_lines().chunks_with_stores(), [0]);
        assert_eq!(llc.locked_lines().next_victim(LineAddr(600)), Some(LineAddr(1)));
        llc.locked_lines().lock(LineAddr(1));
        assert_eq!(llc.locked_lines().chunks_with_stores(), [0]);
        let state = |line| llc.tags.probe(line).map(|slot| llc.tags.state(slot));
        assert_eq!((state(1), state(2)), (Some(MesiState::Modified), Some(MesiState::Exclusive)));
        assert_eq!(llc.locked_lines().next_victim(LineAddr(1)), None, "the cache holds the line already");
        assert_eq!(llc.locked_lines().next_victim(LineAddr(600)), Some(LineAddr(2)));
        assert_eq!(llc.locked_lines().reserve(LineAddr(600)), WayReservation::Reserved(Some(LineAddr(2))));
        assert_eq!(llc.locked_lines().unlocked_ways(LineAddr(0)), 0, "0 and 1 were stored to, and one is reserved");
        assert_eq!(llc.locked_lines().unlock(0), [LineAddr(0), LineAddr(1)]);
        assert!(llc.locked_lines().chunks_with_stores().is_empty());
    }

    #[test]
    fn a_dirty_line_from_a_private_cache_is_locked_and_survives_invalidation() {
        let mut llc = of_one_set(2);
        fill(&mut llc, 4);
        llc.locked_lines().unlock(0);
        assert_eq!(llc.taken_back(LineAddr(4), true), None);
        assert_eq!(llc.locked_lines().unlocked_ways(LineAddr(4)), 1);
        llc.invalidate(LineAddr(4));
        assert!(llc.holds(LineAddr(4)));
        llc.locked_lines().unlock(0);
        llc.invalidate(LineAddr(4));
        assert!(!llc.holds(LineAddr(4)));
    }

    #[test]
    fn an_llc_way_reserved_for_a_fill_holds_no_line_until_the_line_arrives() {
        let mut llc = of_one_set(2);
        assert_eq!(llc.locked_lines().reserve(LineAddr(5)), WayReservation::Reserved(None));
        assert_eq!(llc.locked_lines().reserve(LineAddr(5)), WayReservation::Coming);
        assert!(!llc.look_up(LineAddr(5)) && !llc.holds(LineAddr(5)) && !llc.locked_lines().store(LineAddr(5)));
        assert_eq!(llc.locked_lines().reserve(LineAddr(700)), WayReservation::Reserved(None));
        assert_eq!(llc.locked_lines().reserve(LineAddr(900)), WayReservation::Full);
        assert_eq!(
            (llc.locked_lines().chunk_with_most(LineAddr(900)), llc.locked_lines().coming(LineAddr(900))),
            (None, Some(LineAddr(5)))
        );
        llc.locked_lines().give_back(LineAddr(5));
        assert_eq!(llc.locked_lines().reserve(LineAddr(900)), WayReservation::Reserved(None));
        llc.locked_lines().enter(LineAddr(900), true);
        assert_eq!((llc.look_up(LineAddr(900)), llc.locked_lines().chunks_with_stores()), (true, vec![3]));
    }

    #[test]
    fn rule_5_the_page_chunk_with_most_locked_lines_is_permuted_first_ties_by_lru() {
        let mut llc = Llc::new(4, 2, Replacement::Lru, Inclusion::Inclusive).locking(CHUNK);
        for line in [0, 256] {
            fill(&mut llc, line);
        }
        assert_eq!(llc.locked_lines().chunk_with_most(LineAddr(512)), Some(0));
        assert!(llc.look_up(LineAddr(0)));
        assert_eq!(llc.locked_lines().chunk_with_most(LineAddr(512)), Some(1), "line 0 was used since");
        fill(&mut llc, 1);
        assert_eq!(llc.locked_lines().chunk_with_most(LineAddr(512)), Some(0), "it has two lines");
    }
}
