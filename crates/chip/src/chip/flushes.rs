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

/// Flush of a line that a core waits for.
pub(super) struct PendingFlush {
    core: usize,
    /// Number of stores to the line that caches had accepted at the flush.
    stores: u64,
}

/// Flushes that wait for lines on their way to memory, by line.
#[derive(Default)]
pub struct Flushes(RefCell<FxHashMap<LineAddr, Vec<PendingFlush>>>);

impl Flushes {
    /// Lets a flush wait until memory has the line.
    fn wait(&self, line: LineAddr, flush: PendingFlush) {
        self.0.borrow_mut().entry(line).or_default().push(flush);
    }

    /// True if a core waits until memory has a line.
    pub fn has(&self, line: LineAddr) -> bool {
        self.0.borrow().contains_key(&line)
    }

    /// Removes the flushes of a line, which memory has now.
    pub(super) fn end(&self, line: LineAddr) -> Vec<PendingFlush> {
        self.0.borrow_mut().remove(&line).unwrap_or_default()
    }
}

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
        if evicts && !self.under_way.has(line) {
            self.give_up(line);
        }
        let flush = PendingFlush { core, stores: self.shadow.stores_had(line) };
        if self.out.has(line) || self.out.past_caches.has(line) {
            self.out.flushes.wait(line, flush);
        } else {
            self.flushed(&flush, line, Duration::ZERO);
        }
    }

    /// Answers a core's flush: memory has the line, with the stores of the flush. The answer arrives after `delay` plus
    /// the latency from the last-level cache to the core.
    pub(super) fn flushed(&self, flush: &PendingFlush, line: LineAddr, delay: Duration) {
        let PendingFlush { core, stores } = *flush;
        self.shadow.note(|log| log.arrived(line, stores));
        let at = self.clock.now() + delay + self.latencies.network.way(core, line);
        let node = &self.cores.nodes()[core];
        let lost = self.ports.collect(core, |out| node.borrow_mut().flushed(line, at, out));
        self.power.settle_written(core, &self.cores, &self.shadow);
        self.account.lose(ReadPart::Fence, lost);
        self.ports.wake(core);
    }
}
