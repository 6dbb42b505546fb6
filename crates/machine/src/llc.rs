//! Tags of the last-level cache: decides which lines enter and which are evicted.
//!
//! [`Inclusion`] is the relation of this cache to the private caches above. The owner of the cache transfers the lines.
//! This module only decides which lines enter, and which lines they displace.
//!
//! A fill that an L2 will decrypt and verify passes this cache encrypted. If the cache keeps the line, it marks the
//! line as unverified (EMCC, MICRO 2022, section IV-F, "Inclusive Cache Hierarchy": `encrypted_&_unverified_in_LLC`).
//! The cache cannot answer a request with a marked line until an L2 writes a copy back. Hardware has a bit for each
//! line. The model uses a set of line numbers, since at most as many lines are marked as the L2s hold.

mod locks;

pub use locks::{LockedLines, WayReservation};

use crate::cache::{EntryIndex, MesiState, Replacement, TagArray};
use locks::Locks;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use units::LineAddr;

/// Relation of the last-level cache to the private caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// Fills from memory enter the last-level cache. It may evict lines that private caches keep.
    #[default]
    Neither,
    /// A line that the last-level cache evicts is evicted from all private caches too. A line that an L2 decrypts stays
    /// encrypted in the last-level cache until an L2 writes a copy back.
    Inclusive,
    /// Fills from memory bypass the last-level cache; lines that L2 evicts enter it, clean or dirty. A line that a
    /// request hits stays in the cache. Skylake-SP's non-inclusive caches work like this (Intel 248966, section on the
    /// Skylake server microarchitecture).
    Victim,
}

/// A line that was evicted to make room for another line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Displaced {
    /// Address of the evicted line.
    pub line: LineAddr,
    /// True if the content of the line is not in memory.
    pub dirty: bool,
}

/// The tags of the last-level cache.
#[derive(Clone, Debug)]
pub struct Llc {
    tags: TagArray,
    inclusion: Inclusion,
    /// True if a write-back to a line of this cache counts as a use of the line.
    writeback_is_use: bool,
    /// Lines that this cache holds encrypted and unverified.
    unverified: FxHashSet<LineAddr>,
    /// Locks of the lines, if this cache locks any.
    locks: Option<Locks>,
}

impl Llc {
    /// Creates an empty cache.
    ///
    /// # Panics
    /// If `sets` is not a power of two, or `ways` is zero or above 65535.
    pub fn new(sets: usize, ways: usize, replacement: Replacement, inclusion: Inclusion) -> Llc {
        let tags = TagArray::with_replacement(sets, ways, replacement);
        Llc { tags, inclusion, writeback_is_use: true, unverified: FxHashSet::default(), locks: None }
    }

    /// Returns the cache with this rule: whether a write-back to a line that it holds counts as a use of the line.
    #[must_use]
    pub fn using_writebacks(self, writeback_is_use: bool) -> Llc {
        Llc { writeback_is_use, ..self }
    }

    /// Returns the relation of this cache to the private caches.
    pub fn inclusion(&self) -> Inclusion {
        self.inclusion
    }

    /// Prefetches the host memory that a look-up of the line reads.
    pub fn prefetch_host(&self, line: LineAddr) {
        self.tags.prefetch_host(line.0);
    }

    /// Returns true if the cache holds the line. The look-up counts as a use of the line for replacement.
    pub fn look_up(&mut self, line: LineAddr) -> bool {
        self.tags.lookup(line.0).is_some_and(|slot| self.has_come(slot))
    }

    /// Returns true if the cache holds the line, without counting as a use for replacement.
    pub fn holds(&self, line: LineAddr) -> bool {
        self.tags.probe(line.0).is_some_and(|slot| self.has_come(slot))
    }

    /// Returns true if the way contains its line, false if it is reserved for a line that has not arrived.
    fn has_come(&self, slot: EntryIndex) -> bool {
        self.locks.as_ref().is_none_or(|locks| !locks.is_reserved(slot))
    }

    /// Returns true if the cache holds the line encrypted and unverified, so that an L2 must supply it.
    pub fn is_unverified(&self, line: LineAddr) -> bool {
        self.unverified.contains(&line)
    }

    /// Handles a fill that passes from memory to the cores, decrypted and verified. Returns the line that it displaces.
    pub fn fetched(&mut self, line: LineAddr) -> Option<Displaced> {
        match self.inclusion {
            Inclusion::Victim => None,
            Inclusion::Neither | Inclusion::Inclusive => self.enter(line, false),
        }
    }

    /// Like [`Llc::fetched`], for a line that passes encrypted, since an L2 decrypts and verifies it.
    pub fn fetched_unverified(&mut self, line: LineAddr) -> Option<Displaced> {
        let displaced = self.fetched(line);
        if self.inclusion != Inclusion::Victim {
            self.unverified.insert(line);
        }
        displaced
    }

    /// Takes a line that private caches write back, decrypted and verified. Returns the line that it displaces. The
    /// write-back counts as a use of the line, unless the cache has another rule, and except for a clean copy of a marked
    /// line. A clean copy only removes the mark, as if the controller had decrypted the line.
    pub fn taken_back(&mut self, line: LineAddr, dirty: bool) -> Option<Displaced> {
        if !dirty && self.unmark(line) || dirty && self.locks.is_some() && self.locked_lines().store(line) {
            return None;
        }
        let held = if self.writeback_is_use { self.tags.lookup(line.0) } else { self.tags.probe(line.0) };
        self.enter_at(held, line, dirty)
    }

    /// Drops a line, unless it is locked. Returns true if it dropped a dirty line.
    pub fn invalidate(&mut self, line: LineAddr) -> bool {
        if self.is_locked(line) {
            return false;
        }
        self.unmark(line);
        self.tags.invalidate(line.0) == Some(true)
    }

    /// Marks a line as clean and keeps it; the caller writes it to memory. Returns true if the line was dirty. A cache
    /// that locks lines keeps locked lines dirty until their page chunk is permuted.
    pub fn clean(&mut self, line: LineAddr) -> bool {
        let slot = self.tags.probe(line.0);
        slot.is_some_and(|slot| match self.locks {
            Some(_) => self.tags.state(slot) == MesiState::Modified,
            None => self.tags.clean(slot),
        })
    }

    /// Returns true if this cache locks lines.
    pub fn locks_lines(&self) -> bool {
        self.locks.is_some()
    }

    /// Returns every dirty line, in the order of their positions in the array.
    pub fn dirty_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.tags.dirty_keys().map(LineAddr)
    }

    /// Returns all lines of this cache, in order of their positions.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.tags.entries().map(|(_, key)| LineAddr(key))
    }

    /// Removes the mark of a line; returns true if it had one. In most machines no line ever has a mark.
    fn unmark(&mut self, line: LineAddr) -> bool {
        !self.unverified.is_empty() && self.unverified.remove(&line)
    }

    fn enter(&mut self, line: LineAddr, dirty: bool) -> Option<Displaced> {
        let held = self.tags.lookup(line.0);
        self.enter_at(held, line, dirty)
    }

    /// Puts a line into the entry that holds it, or into a free one.
    fn enter_at(&mut self, held: Option<EntryIndex>, line: LineAddr, dirty: bool) -> Option<Displaced> {
        match held {
            Some(slot) => {
                self.unmark(line);
                if dirty {
                    self.tags.mark_dirty(slot);
                }
                None
            }
            None => {
                let (_, evicted) = self.tags.insert(line.0, dirty);
                let displaced = evicted.map(|victim| Displaced { line: LineAddr(victim.key), dirty: victim.dirty })?;
                self.unmark(displaced.line);
                Some(displaced)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SETS: u64 = 4;
    const WAYS: usize = 3;
    const LINES: u64 = 24;

    /// A line of the model: its number, whether it is dirty, and whether it is encrypted.
    type ModelLine = (u64, bool, bool);

    /// Reference model: each set is a list of lines, most recent first.
    struct Naive {
        inclusion: Inclusion,
        writeback_is_use: bool,
        sets: Vec<Vec<ModelLine>>,
    }

    impl Naive {
        fn use_of(&mut self, line: u64) -> Option<&mut ModelLine> {
            let set = &mut self.sets[(line % SETS) as usize];
            let at = set.iter().position(|held| held.0 == line)?;
            let held = set.remove(at);
            set.insert(0, held);
            set.first_mut()
        }

        fn enter(&mut self, line: u64, dirty: bool, encrypted: bool) -> Option<Displaced> {
            if let Some(held) = self.use_of(line) {
                *held = (line, held.1 | dirty, encrypted);
                return None;
            }
            let set = &mut self.sets[(line % SETS) as usize];
            set.insert(0, (line, dirty, encrypted));
            let displaced = (set.len() > WAYS).then(|| set.pop())?;
            displaced.map(|(line, dirty, _)| Displaced { line: LineAddr(line), dirty })
        }

        fn fetched(&mut self, line: u64, encrypted: bool) -> Option<Displaced> {
            if self.inclusion == Inclusion::Victim { None } else { self.enter(line, false, encrypted) }
        }

        fn taken_back(&mut self, line: u64, dirty: bool) -> Option<Displaced> {
            let set = &mut self.sets[(line % SETS) as usize];
            match set.iter_mut().find(|held| held.0 == line && held.2 && !dirty) {
                Some(held) => {
                    held.2 = false;
                    None
                }
                None => match set.iter_mut().find(|held| held.0 == line && !self.writeback_is_use) {
                    // The line keeps its position in the list.
                    Some(held) => {
                        *held = (line, held.1 | dirty, false);
                        None
                    }
                    None => self.enter(line, dirty, false),
                },
            }
        }

        /// Returns the lines for which `holds` is true, by number.
        fn those(&self, holds: impl Fn(&ModelLine) -> bool) -> Vec<u64> {
            let mut lines: Vec<u64> =
                self.sets.iter().flatten().filter(|held| holds(held)).map(|held| held.0).collect();
            lines.sort_unstable();
            lines
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum LlcEvent {
        LookUp,
        Fetched { encrypted: bool },
        TakenBack { dirty: bool },
        Invalidated,
    }

    fn some_event() -> impl Strategy<Value = LlcEvent> {
        prop_oneof![
            Just(LlcEvent::LookUp),
            any::<bool>().prop_map(|encrypted| LlcEvent::Fetched { encrypted }),
            any::<bool>().prop_map(|dirty| LlcEvent::TakenBack { dirty }),
            Just(LlcEvent::Invalidated),
        ]
    }

    proptest! {
        #[test]
        fn the_last_level_cache_of_each_inclusion_policy_equals_a_naive_model(
            inclusion in prop::sample::select(vec![Inclusion::Neither, Inclusion::Inclusive, Inclusion::Victim]),
            writeback_is_use: bool,
            script in prop::collection::vec((some_event(), 0..LINES), 1..300),
        ) {
            let llc = Llc::new(SETS as usize, WAYS, Replacement::Lru, inclusion);
            let mut llc = llc.using_writebacks(writeback_is_use);
            let mut naive = Naive { inclusion, writeback_is_use, sets: vec![Vec::new(); SETS as usize] };
            for (event, line) in script {
                match event {
                    LlcEvent::LookUp => prop_assert_eq!(llc.look_up(LineAddr(line)), naive.use_of(line).is_some()),
                    LlcEvent::Fetched { encrypted: false } => {
                        prop_assert_eq!(llc.fetched(LineAddr(line)), naive.fetched(line, false));
                    }
                    LlcEvent::Fetched { encrypted: true } => {
                        prop_assert_eq!(llc.fetched_unverified(LineAddr(line)), naive.fetched(line, true));
                    }
                    LlcEvent::TakenBack { dirty } => {
                        prop_assert_eq!(llc.taken_back(LineAddr(line), dirty), naive.taken_back(line, dirty));
                    }
                    LlcEvent::Invalidated => {
                        llc.invalidate(LineAddr(line));
                        naive.sets[(line % SETS) as usize].retain(|held| held.0 != line);
                    }
                }
                let mut dirty: Vec<u64> = llc.dirty_lines().map(|line| line.0).collect();
                dirty.sort_unstable();
                prop_assert_eq!(dirty, naive.those(|held| held.1));
                let unverified: Vec<u64> = (0..LINES).filter(|line| llc.is_unverified(LineAddr(*line))).collect();
                prop_assert_eq!(unverified, naive.those(|held| held.2));
            }
        }
    }
}
