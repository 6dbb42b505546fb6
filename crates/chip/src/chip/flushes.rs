//! Lines that programs flush: what is dirty of them goes to memory, and the caches keep them.
//!
//! A flush is taken up when the last-level cache's controller has it, like a miss. It is answered when nothing of the line is on
//! its way to memory any more: what this flush sent there, or what left the caches before. So the answer says that memory has
//! the line, by the scheme's own measure: when the write of its text is over.

use super::Chip;
use protection::execution::ReadPart;
use rustc_hash::FxHashMap;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Duration, LineAddr, Time};

/// A line that a core flushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flush {
    core: usize,
    line: LineAddr,
}

/// Flushes that are not answered.
pub(super) struct Flushes {
    /// Those that the last-level cache's controller takes up then.
    coming: WorkQueue<Flush>,
    /// The cores that wait for a line that is on its way to memory.
    waiting: RefCell<FxHashMap<LineAddr, Vec<usize>>>,
}

impl Flushes {
    pub fn new(clock: &Clock) -> Flushes {
        Flushes { coming: WorkQueue::new(clock), waiting: RefCell::default() }
    }
}

impl Chip {
    /// A core flushes a line, which the last-level cache's controller takes up at `at`.
    pub fn flush(&self, at: Time, core: usize, line: LineAddr) {
        self.flushes.coming.push(at, Flush { core, line });
    }

    /// Takes flushes up as they come.
    pub(crate) async fn flush_forever(self: Rc<Chip>) {
        loop {
            let Flush { core, line } = self.flushes.coming.next().await;
            self.take_back_everything();
            let in_private = self.cores.clean(line);
            if self.llc.borrow_mut().clean(line) | in_private {
                self.count(|counters| counters.writebacks += 1);
                self.send_out(line);
            }
            if self.leaving.borrow().contains_key(&line) {
                self.flushes.waiting.borrow_mut().entry(line).or_default().push(core);
            } else {
                self.flushed(core, line, Duration::ZERO);
            }
        }
    }

    /// Nothing of a line is on its way to memory any more: cores that have flushed it get to know.
    pub(super) fn is_in_memory(&self, line: LineAddr) {
        let waiting = self.flushes.waiting.borrow_mut().remove(&line).unwrap_or_default();
        waiting.into_iter().for_each(|core| self.flushed(core, line, self.distances.path));
    }

    /// A core gets to know in `delay`, and the way from the last-level cache, that memory has a line that it flushed.
    fn flushed(&self, core: usize, line: LineAddr, delay: Duration) {
        let at = self.clock.now() + delay + self.network.way(core, line);
        let lost = self.cores.nodes()[core].borrow_mut().flushed(line, at, &mut self.outbox(core).borrow_mut());
        self.lost.borrow_mut().add(ReadPart::Fence, lost);
        self.wake_core(core);
    }
}
