//! Which lines of chunks are locked, and which chunk has to be permuted: the last-level cache's part (HIDE, section 2.2 of
//! CryptoPage's paper).
//!
//! A line is locked when it is read from memory, and when it is stored to, until its chunk is permuted. A locked line does not leave,
//! so an unlocked one is as memory has it.

use crate::record::SLOTS;
use machine::cache::Replacement;
use machine::llc::{Inclusion, Llc, Way};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Line, LineAddr, ZERO_LINE};

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
    /// Locks the lines of a chunk that caches above have stored to.
    fn lock_stores_above(&self, chunk: u64);
    /// Drops all lines of a chunk, none of which is locked.
    fn drop_chunk(&self, chunk: u64);
    /// Chunks of which memory lacks a store, in order.
    fn chunks_with_stores(&self) -> Vec<u64>;
    /// Chunks with a locked line, in order.
    fn chunks_with_locks(&self) -> Vec<u64>;
    /// Gives up every line that is not locked.
    fn empty(&self);
    /// The same once more.
    ///
    /// # Panics
    /// If it is a machine's.
    fn twin(&self) -> Rc<dyn LockingCache>;
}

/// A last-level cache by itself, for runs without a machine: tags as a machine has them, with what their lines hold.
pub struct SmallCache {
    tags: RefCell<Llc>,
    texts: RefCell<FxHashMap<LineAddr, Line>>,
}

impl SmallCache {
    /// Sets and ways where nobody says otherwise: few, so that chunks are permuted often.
    pub const USUAL: (usize, usize) = (16, 4);

    /// An empty cache.
    ///
    /// # Panics
    /// If `sets` is no power of two, or with fewer than two ways: the line that is asked for would have none while its chunk is
    /// permuted.
    pub fn new(sets: usize, ways: usize) -> SmallCache {
        assert!(ways > 1, "a cache of {ways} ways");
        let tags = Llc::new(sets, ways, Replacement::Lru, Inclusion::Inclusive).locking(SLOTS as u64);
        SmallCache { tags: RefCell::new(tags), texts: RefCell::default() }
    }

    fn enter(&self, line: LineAddr, text: &Line, is_stored: bool) {
        self.tags.borrow_mut().locked_lines().enter(line, is_stored);
        self.texts.borrow_mut().insert(line, *text);
    }

    fn text(&self, line: LineAddr) -> Line {
        self.texts.borrow().get(&line).copied().unwrap_or(ZERO_LINE)
    }
}

impl LockingCache for SmallCache {
    fn look_up(&self, line: LineAddr) -> Option<Line> {
        self.tags.borrow_mut().look_up(line).then(|| self.text(line))
    }

    fn was_read(&self, line: LineAddr) -> bool {
        self.tags.borrow_mut().locked_lines().was_read(line)
    }

    fn reserve(&self, line: LineAddr) -> Room {
        let mut tags = self.tags.borrow_mut();
        let mut tags = tags.locked_lines();
        match tags.reserve(line, |_| false) {
            Way::Reserved(leaving) => {
                if let Some(leaving) = leaving {
                    self.texts.borrow_mut().remove(&leaving);
                }
                Room::Reserved
            }
            Way::Coming => Room::After(line),
            Way::Full => tags.to_come_first(line).map_or_else(Room::After, Room::Permute),
        }
    }

    fn give_back(&self, line: LineAddr) {
        self.tags.borrow_mut().locked_lines().give_back(line);
    }

    fn filled(&self, line: LineAddr, text: &Line) {
        self.enter(line, text, false);
    }

    fn enter_stored(&self, line: LineAddr, text: &Line) {
        self.enter(line, text, true);
    }

    fn stored(&self, line: LineAddr, text: &Line) -> bool {
        let is_there = self.tags.borrow_mut().locked_lines().store(line);
        if is_there {
            self.texts.borrow_mut().insert(line, *text);
        }
        is_there
    }

    fn unlocked_ways(&self, line: LineAddr) -> usize {
        self.tags.borrow_mut().locked_lines().unlocked_ways(line)
    }

    fn chunk_to_permute(&self, line: LineAddr) -> Option<u64> {
        self.tags.borrow_mut().locked_lines().chunk_with_most(line)
    }

    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)> {
        let lines = self.tags.borrow_mut().locked_lines().unlock(chunk);
        lines.into_iter().map(|line| (line, self.text(line))).collect()
    }

    /// No cache is above.
    fn lock_stores_above(&self, _: u64) {}

    fn drop_chunk(&self, chunk: u64) {
        let first = chunk * SLOTS as u64;
        for line in (first..first + SLOTS as u64).map(LineAddr) {
            self.tags.borrow_mut().invalidate(line);
            self.texts.borrow_mut().remove(&line);
        }
    }

    fn chunks_with_stores(&self) -> Vec<u64> {
        self.tags.borrow_mut().locked_lines().chunks_with_stores()
    }

    fn chunks_with_locks(&self) -> Vec<u64> {
        self.tags.borrow_mut().locked_lines().chunks_with_locks()
    }

    fn empty(&self) {
        for line in self.texts.borrow().keys() {
            self.tags.borrow_mut().invalidate(*line);
        }
        self.texts.borrow_mut().retain(|line, _| self.tags.borrow().holds(*line));
    }

    fn twin(&self) -> Rc<dyn LockingCache> {
        Rc::new(SmallCache { tags: self.tags.clone(), texts: self.texts.clone() })
    }
}
