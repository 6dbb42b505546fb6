//! Last-level cache of a chip with a memory that permutes lines (HIDE, CryptoPage). The cache locks a line from its
//! fill, or from a store to the line, until the line's page chunk is permuted.
//!
//! The shadow holds the content of a locked line. When the page chunk is permuted, memory receives this content, also
//! of clean lines. Memory must return this content from then on.

#[cfg(test)]
mod tests;

use crate::chip::Chip;
use machine::llc::WayReservation;
use protection::moving::{LINES_PER_PAGE_CHUNK, LockingCache, Room};
use protection::planted::{ChipBug, PlantedBug};
use protection::scheme::{Permutations, Scheme};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use units::{Line, LineAddr};

/// Chip that locks lines.
struct ChipLocks {
    chip: Weak<Chip>,
    planted: PlantedBug,
    /// Locked lines that count as read, under a planted bug.
    counted_as_read: RefCell<FxHashSet<LineAddr>>,
}

impl ChipLocks {
    fn new(chip: &Rc<Chip>, planted: PlantedBug) -> ChipLocks {
        ChipLocks { chip: Rc::downgrade(chip), planted, counted_as_read: RefCell::default() }
    }

    fn chip(&self) -> Rc<Chip> {
        self.chip.upgrade().unwrap_or_else(|| panic!("a chip outlives the scheme that it serves"))
    }

    /// Removes a line from the caches above the last-level cache. Returns true if the line was dirty in these caches or
    /// on its way down from them.
    fn has_stores_above(&self, line: LineAddr) -> bool {
        let chip = self.chip();
        let on_the_way = || chip.ports.has_stored(line);
        chip.cores.recall(line).is_some() || !self.planted.has(ChipBug::LinesOnTheWayEvicted) && on_the_way()
    }

    /// Like `has_stores_above`, for a line that is about to be evicted and that the cache locks instead.
    fn must_be_locked(&self, line: LineAddr) -> bool {
        let is_locked = self.has_stores_above(line);
        if is_locked && self.planted.has(ChipBug::StoredAboveCountsAsRead) {
            self.counted_as_read.borrow_mut().insert(line);
        }
        is_locked
    }
}

impl LockingCache for ChipLocks {
    fn look_up(&self, line: LineAddr) -> Option<Line> {
        let chip = self.chip();
        let is_there = chip.llc.look_up(line);
        is_there.then(|| chip.shadow.text_of(line))
    }

    fn was_read(&self, line: LineAddr) -> bool {
        let counts_as_read = || self.counted_as_read.borrow().contains(&line);
        self.chip().llc.with_locks(|locked| locked.was_read(line))
            || self.planted.has(ChipBug::StoredAboveCountsAsRead) && counts_as_read()
    }

    fn reserve(&self, line: LineAddr) -> Room {
        let chip = self.chip();
        // Caches above may have stored to the victim; only they know it, so the locks are not borrowed meanwhile.
        while let Some(leaving) = chip.llc.with_locks(|locked| locked.next_victim(line))
            && self.must_be_locked(leaving)
        {
            chip.llc.with_locks(|locked| locked.lock(leaving));
        }
        chip.llc.with_locks(|locked| match locked.reserve(line) {
            WayReservation::Reserved(_) => Room::Reserved,
            WayReservation::Coming => Room::After(line),
            WayReservation::Full => locked.to_come_first(line).map_or_else(Room::After, Room::Permute),
        })
    }

    fn give_back(&self, line: LineAddr) {
        self.chip().llc.with_locks(|locked| locked.give_back(line));
    }

    fn filled(&self, line: LineAddr, _: &Line) {
        self.chip().llc.with_locks(|locked| locked.enter(line, false));
    }

    fn enter_stored(&self, line: LineAddr, _: &Line) {
        self.chip().llc.with_locks(|locked| locked.enter(line, true));
    }

    fn stored(&self, line: LineAddr, _: &Line) -> bool {
        self.chip().llc.with_locks(|locked| locked.store(line))
    }

    fn unlocked_ways(&self, line: LineAddr) -> usize {
        self.chip().llc.with_locks(|locked| locked.unlocked_ways(line))
    }

    fn chunk_to_permute(&self, line: LineAddr) -> Option<u64> {
        self.chip().llc.with_locks(|locked| locked.chunk_with_most(line))
    }

    fn locked_lines(&self) -> (usize, usize) {
        self.chip().llc.with_locks(|locked| locked.locked())
    }

    fn chunk_with_most_locks(&self) -> Option<u64> {
        self.chip().llc.with_locks(|locked| locked.chunk_with_most_of_all())
    }

    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)> {
        let chip = self.chip();
        let lines = chip.llc.with_locks(|locked| locked.unlock(chunk));
        self.counted_as_read.borrow_mut().retain(|line| line.0 / LINES_PER_PAGE_CHUNK != chunk);
        let go_with_their_chunk = lines.into_iter().map(|line| {
            chip.cores.clean(line);
            (line, chip.to_memory(line))
        });
        go_with_their_chunk.collect()
    }

    fn lock_stores_above(&self, is_one: &dyn Fn(u64) -> bool) {
        if self.planted.has(ChipBug::StoresAboveUnlocked) {
            return;
        }
        let chip = self.chip();
        let dirty: Vec<LineAddr> =
            chip.cores.nodes().iter().flat_map(|node| node.borrow().caches().dirty_lines()).collect();
        for line in
            dirty.into_iter().filter(|line| is_one(line.0 / LINES_PER_PAGE_CHUNK) && self.has_stores_above(*line))
        {
            let is_there = chip.llc.with_locks(|locked| locked.store(line));
            debug_assert!(is_there, "an inclusive cache has each line that is above it");
        }
    }

    fn drop_chunks(&self, is_one: &dyn Fn(u64) -> bool) {
        let chip = self.chip();
        for line in chip.llc.lines(|line| is_one(line.0 / LINES_PER_PAGE_CHUNK)) {
            let written = chip.cores.recall(line);
            debug_assert!(
                written.is_none() || self.planted.has(ChipBug::StoresAboveUnlocked),
                "a store above was not locked before its page chunk was permuted"
            );
            chip.llc.invalidate(line);
            debug_assert!(!chip.llc.holds(line), "a locked line stays when its context leaves");
        }
    }

    fn chunks_with_stores(&self) -> Vec<u64> {
        self.chip().llc.with_locks(|locked| locked.chunks_with_stores())
    }

    fn chunks_with_locks(&self) -> Vec<u64> {
        self.chip().llc.with_locks(|locked| locked.chunks_with_locks())
    }

    /// The chip has no caches to empty for a scheme.
    fn empty(&self) {}

    fn twin(&self) -> Rc<dyn LockingCache> {
        panic!("a chip's locks belong to one machine and have no twin")
    }
}

/// Connects a scheme that permutes lines to a chip: the scheme locks lines in the last-level cache, and the cores' TLBs
/// determine which page records the chip keeps.
pub(crate) fn share(chip: &Rc<Chip>, scheme: &Scheme) {
    let Some(permutations) = Permutations::of(scheme) else { return };
    chip.cores.nodes().iter().for_each(|node| node.borrow_mut().tlbs_mut().keep_records());
    chip.llc.lock(LINES_PER_PAGE_CHUNK);
    permutations.lock_in(Rc::new(ChipLocks::new(chip, scheme.planted)));
}
