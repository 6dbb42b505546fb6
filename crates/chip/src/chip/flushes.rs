//! Lines that programs flush: what is dirty of them goes to memory, and the caches keep them or give them up.
//!
//! A flush is taken up when the last-level cache's controller has it, like a miss. It is answered when nothing of the line is on
//! its way to memory any more: what this flush sent there, or what left the caches before. So the answer says that memory has
//! the line, by the scheme's own measure: when the write of its text is over.

use super::Chip;
use protection::execution::ReadPart;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Duration, LineAddr, Time};

/// Flushes that wait for lines on their way to memory: which cores, by line, and how many stores to it caches had had.
#[derive(Default)]
pub(super) struct Flushes(RefCell<FxHashMap<LineAddr, Vec<(usize, u64)>>>);

impl Chip {
    /// A core flushes a line, which the last-level cache's controller takes up at `at`. If it `evicts`, no cache keeps it.
    pub fn flush(self: &Rc<Chip>, at: Time, core: usize, line: LineAddr, evicts: bool) {
        let chip = self.clone();
        self.clock.spawn(async move {
            chip.clock.sleep_until(at).await;
            chip.take_flush(core, line, evicts);
        });
    }

    fn take_flush(&self, core: usize, line: LineAddr, evicts: bool) {
        self.take_back_everything();
        let in_private = self.cores.clean(line);
        if in_private && self.locks_lines() {
            self.take_back(line, true);
        }
        if self.llc.borrow_mut().clean(line) | in_private | self.has_left_behind(line) {
            self.write_back(line);
        }
        // A line that is on its way up is just being asked for again.
        if evicts && self.under_way.borrow_mut().of(line).is_none() {
            self.give_up(line);
        }
        if self.leaving.borrow().contains_key(&line) || self.comes_past_caches(line) {
            self.flushes.0.borrow_mut().entry(line).or_default().push((core, self.stores_had(line)));
        } else {
            self.flushed((core, self.stores_had(line)), line, Duration::ZERO);
        }
    }

    /// Whether a core waits until memory has a line.
    pub fn is_flushed(&self, line: LineAddr) -> bool {
        self.flushes.0.borrow().contains_key(&line)
    }

    /// Nothing of a line is on its way to memory any more: cores that have flushed it get to know.
    pub(super) fn answer_flushes(&self, line: LineAddr) {
        let waiting = self.flushes.0.borrow_mut().remove(&line).unwrap_or_default();
        waiting.into_iter().for_each(|flush| self.flushed(flush, line, self.distances.path));
    }

    /// How many stores to a line caches have had, where that is written down.
    fn stores_had(&self, line: LineAddr) -> u64 {
        self.shadow.borrow().log().map_or(0, |log| log.accepted_of(line))
    }

    /// A core gets to know in `delay`, and the way from the last-level cache, that memory has a line that it flushed, with so many
    /// stores.
    fn flushed(&self, (core, stores): (usize, u64), line: LineAddr, delay: Duration) {
        self.note(|log| log.arrived(line, stores));
        let at = self.clock.now() + delay + self.network.way(core, line);
        let lost = self.cores.nodes()[core].borrow_mut().flushed(line, at, &mut self.outbox(core).borrow_mut());
        self.lost.borrow_mut().add(ReadPart::Fence, lost);
        self.wake_core(core);
    }
}
