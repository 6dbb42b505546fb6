//! Which lines of chunks are locked, and which chunk has to be permuted: the last-level cache's part (HIDE, section 2.2 of
//! CryptoPage's paper).
//!
//! A line is locked when it is read from memory, and when it is stored to, until its chunk is permuted. A locked line does not leave,
//! so an unlocked one is as memory has it.

use super::chunk::{chunk_of, lines_of};
use crate::planted::{ChunkBug, Planted};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use units::{Line, LineAddr};

/// Whether a way is reserved for a line, or what has to come before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// One is reserved.
    Reserved,
    /// This line enters the way that is reserved for it.
    After(LineAddr),
    /// This chunk is permuted.
    Permute(u64),
}

/// The last-level cache, as far as lines are locked in it. Reserved ways count as locked.
pub trait LockingCache {
    /// What it has of a line; that is a use of it.
    fn look_up(&self, line: LineAddr) -> Option<Line>;
    /// Whether it has a line that was read from memory since its chunk was permuted last.
    fn was_read(&self, line: LineAddr) -> bool;
    /// Reserves a way for a line that it does not have, for which an unlocked line may leave. Where all are locked, a chunk of them is
    /// permuted; where all are reserved, or one is for this line, another line comes first.
    fn reserve(&self, line: LineAddr) -> Room;
    /// Gives the way back that was reserved for a line.
    fn give_back(&self, line: LineAddr);
    /// A line that was read enters its reserved way.
    fn filled(&self, line: LineAddr, text: &Line);
    /// A line that was stored enters its reserved way.
    fn enter_stored(&self, line: LineAddr, text: &Line);
    /// Stores to a line, if it is there.
    fn stored(&self, line: LineAddr, text: &Line) -> bool;
    /// How many ways a line of the same set can have.
    fn unlocked_ways(&self, line: LineAddr) -> usize;
    /// The chunk whose permutation makes room in the set of a line: of those with a locked line there, the one with most locked lines in
    /// the whole cache, then the one whose line there was used least recently. Nothing if all ways are reserved.
    fn chunk_to_permute(&self, line: LineAddr) -> Option<u64>;
    /// Unlocks all lines of a chunk, which memory is about to get as they are now: those that are there, in order.
    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)>;
    /// Chunks of which memory lacks a store, in order.
    fn chunks_with_stores(&self) -> Vec<u64>;
}

/// How a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    Unlocked,
    /// Stored to, and not read since its chunk was permuted.
    Stored,
    /// Read since then.
    Read,
}

/// A way.
#[derive(Clone, Copy, Debug)]
enum Way {
    Reserved(LineAddr),
    Line { line: LineAddr, text: Line, lock: Lock, is_dirty: bool, used: u64 },
}

impl Way {
    fn line(&self) -> LineAddr {
        match self {
            Way::Reserved(line) | Way::Line { line, .. } => *line,
        }
    }

    fn is_locked(&self) -> bool {
        !matches!(self, Way::Line { lock: Lock::Unlocked, .. })
    }
}

/// A set-associative cache by itself, for runs without a machine.
pub struct SmallCache {
    ways: usize,
    planted: Planted,
    inside: RefCell<Inside>,
}

struct Inside {
    sets: Vec<Vec<Way>>,
    /// By chunk.
    locked: FxHashMap<u64, usize>,
    uses: u64,
}

impl SmallCache {
    /// An empty cache.
    ///
    /// # Panics
    /// Without a set, or with fewer than two ways: the line that is asked for would have none while its chunk is permuted.
    pub fn new(sets: usize, ways: usize) -> SmallCache {
        assert!(sets > 0 && ways > 1, "a cache of {sets} sets and {ways} ways");
        let inside = Inside { sets: vec![Vec::new(); sets], locked: FxHashMap::default(), uses: 0 };
        SmallCache { ways, planted: Planted::NONE, inside: RefCell::new(inside) }
    }

    /// The same with a weakness built in.
    #[must_use]
    pub fn with_planted(self, planted: Planted) -> SmallCache {
        SmallCache { planted, ..self }
    }

    fn enter(&self, line: LineAddr, text: &Line, lock: Lock) {
        let mut inside = self.inside.borrow_mut();
        let used = inside.use_now();
        let set = inside.set(line);
        let is_reserved = |way: &Way| matches!(way, Way::Reserved(of) if *of == line);
        let Some(way) = set.iter_mut().find(|way| is_reserved(way)) else {
            panic!("no way is reserved for line {line}")
        };
        *way = Way::Line { line, text: *text, lock, is_dirty: lock == Lock::Stored, used };
        if lock != Lock::Unlocked {
            inside.lock_more(line);
        }
    }
}

impl Inside {
    fn use_now(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn set(&mut self, line: LineAddr) -> &mut Vec<Way> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(line.0 % sets) as usize]
    }

    fn find(&mut self, line: LineAddr) -> Option<&mut Way> {
        self.set(line).iter_mut().find(|way| way.line() == line)
    }

    fn lock_more(&mut self, line: LineAddr) {
        *self.locked.entry(chunk_of(line)).or_default() += 1;
    }
}

impl LockingCache for SmallCache {
    fn look_up(&self, line: LineAddr) -> Option<Line> {
        let mut inside = self.inside.borrow_mut();
        let now = inside.use_now();
        match inside.find(line)? {
            Way::Reserved(_) => None,
            Way::Line { text, used, .. } => {
                *used = now;
                Some(*text)
            }
        }
    }

    fn was_read(&self, line: LineAddr) -> bool {
        matches!(self.inside.borrow_mut().find(line), Some(Way::Line { lock: Lock::Read, .. }))
    }

    fn reserve(&self, line: LineAddr) -> Room {
        let blocked = || match self.chunk_to_permute(line) {
            Some(chunk) => Room::Permute(chunk),
            None => Room::After(self.inside.borrow_mut().set(line)[0].line()),
        };
        let (mut inside, ways) = (self.inside.borrow_mut(), self.ways);
        let set = inside.set(line);
        if set.iter().any(|way| way.line() == line) {
            return Room::After(line);
        }
        if set.len() == ways {
            let used = |way: &Way| match way {
                Way::Line { lock: Lock::Unlocked, used, .. } => Some(*used),
                _ => None,
            };
            let oldest = set.iter().enumerate().filter_map(|(place, way)| Some((used(way)?, place))).min();
            let Some((_, place)) = oldest else {
                drop(inside);
                return blocked();
            };
            set.swap_remove(place);
        }
        set.push(Way::Reserved(line));
        Room::Reserved
    }

    fn give_back(&self, line: LineAddr) {
        self.inside.borrow_mut().set(line).retain(|way| !matches!(way, Way::Reserved(of) if *of == line));
    }

    fn filled(&self, line: LineAddr, text: &Line) {
        let lock = if self.planted.has(ChunkBug::FillLeavesUnlocked) { Lock::Unlocked } else { Lock::Read };
        self.enter(line, text, lock);
    }

    fn enter_stored(&self, line: LineAddr, text: &Line) {
        self.enter(line, text, Lock::Stored);
    }

    fn stored(&self, line: LineAddr, stored: &Line) -> bool {
        let mut inside = self.inside.borrow_mut();
        let now = inside.use_now();
        let Some(Way::Line { text, lock, is_dirty, used, .. }) = inside.find(line) else { return false };
        (*text, *is_dirty, *used) = (*stored, true, now);
        if *lock == Lock::Unlocked && !self.planted.has(ChunkBug::StoreLeavesUnlocked) {
            *lock = Lock::Stored;
            inside.lock_more(line);
        }
        true
    }

    fn unlocked_ways(&self, line: LineAddr) -> usize {
        let mut inside = self.inside.borrow_mut();
        self.ways - inside.set(line).iter().filter(|way| way.is_locked()).count()
    }

    fn chunk_to_permute(&self, line: LineAddr) -> Option<u64> {
        let inside = &mut *self.inside.borrow_mut();
        let sets = inside.sets.len() as u64;
        let locked = inside.sets[(line.0 % sets) as usize].iter().filter_map(|way| match way {
            Way::Line { line, lock: Lock::Stored | Lock::Read, used, .. } => Some((chunk_of(*line), *used)),
            _ => None,
        });
        let most = |(chunk, used): &(u64, u64)| (inside.locked.get(chunk).copied().unwrap_or(0), u64::MAX - used);
        locked.max_by_key(most).map(|(chunk, _)| chunk)
    }

    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)> {
        let mut inside = self.inside.borrow_mut();
        inside.locked.remove(&chunk);
        let mut there = Vec::new();
        for line in lines_of(chunk) {
            if let Some(Way::Line { text, lock, is_dirty, .. }) = inside.find(line) {
                (*lock, *is_dirty) = (Lock::Unlocked, false);
                there.push((line, *text));
            }
        }
        there
    }

    fn chunks_with_stores(&self) -> Vec<u64> {
        let inside = self.inside.borrow();
        let dirty = inside.sets.iter().flatten().filter(|way| matches!(way, Way::Line { is_dirty: true, .. }));
        let mut chunks: Vec<u64> = dirty.map(|way| chunk_of(way.line())).collect();
        chunks.sort_unstable();
        chunks.dedup();
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::ZERO_LINE;

    #[test]
    fn rule_5_the_chunk_with_most_locked_lines_is_permuted_and_of_two_the_one_used_least_recently() {
        let cache = SmallCache::new(4, 2);
        let enter = |line| {
            assert_eq!(cache.reserve(LineAddr(line)), Room::Reserved);
            cache.filled(LineAddr(line), &ZERO_LINE);
        };
        enter(0);
        enter(256);
        assert_eq!(cache.reserve(LineAddr(512)), Room::Permute(0), "both are locked");
        assert_eq!((cache.unlocked_ways(LineAddr(512)), cache.chunk_to_permute(LineAddr(512))), (0, Some(0)));
        assert_eq!(cache.look_up(LineAddr(0)), Some(ZERO_LINE));
        assert_eq!(cache.chunk_to_permute(LineAddr(512)), Some(1), "line 0 was used since");
        enter(1);
        assert_eq!(cache.chunk_to_permute(LineAddr(512)), Some(0), "it has two lines");
        assert_eq!(cache.unlock(0).iter().map(|(line, _)| line.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(cache.reserve(LineAddr(512)), Room::Reserved);
        assert_eq!(cache.look_up(LineAddr(0)), None, "it has left");
        assert_eq!(cache.chunk_to_permute(LineAddr(512)), Some(1), "a reserved way is no chunk's");
    }

    #[test]
    fn rule_4_a_locked_line_does_not_leave_and_one_that_is_stored_to_is_locked() {
        let cache = SmallCache::new(1, 2);
        for line in [0, 1] {
            assert_eq!(cache.reserve(LineAddr(line)), Room::Reserved);
            cache.filled(LineAddr(line), &ZERO_LINE);
        }
        assert_eq!(cache.reserve(LineAddr(2)), Room::Permute(0));
        cache.unlock(0);
        assert!(!cache.was_read(LineAddr(1)) && cache.chunks_with_stores().is_empty());
        assert!(cache.stored(LineAddr(0), &[1; 64]));
        assert_eq!((cache.unlocked_ways(LineAddr(0)), cache.chunks_with_stores()), (1, vec![0]));
        assert_eq!(cache.reserve(LineAddr(2)), Room::Reserved, "line 1 leaves, though it was used later");
        assert_eq!((cache.look_up(LineAddr(1)), cache.look_up(LineAddr(0))), (None, Some([1; 64])));
        assert_eq!(cache.reserve(LineAddr(3)), Room::Permute(0), "a reserved way is locked");
        assert_eq!(cache.reserve(LineAddr(2)), Room::After(LineAddr(2)));
        cache.give_back(LineAddr(2));
        assert_eq!(cache.reserve(LineAddr(3)), Room::Reserved);
    }

    #[test]
    fn where_all_ways_are_reserved_a_line_waits_for_one_of_them() {
        let cache = SmallCache::new(1, 2);
        assert_eq!([0, 1].map(|line| cache.reserve(LineAddr(line))), [Room::Reserved; 2]);
        assert_eq!(cache.reserve(LineAddr(2)), Room::After(LineAddr(0)));
    }
}
