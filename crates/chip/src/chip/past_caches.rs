//! Lines that programs store past the caches: no cache keeps them, and memory gets them whole.
//!
//! The core's buffer of such a line is free again when a writer has taken it, so stores past the caches go on as fast as memory
//! takes lines. A line that is on its way up to a core arrives first, as when the kernel changes it.

use super::Chip;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use units::{LineAddr, Time};

/// Lines that writers have not taken: whose buffers they are in.
#[derive(Default)]
pub(super) struct PastCaches(RefCell<FxHashMap<LineAddr, Vec<usize>>>);

impl Chip {
    /// A core sends a line past the caches, which the last-level cache's controller takes up at `at`.
    pub fn store_past_caches(self: &Rc<Chip>, at: Time, core: usize, line: LineAddr) {
        let chip = self.clone();
        self.clock.spawn(async move {
            chip.clock.sleep_until(at).await;
            chip.past_caches.0.borrow_mut().entry(line).or_default().push(core);
            if chip.under_way.borrow_mut().of(line).is_none() {
                chip.send_past_caches(line);
            }
        });
    }

    /// Whether a line that was stored past the caches waits until it has arrived where it is going.
    pub(super) fn comes_past_caches(&self, line: LineAddr) -> bool {
        self.past_caches.0.borrow().contains_key(&line)
    }

    /// The caches give up their copies of a line, which goes to memory.
    pub(super) fn send_past_caches(&self, line: LineAddr) {
        self.take_back_everything();
        self.give_up(line);
        self.count(|counters| counters.past_caches += 1);
        self.write_back(line);
    }

    /// A writer has taken a line: cores that stored it past the caches have their buffers back.
    pub(super) fn answer_stores_past_caches(&self, line: LineAddr) {
        let waiting = self.past_caches.0.borrow_mut().remove(&line).unwrap_or_default();
        for core in waiting {
            let at = self.clock.now() + self.distances.path + self.network.way(core, line);
            self.cores.nodes()[core].borrow_mut().taken_past_caches(at, &mut self.outbox(core).borrow_mut());
            self.wake_core(core);
        }
    }
}
