//! Tracks lines that leave the caches without their latest stores.
//!
//! A core executes in advance of the clock: its L1D may accept a store, and the line may leave for memory, before the
//! clock reaches that store. The written content then lacks the store, and no cache has the line dirty. A line that is
//! stored to past the caches may also leave while an earlier store of the program is still in the store queue. Its
//! stores leave that queue, and are accepted, only after the earlier store. The caches drop a line at once that the
//! kernel changes, although the change takes effect only after earlier stores of its program: until then the stores
//! that the caches had accepted must survive. This part tracks lines of all three kinds until they are written to
//! memory again.

use rustc_hash::{FxHashMap, FxHashSet};
use units::LineAddr;

/// Number of stores to one line that L1Ds have accepted and that the simulated clock has not reached.
#[derive(Clone, Copy, Default)]
struct ToCome {
    count: u32,
    /// Number of these stores, from the first, that the line lacked when it left the caches.
    behind: u32,
}

/// Stores of all lines that may be left behind, and lines that lack a store.
#[derive(Default)]
pub(super) struct LeftBehind {
    to_come: FxHashMap<LineAddr, ToCome>,
    /// Lines that have left past the caches.
    past_caches: FxHashSet<LineAddr>,
    lines: FxHashSet<LineAddr>,
}

impl LeftBehind {
    /// Notes that an L1D has accepted a store to a line.
    pub fn had(&mut self, line: LineAddr) {
        self.to_come.entry(line).or_default().count += 1;
    }

    /// Notes that the clock has reached the oldest store to a line.
    pub fn taken_up(&mut self, line: LineAddr) {
        let Some(stores) = self.to_come.get_mut(&line) else { return };
        stores.count -= 1;
        if stores.behind > 0 || self.past_caches.contains(&line) {
            stores.behind = stores.behind.saturating_sub(1);
            self.lines.insert(line);
        }
        if stores.count == 0 {
            self.to_come.remove(&line);
        }
    }

    /// Notes that a line leaves the caches for memory.
    pub fn leaves(&mut self, line: LineAddr) {
        if let Some(stores) = self.to_come.get_mut(&line) {
            stores.behind = stores.count;
        }
    }

    /// Notes that the caches drop a line; no other part has its stores if it was `dirty`.
    pub fn dropped(&mut self, line: LineAddr, dirty: bool) {
        self.leaves(line);
        if dirty {
            self.lines.insert(line);
        }
    }

    /// Notes that a line leaves past the caches, perhaps before its stores have left the store queue.
    pub fn leaves_past_caches(&mut self, line: LineAddr) {
        self.past_caches.insert(line);
    }

    /// Notes that memory receives a line with all stores that the clock has reached.
    pub fn carried(&mut self, line: LineAddr) {
        self.lines.remove(&line);
    }

    /// True if a line has left the caches without a store that the clock has since reached.
    pub fn has(&self, line: LineAddr) -> bool {
        self.lines.contains(&line)
    }

    /// Lines that left the caches without a later store, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.lines.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: LineAddr = LineAddr(7);

    fn with_two_stores() -> LeftBehind {
        let mut behind = LeftBehind::default();
        behind.had(LINE);
        behind.had(LINE);
        behind
    }

    #[test]
    fn a_write_back_that_precedes_an_accepted_store_leaves_memory_behind_by_that_store() {
        let mut behind = with_two_stores();
        behind.taken_up(LINE);
        behind.leaves(LINE);
        assert!(!behind.has(LINE), "the store that it left without was not taken up");
        behind.taken_up(LINE);
        assert_eq!(behind.lines().collect::<Vec<_>>(), [LINE]);
    }

    #[test]
    fn a_store_that_reached_the_cache_after_the_eviction_does_not_leave_memory_behind() {
        let mut behind = LeftBehind::default();
        behind.leaves(LINE);
        behind.had(LINE);
        behind.taken_up(LINE);
        assert!(!behind.has(LINE));
    }

    #[test]
    fn a_line_past_the_caches_lacks_a_store_that_leaves_the_store_queue_after_it() {
        let mut behind = LeftBehind::default();
        behind.leaves_past_caches(LINE);
        behind.carried(LINE);
        behind.had(LINE);
        assert!(!behind.has(LINE), "the store was not taken up");
        behind.taken_up(LINE);
        assert!(behind.has(LINE));
        behind.carried(LINE);
        assert!(!behind.has(LINE));
    }

    #[test]
    fn a_dropped_dirty_line_and_the_stores_to_come_are_left_behind_until_memory_receives_them() {
        for dirty in [true, false] {
            let mut behind = with_two_stores();
            behind.taken_up(LINE);
            behind.dropped(LINE, dirty);
            assert_eq!(behind.has(LINE), dirty, "a clean line is in memory with the store that was taken up");
            behind.taken_up(LINE);
            assert!(behind.has(LINE), "the caches dropped the second store before the clock reached it");
            behind.carried(LINE);
            assert!(!behind.has(LINE));
        }
    }

    #[test]
    fn a_line_written_to_memory_includes_stores_accepted_while_it_was_in_flight() {
        let mut behind = with_two_stores();
        behind.leaves(LINE);
        behind.taken_up(LINE);
        behind.carried(LINE);
        assert!(!behind.has(LINE));
        behind.taken_up(LINE);
        assert!(behind.has(LINE), "the second store came too late for that");
    }
}
