//! Tracks lines that leave the caches without their latest stores.
//!
//! A core executes in advance of the clock: its L1D may accept a store, and the line may leave for memory, before the
//! clock reaches that store. The written content then lacks the store, and no cache has the line dirty.
//!
//! A line may also leave while a store to the line waits in the store queue for an earlier store. L1D, or a combining
//! buffer, has received this store, but accepts it only after the earlier one.
//!
//! The caches drop a line at once that the kernel changes, although the change takes effect only after earlier stores of
//! its program. Until then the stores that the caches had accepted must survive.
//!
//! This part tracks lines of all three kinds until they are written to memory again.

use rustc_hash::{FxHashMap, FxHashSet};
use units::LineAddr;

/// Stores to one line that the simulated clock has not reached.
#[derive(Clone, Copy, Default)]
struct ToCome {
    /// Number of these stores that L1Ds have accepted.
    accepted: u32,
    /// Number of the next stores, accepted or still in store queues, that the line lacked when it left the caches.
    behind: u32,
}

/// Stores of all lines that may be left behind, and lines that lack a store.
#[derive(Default)]
pub(super) struct LeftBehind {
    to_come: FxHashMap<LineAddr, ToCome>,
    lines: FxHashSet<LineAddr>,
}

impl LeftBehind {
    /// Notes that an L1D has accepted a store to a line.
    pub fn had(&mut self, line: LineAddr) {
        self.to_come.entry(line).or_default().accepted += 1;
    }

    /// Notes that the clock has reached the oldest store to a line.
    pub fn taken_up(&mut self, line: LineAddr) {
        let Some(stores) = self.to_come.get_mut(&line) else { return };
        stores.accepted -= 1;
        if stores.behind > 0 {
            stores.behind -= 1;
            self.lines.insert(line);
        }
        if stores.accepted == 0 && stores.behind == 0 {
            self.to_come.remove(&line);
        }
    }

    /// Notes that a line leaves the caches for memory, while store queues have `in_queue` stores to the line that caches
    /// or combining buffers have received.
    pub fn leaves(&mut self, line: LineAddr, in_queue: u32) {
        let accepted = self.to_come.get(&line).map_or(0, |stores| stores.accepted);
        let behind = accepted + in_queue;
        if behind > 0 {
            self.to_come.insert(line, ToCome { accepted, behind });
        } else {
            self.to_come.remove(&line);
        }
    }

    /// Notes that the caches drop a line, as in [`LeftBehind::leaves`]; no other part has its stores if it was `dirty`.
    pub fn dropped(&mut self, line: LineAddr, dirty: bool, in_queue: u32) {
        self.leaves(line, in_queue);
        if dirty {
            self.lines.insert(line);
        }
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
        behind.leaves(LINE, 0);
        assert!(!behind.has(LINE), "the store that it left without was not taken up");
        behind.taken_up(LINE);
        assert_eq!(behind.lines().collect::<Vec<_>>(), [LINE]);
    }

    #[test]
    fn a_store_that_reached_the_cache_after_the_eviction_does_not_leave_memory_behind() {
        let mut behind = LeftBehind::default();
        behind.leaves(LINE, 0);
        behind.had(LINE);
        behind.taken_up(LINE);
        assert!(!behind.has(LINE));
    }

    #[test]
    fn a_line_lacks_the_stores_that_leave_the_store_queue_after_it_and_no_later_ones() {
        let mut behind = LeftBehind::default();
        behind.leaves(LINE, 2);
        behind.carried(LINE);
        for store in 0..3 {
            behind.had(LINE);
            assert!(!behind.has(LINE), "the store was not taken up");
            behind.taken_up(LINE);
            assert_eq!(behind.has(LINE), store < 2, "store {store}");
            behind.carried(LINE);
            assert!(!behind.has(LINE));
        }
        assert!(behind.to_come.is_empty(), "no store is to come");
    }

    #[test]
    fn a_dropped_dirty_line_and_the_stores_to_come_are_left_behind_until_memory_receives_them() {
        for dirty in [true, false] {
            let mut behind = with_two_stores();
            behind.taken_up(LINE);
            behind.dropped(LINE, dirty, 0);
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
        behind.leaves(LINE, 0);
        behind.taken_up(LINE);
        behind.carried(LINE);
        assert!(!behind.has(LINE));
        behind.taken_up(LINE);
        assert!(behind.has(LINE), "the second store came too late for that");
    }
}
