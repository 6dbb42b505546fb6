//! The front end: decides when an instruction may enter the window, and records the causes of delays.
//!
//! Code is looked up once per change of line and delivered at the width of dispatch. The front end does not run ahead
//! of a full window, and does not fetch after a mispredicted branch. An instruction waits for its code, for entries in
//! the queues, and for the end of a barrier. A barrier is a mispredicted branch or a serialising instruction. The cycle
//! at which a barrier completes may depend on memory.

use crate::node::caches::access::Waiter;
use crate::node::config::NodeConfig;
use crate::node::interface::{NodeStep, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::Core;
use crate::node::pipeline::branch::{Prediction, Predictor};
use crate::node::pipeline::queue::Pacer;
use crate::node::pipeline::translated::{Side, Translated};
use isa::{Class, Flow, Instruction, Reg};
use units::VirtAddr;

/// An instruction that blocks later ones until some cycles after its completion.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    number: u64,
    delay: u64,
    branch: bool,
}

/// The state of the front end.
#[derive(Clone, Debug)]
pub(in crate::node) struct Front {
    predictor: Predictor,
    dispatch: Pacer,
    barrier: Option<Barrier>,
    refill_penalty: u64,
    misfetch_penalty: u64,
    taken_ends: bool,
    /// Key in L1I of the current line of code.
    code: Option<u64>,
    /// True if the current line of code has not arrived.
    fetching: bool,
    /// Cycle at which the current line of code arrived.
    fetched_at: u64,
    /// Cycle at which a misprediction was last corrected.
    redirected_at: u64,
    /// Cycle at which the latest serialising instruction was done.
    serial_until: u64,
}

impl Front {
    pub(in crate::node) fn new(config: &NodeConfig) -> Front {
        Front {
            predictor: Predictor::new(config),
            dispatch: Pacer::new(config.dispatch_width),
            barrier: None,
            refill_penalty: config.predictor.refill_penalty_cycles,
            misfetch_penalty: config.predictor.misfetch_penalty_cycles,
            taken_ends: config.taken_branch_ends_fetch,
            code: None,
            fetching: false,
            fetched_at: 0,
            redirected_at: 0,
            serial_until: 0,
        }
    }

    /// Trains the branch predictors with a branch that continued at `next`.
    pub(in crate::node) fn learn(&mut self, branch: &Instruction, next: VirtAddr) {
        self.predictor.predict(branch, next);
    }

    /// Returns the cycle in which the latest instruction entered the window.
    pub(in crate::node) fn now(&self) -> u64 {
        self.dispatch.cycle()
    }

    /// Makes the next instruction look up its code in L1I, even if it is in the same line as the previous instruction.
    pub(in crate::node) fn forget_code(&mut self) {
        self.code = None;
    }

    /// Returns true if a line of code is outstanding.
    pub(in crate::node) fn is_fetching(&self) -> bool {
        self.fetching
    }

    /// Records that the line of code arrived.
    pub(in crate::node) fn fetched(&mut self, cycle: u64) {
        self.fetching = false;
        self.fetched_at = self.fetched_at.max(cycle);
    }
}

impl Core {
    /// Resumes entry into the window at `cycle`, after a time without instructions to execute.
    pub(in crate::node) fn resume(&mut self, cycle: u64) {
        self.counts.lost_cycles.idle += self.front.dispatch.skip_to(cycle);
    }

    /// Resumes entry into the window at `cycle`, after a switch to another process.
    pub(in crate::node) fn switched(&mut self, cycle: u64) {
        self.counts.lost_cycles.switch += self.front.dispatch.skip_to(cycle);
    }

    /// Returns the cycle in which the instruction enters the window, or `None` if that cycle depends on an outstanding
    /// answer.
    #[inline]
    pub(in crate::node) fn admit(&mut self, step: &NodeStep<'_>, loads: u32, stores: u32) -> Option<u64> {
        if self.front.barrier.is_some() {
            self.pass_barrier()?;
        }
        let code = self.caches.l1i.lines().key(WordAddr::touched(&step.code));
        if self.front.code != Some(code) {
            self.front.code = Some(code);
            self.fetch(&step.code);
        }
        if self.front.fetching {
            return None;
        }
        let window = self.window.room(1)?;
        let load_queue = self.loads.room(loads.into())?;
        let store_queue = self.stores.queue.room(stores.into())?;
        let registers = self.room_for_results(step)?;
        let serial = if step.instruction.class == Class::Serial { self.quiet_from()? } else { 0 };
        if serial > 0 && self.combining.has_open() {
            self.close_all(serial);
        }
        self.loads.enter_many(loads.into());
        if let Some(results) = &mut self.results {
            results.enter_many(step.instruction.destinations.len() as u64);
        }
        self.counts.loads += u64::from(loads);
        self.counts.stores += u64::from(stores);

        let serial = serial.max(self.front.serial_until);
        let window = window.max(registers);
        let earliest = window
            .max(load_queue)
            .max(store_queue)
            .max(serial)
            .max(self.front.redirected_at)
            .max(self.front.fetched_at);
        if earliest > self.front.dispatch.cycle() {
            self.count_lost([self.front.redirected_at, serial, self.front.fetched_at, window, load_queue, store_queue]);
        }
        Some(self.front.dispatch.next(earliest))
    }

    /// Returns the cycle at which physical registers are free for the results. Each architectural register in use keeps
    /// one.
    #[inline]
    fn room_for_results(&mut self, step: &NodeStep<'_>) -> Option<u64> {
        let Some(results) = &self.results else { return Some(0) };
        let instruction = step.instruction;
        let bits = |list: &[Reg]| list.iter().fold(0u64, |bits, register| bits | 1 << register.0);
        self.named |= bits(&instruction.address_sources) | bits(&instruction.sources) | bits(&instruction.destinations);
        results.room_with(self.named.count_ones().into(), instruction.destinations.len() as u64)
    }

    /// Charges the cycles from the latest dispatch to the latest of `limits` to their causes. Each cycle is charged to
    /// the first cause in the list with a limit after this cycle.
    fn count_lost(&mut self, limits: [u64; 6]) {
        let lost = &mut self.counts.lost_cycles;
        let causes = [
            &mut lost.branch,
            &mut lost.serial,
            &mut lost.fetch,
            &mut lost.window,
            &mut lost.load_queue,
            &mut lost.store_queue,
        ];
        let mut reached = self.front.dispatch.cycle();
        for (limit, cause) in limits.into_iter().zip(causes) {
            let further = limit.saturating_sub(reached);
            *cause += further;
            reached += further;
        }
    }

    /// Converts the barrier into the cycle at which it ends, once its completion is known.
    fn pass_barrier(&mut self) -> Option<()> {
        let Barrier { number, delay, branch } = self.front.barrier?;
        let end = self.completion(number)? + delay;
        let until = if branch { &mut self.front.redirected_at } else { &mut self.front.serial_until };
        *until = end.max(*until);
        self.front.barrier = None;
        Some(())
    }

    /// Sends the front end to another line of code.
    fn fetch(&mut self, code: &Touch) {
        let front = &self.front;
        let start = front.dispatch.cycle().max(front.redirected_at).max(front.serial_until).max(front.fetched_at);
        self.front.fetching = true;
        let word = WordAddr::touched(code);
        let goal = Translated::Fetch { word };
        if let Some(translated) = self.translate(Side::Code, code.page, start, goal) {
            self.fetch_translated(word, translated);
        }
    }

    /// Looks up the line of code in L1I after its address is translated.
    pub(in crate::node) fn fetch_translated(&mut self, word: WordAddr, translated: u64) {
        if let Some(ready) = self.caches.access(word, translated, Waiter::Fetch).known() {
            self.front.fetched(ready);
        }
    }

    /// Returns the cycle at which all instructions so far have retired and all their stores are written.
    fn quiet_from(&self) -> Option<u64> {
        Some(self.window.empty_from()?.max(self.stores.empty_from()?))
    }

    /// Blocks the front end behind a serialising instruction or a mispredicted branch.
    pub(in crate::node) fn follow(&mut self, number: u64, step: &NodeStep<'_>, cycle: u64) {
        if step.instruction.class == Class::Serial {
            self.front.barrier = Some(Barrier { number, delay: 0, branch: false });
        }
        if step.instruction.flow == Flow::Next {
            return;
        }
        self.counts.branches += 1;
        let Some(next) = step.next else { return };
        match self.front.predictor.predict(step.instruction, next) {
            Prediction::Right if self.front.taken_ends && next != step.instruction.fall_through() => {
                self.front.dispatch.end_cycle();
            }
            Prediction::Right => {}
            Prediction::Misfetched => {
                self.counts.misfetches += 1;
                self.front.redirected_at = self.front.redirected_at.max(cycle + self.front.misfetch_penalty);
            }
            Prediction::Wrong => {
                self.counts.mispredicts += 1;
                self.front.barrier = Some(Barrier { number, delay: self.front.refill_penalty, branch: true });
            }
        }
    }
}
