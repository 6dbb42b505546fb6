//! Flushes of programs: dirty content of the lines goes to memory, and the caches keep or drop the lines.
//!
//! The controller of the last-level cache handles a flush like a miss. It answers when neither the write of this flush
//! nor a write of an earlier eviction of the line is under way. The answer thus means that memory has the line, in the
//! sense of the protection scheme: the scheme's write of the line has ended.

use super::Chip;
use protection::execution::ReadPart;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Duration, LineAddr, Time};

/// Flushes that wait for lines on their way to memory. For each line, the list contains the flushing cores, each with
/// the number of stores to the line that caches had accepted at its flush.
#[derive(Default)]
pub(super) struct Flushes(RefCell<FxHashMap<LineAddr, Vec<(usize, u64)>>>);

impl Chip {
    /// Flushes a line for a core; the last-level cache's controller handles the flush at `at`. If it `evicts`, no cache
    /// keeps the line.
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
        if in_private && self.llc.locks_lines() {
            self.take_back(line, true);
        }
        if self.llc.clean(line) | in_private | self.power.has_left_behind(line) {
            self.write_back(line);
        }
        // A line on its way up to a core was just requested again.
        if evicts && self.under_way.borrow_mut().of(line).is_none() {
            self.give_up(line);
        }
        if self.leaving.borrow().contains_key(&line) || self.comes_past_caches(line) {
            self.flushes.0.borrow_mut().entry(line).or_default().push((core, self.shadow.stores_had(line)));
        } else {
            self.flushed((core, self.shadow.stores_had(line)), line, Duration::ZERO);
        }
    }

    /// True if a core waits until memory has a line.
    pub fn is_flushed(&self, line: LineAddr) -> bool {
        self.flushes.0.borrow().contains_key(&line)
    }

    /// Answers the flushes of a line when no write of it is under way.
    pub(super) fn answer_flushes(&self, line: LineAddr) {
        let waiting = self.flushes.0.borrow_mut().remove(&line).unwrap_or_default();
        waiting.into_iter().for_each(|flush| self.flushed(flush, line, self.distances.path));
    }

    /// Answers a core's flush: memory has the line, with this number of stores. The answer arrives after `delay` plus
    /// the latency from the last-level cache to the core.
    fn flushed(&self, (core, stores): (usize, u64), line: LineAddr, delay: Duration) {
        self.shadow.note(|log| log.arrived(line, stores));
        let at = self.clock.now() + delay + self.network.way(core, line);
        let lost = self.cores.nodes()[core].borrow_mut().flushed(line, at, &mut self.outbox(core).borrow_mut());
        self.lost.borrow_mut().add(ReadPart::Fence, lost);
        self.wake_core(core);
    }
}
