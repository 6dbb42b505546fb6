//! Requirements on the last-level cache: locked lines of page chunks, and the choice of the page chunk to permute
//! (HIDE, section 2.2 of CryptoPage's paper).
//!
//! A read of a line from memory, and a store to a line, lock the line until its page chunk is permuted. A locked line
//! does not leave the cache. So an unlocked line in the cache is equal to memory.

use crate::record::SLOTS;
use machine::cache::Replacement;
use machine::llc::{Inclusion, Llc, WayReservation};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Line, LineAddr, ZERO_LINE};

/// Result of a reservation: a way, or the step that must precede it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// A way is reserved for the line.
    Reserved,
    /// First, this line must enter the way that is reserved for it.
    After(LineAddr),
    /// First, this page chunk must be permuted.
    Permute(u64),
}

/// The interface of a last-level cache with locked lines. Reserved ways count as locked.
pub trait LockingCache {
    /// Returns the content of a line that the cache has; this counts as a use for the replacement policy.
    fn look_up(&self, line: LineAddr) -> Option<Line>;
    /// Returns whether the cache has a line that was read from memory since its page chunk was last permuted.
    fn was_read(&self, line: LineAddr) -> bool;
    /// Reserves a way for a line that the cache does not have; this may evict an unlocked line. If all ways are locked,
    /// the page chunk of one of the locked lines must be permuted first. If all ways are reserved, or a way is already
    /// reserved for this line, another line must enter first.
    fn reserve(&self, line: LineAddr) -> Room;
    /// Gives back the way that was reserved for a line.
    fn give_back(&self, line: LineAddr);
    /// Enters a line that was read into its reserved way.
    fn filled(&self, line: LineAddr, text: &Line);
    /// Enters a line that was stored into its reserved way.
    fn enter_stored(&self, line: LineAddr, text: &Line);
    /// Stores to a line, if the cache has it. Returns whether it does.
    fn stored(&self, line: LineAddr, text: &Line) -> bool;
    /// Number of unlocked ways in the set of a line.
    fn unlocked_ways(&self, line: LineAddr) -> usize;
    /// Returns the page chunk to permute for room in the set of a line, among the page chunks with a locked line in the set. It is the
    /// one with most locked lines in the whole cache. Among equals, it is the one with the least recently used line in the set. `None` if
    /// all ways are reserved.
    fn chunk_to_permute(&self, line: LineAddr) -> Option<u64>;
    /// Numbers of locked lines and of all lines.
    fn locked_lines(&self) -> (usize, usize);
    /// Returns the page chunk with most locked lines in the whole cache, and among equals the first.
    fn chunk_with_most_locks(&self) -> Option<u64>;
    /// Unlocks all lines of a page chunk, since memory is about to receive their present content. Returns those in the cache, in
    /// order.
    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)>;
    /// Locks the lines of some page chunks that caches above have stored to.
    fn lock_stores_above(&self, is_one: &dyn Fn(u64) -> bool);
    /// Drops all lines of these page chunks; no line of the page chunks may be locked.
    fn drop_chunks(&self, is_one: &dyn Fn(u64) -> bool);
    /// Page chunks with stores that memory lacks, in order.
    fn chunks_with_stores(&self) -> Vec<u64>;
    /// Page chunks with a locked line, in order.
    fn chunks_with_locks(&self) -> Vec<u64>;
    /// Drops every line that is not locked.
    fn empty(&self);
    /// Returns a copy of the cache.
    ///
    /// # Panics
    /// If it is a machine's cache.
    fn twin(&self) -> Rc<dyn LockingCache>;
}

/// A last-level cache for runs without a machine: tags as in a machine, with the texts of their lines.
pub struct SmallCache {
    tags: RefCell<Llc>,
    texts: RefCell<FxHashMap<LineAddr, Line>>,
}

impl SmallCache {
    /// Default sets and ways: few, so that page chunks are permuted often.
    pub const USUAL: (usize, usize) = (16, 4);

    /// Returns an empty cache.
    ///
    /// # Panics
    /// If `sets` is no power of two, or with fewer than two ways: the requested line would have no way while its page chunk is
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
        match tags.reserve(line) {
            WayReservation::Reserved(leaving) => {
                if let Some(leaving) = leaving {
                    self.texts.borrow_mut().remove(&leaving);
                }
                Room::Reserved
            }
            WayReservation::Coming => Room::After(line),
            WayReservation::Full => tags.to_come_first(line).map_or_else(Room::After, Room::Permute),
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

    fn locked_lines(&self) -> (usize, usize) {
        self.tags.borrow_mut().locked_lines().locked()
    }

    fn chunk_with_most_locks(&self) -> Option<u64> {
        self.tags.borrow_mut().locked_lines().chunk_with_most_of_all()
    }

    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)> {
        let lines = self.tags.borrow_mut().locked_lines().unlock(chunk);
        lines.into_iter().map(|line| (line, self.text(line))).collect()
    }

    /// Has no effect: this cache has no caches above.
    fn lock_stores_above(&self, _: &dyn Fn(u64) -> bool) {}

    fn drop_chunks(&self, is_one: &dyn Fn(u64) -> bool) {
        self.texts.borrow_mut().retain(|line, _| {
            let is_dropped = is_one(line.0 / SLOTS as u64);
            if is_dropped {
                self.tags.borrow_mut().invalidate(*line);
            }
            !is_dropped
        });
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
