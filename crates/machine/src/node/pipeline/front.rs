//! The front end: decides when an instruction may enter the window, and records the causes of delays.
//!
//! Code is looked up once per change of line and delivered at the width of dispatch. The front end does not run ahead
//! of a full window, and does not fetch after a mispredicted branch. An instruction waits for its code, for entries in
//! the queues, and for the end of a barrier. A barrier is a mispredicted branch or a serialising instruction. The cycle
//! at which a barrier completes may depend on memory.

use crate::node::caches::Caches;
use crate::node::caches::access::Waiter;
use crate::node::config::NodeConfig;
use crate::node::counts::LostCycles;
use crate::node::interface::{NodeStep, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::Core;
use crate::node::pipeline::branch::{Prediction, Predictor};
use crate::node::pipeline::queue::Pacer;
use crate::node::pipeline::translated::{Side, Translated};
use crate::node::pipeline::translation::AddressTranslation;
use crate::node::pipeline::window::ReorderWindow;
use isa::{Class, Flow, Instruction};
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
    counts: FrontCounts,
}

/// Statistics of the front end.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::node) struct FrontCounts {
    /// Instructions that may change the control flow.
    pub(in crate::node) branches: u64,
    /// Branches predicted wrongly and corrected at execution.
    pub(in crate::node) mispredicts: u64,
    /// Branches with a direct target that was unknown until decoding.
    pub(in crate::node) misfetches: u64,
    /// Cycles that dispatch lost, by cause.
    pub(in crate::node) lost_cycles: LostCycles,
}

/// Cycles from which the parts that an instruction needs have room for it.
#[derive(Clone, Copy, Debug)]
struct EntryLimits {
    /// Cycle at which all earlier instructions have finished, for a serialising instruction.
    serial: u64,
    /// The window and the physical registers.
    window: u64,
    load_queue: u64,
    store_queue: u64,
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
            counts: FrontCounts::default(),
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

    /// Returns the statistics so far.
    pub(in crate::node) fn counts(&self) -> FrontCounts {
        self.counts
    }

    /// Resumes entry into the window at `cycle`, after a time without instructions to execute.
    pub(in crate::node) fn resume(&mut self, cycle: u64) {
        self.counts.lost_cycles.idle += self.dispatch.skip_to(cycle);
    }

    /// Resumes entry into the window at `cycle`, after a switch to another process.
    pub(in crate::node) fn switched(&mut self, cycle: u64) {
        self.counts.lost_cycles.switch += self.dispatch.skip_to(cycle);
    }

    /// Converts the barrier, if there is one, into the cycle at which it ends. Returns `None` if that cycle is not
    /// known yet.
    #[inline]
    fn pass_barrier(&mut self, window: &ReorderWindow) -> Option<()> {
        let Some(Barrier { number, delay, branch }) = self.barrier else { return Some(()) };
        let end = window.completion(number)? + delay;
        let until = if branch { &mut self.redirected_at } else { &mut self.serial_until };
        *until = end.max(*until);
        self.barrier = None;
        Some(())
    }

    /// Starts to fetch another line of code, which begins with its translation.
    fn fetch(&mut self, code: &Touch, translation: &mut AddressTranslation, caches: &mut Caches) {
        let start = self.dispatch.cycle().max(self.redirected_at).max(self.serial_until).max(self.fetched_at);
        self.fetching = true;
        let word = WordAddr::touched(code);
        let goal = Translated::Fetch { word };
        if let Some(translated) = translation.translate(Side::Code, code.page, start, goal, caches) {
            self.look_up_code(word, translated, caches);
        }
    }

    /// Looks up the line of code in L1I after its address is translated.
    pub(in crate::node) fn look_up_code(&mut self, word: WordAddr, translated: u64, caches: &mut Caches) {
        if let Some(ready) = caches.access(word, translated, Waiter::Fetch).known() {
            self.fetched(ready);
        }
    }

    /// Returns the cycle in which the next instruction enters the window.
    #[inline]
    fn enter(&mut self, limits: EntryLimits) -> u64 {
        let EntryLimits { serial, window, load_queue, store_queue } = limits;
        let serial = serial.max(self.serial_until);
        let earliest = window.max(load_queue).max(store_queue).max(serial).max(self.redirected_at).max(self.fetched_at);
        if earliest > self.dispatch.cycle() {
            self.count_lost([self.redirected_at, serial, self.fetched_at, window, load_queue, store_queue]);
        }
        self.dispatch.next(earliest)
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
        let mut reached = self.dispatch.cycle();
        for (limit, cause) in limits.into_iter().zip(causes) {
            let further = limit.saturating_sub(reached);
            *cause += further;
            reached += further;
        }
    }

    /// Blocks the front end behind a serialising instruction or a mispredicted branch.
    pub(in crate::node) fn follow(&mut self, number: u64, step: &NodeStep<'_>, cycle: u64) {
        if step.instruction.class == Class::Serial {
            self.barrier = Some(Barrier { number, delay: 0, branch: false });
        }
        if step.instruction.flow == Flow::Next {
            return;
        }
        self.counts.branches += 1;
        let Some(next) = step.next else { return };
        match self.predictor.predict(step.instruction, next) {
            Prediction::Right if self.taken_ends && next != step.instruction.fall_through() => {
                self.dispatch.end_cycle();
            }
            Prediction::Right => {}
            Prediction::Misfetched => {
                self.counts.misfetches += 1;
                self.redirected_at = self.redirected_at.max(cycle + self.misfetch_penalty);
            }
            Prediction::Wrong => {
                self.counts.mispredicts += 1;
                self.barrier = Some(Barrier { number, delay: self.refill_penalty, branch: true });
            }
        }
    }
}

impl Core {
    /// Returns the cycle in which the instruction enters the window, or `None` if that cycle depends on an outstanding
    /// answer.
    #[inline]
    pub(in crate::node) fn admit(&mut self, step: &NodeStep<'_>, loads: u32, stores: u32) -> Option<u64> {
        self.front.pass_barrier(&self.window)?;
        let code = self.caches.l1i.lines().key(WordAddr::touched(&step.code));
        if self.front.code != Some(code) {
            self.front.code = Some(code);
            self.front.fetch(&step.code, &mut self.translation, &mut self.caches);
        }
        if self.front.fetching {
            return None;
        }
        let window = self.window.room()?;
        let load_queue = self.loads.room(loads)?;
        let store_queue = self.stores.queue.room(stores.into())?;
        let registers = self.registers.room(step.instruction)?;
        let serial = match step.instruction.class {
            // All earlier instructions must have retired, and all their stores must be written.
            Class::Serial => self.window.empty_from()?.max(self.stores.empty_from()?),
            _ => 0,
        };
        if serial > 0 && self.combining.has_open() {
            self.combining.close_all(serial, &mut self.caches);
        }
        self.loads.enter(loads);
        self.registers.enter(step.instruction);
        Some(self.front.enter(EntryLimits { serial, window: window.max(registers), load_queue, store_queue }))
    }
}
