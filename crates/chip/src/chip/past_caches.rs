//! Handles lines that programs store past the caches: no cache keeps them, and memory gets complete lines.
//!
//! The core's buffer of a line is free again when a writer takes the line, so the rate of these stores is the rate at
//! which memory accepts lines. If the line is on its way up to a core, it arrives first, as for a change by the kernel.

use super::Chip;
use protection::planted::ChipBug;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use units::{LineAddr, Time};

/// For each line that no writer has taken yet, the cores that have the line in a combining buffer.
#[derive(Default)]
pub(super) struct PastCaches(RefCell<FxHashMap<LineAddr, Vec<usize>>>);

impl PastCaches {
    /// Adds a line in a combining buffer of a core.
    fn add(&self, line: LineAddr, core: usize) {
        self.0.borrow_mut().entry(line).or_default().push(core);
    }

    /// True if a line was stored past the caches and no writer has taken it, for example because the line is on its way
    /// up to a core.
    pub fn has(&self, line: LineAddr) -> bool {
        self.0.borrow().contains_key(&line)
    }

    /// Removes a line that a writer has taken. Returns the cores that have it in a combining buffer.
    pub fn take(&self, line: LineAddr) -> Vec<usize> {
        self.0.borrow_mut().remove(&line).unwrap_or_default()
    }
}

impl Chip {
    /// Sends a line of a core past the caches; the last-level cache's controller handles it at `at`.
    pub fn store_past_caches(self: &Rc<Chip>, at: Time, core: usize, line: LineAddr) {
        let chip = self.clone();
        self.clock.spawn(async move {
            chip.clock.sleep_until(at).await;
            if chip.power.has_failed() && chip.scheme.has_planted(ChipBug::PastCachesDropped) {
                return;
            }
            chip.out.past_caches.add(line, core);
            if !chip.under_way.has(line) {
                chip.send_past_caches(line);
            }
        });
    }

    /// Removes a line from the caches and sends it to memory.
    pub(super) fn send_past_caches(&self, line: LineAddr) {
        self.take_back_everything();
        self.give_up(line);
        self.llc.count(|counts| counts.past_caches += 1);
        self.power.leaves_caches(line, &self.cores);
        self.write_back(line);
    }
}
