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

impl Chip {
    /// Sends a line of a core past the caches; the last-level cache's controller handles it at `at`.
    pub fn store_past_caches(self: &Rc<Chip>, at: Time, core: usize, line: LineAddr) {
        let chip = self.clone();
        self.clock.spawn(async move {
            chip.clock.sleep_until(at).await;
            if chip.power.has_failed() && chip.scheme.has_planted(ChipBug::PastCachesDropped) {
                return;
            }
            chip.past_caches.0.borrow_mut().entry(line).or_default().push(core);
            if chip.under_way.borrow_mut().of(line).is_none() {
                chip.send_past_caches(line);
            }
        });
    }

    /// True if a line was stored past the caches and no writer has taken it, for example because the line is on its way
    /// up to a core.
    pub(super) fn comes_past_caches(&self, line: LineAddr) -> bool {
        self.past_caches.0.borrow().contains_key(&line)
    }

    /// Removes a line from the caches and sends it to memory.
    pub(super) fn send_past_caches(&self, line: LineAddr) {
        self.take_back_everything();
        self.give_up(line);
        self.llc.count(|counts| counts.past_caches += 1);
        self.power.leaves_past_caches(line);
        self.write_back(line);
    }

    /// Frees the combining buffers of cores that stored a line past the caches, after a writer has taken the line.
    pub(super) fn answer_stores_past_caches(&self, line: LineAddr) {
        let waiting = self.past_caches.0.borrow_mut().remove(&line).unwrap_or_default();
        for core in waiting {
            let at = self.clock.now() + self.distances.path + self.network.way(core, line);
            self.cores.nodes()[core].borrow_mut().taken_past_caches(at, &mut self.outbox(core).borrow_mut());
            self.wake_core(core);
        }
    }
}
