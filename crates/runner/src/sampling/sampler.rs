//! The cycle of a sampled run: decides the next step of the core whenever its program pauses.
//!
//! ```text
//! lead in ─ measure ─ come to rest ─ warm ─┐
//!    ↑ └──────────────────────────────────┘
//! ```
//! A unit begins when the last instruction before the unit enters the core's window, and ends when the last instruction
//! of the unit enters. The times of adjacent units would thus add up to the time of the whole run. The core may be
//! ahead of the clock. So at both ends of a unit the core waits until the clock has reached its time and the statistics
//! include all earlier work.

use super::SamplingOptions;
use super::report::{MeasuredUnit, SampleExtent, Sampling};
use super::schedule::Schedule;
use chip::counts::{Counts, Meters};
use chip::feed::{FeedError, ProgramFeed};
use chip::uncore::Uncore;
use chip::warm::Warmer;
use std::rc::Rc;
use units::{Duration, Time};
use workload::Supplier;

/// Instructions to warm in one event, so that the progress display is updated in between.
const WARMED_AT_ONCE: u64 = 2_000_000;
/// Minimum number of units that remain when the sampler discards every other unit: results other than the target also
/// need some units.
const UNITS_MIN: usize = 1_000;
/// Number of units at which the sampler discards half of them at any accuracy. A very uneven program would otherwise
/// run in detail to its end.
const UNITS_MAX: usize = 1 << 14;
/// Fraction of the requested error that half of the units must reach before the sampler discards the other half,
/// because later units may vary more than the measured ones.
const MARGIN: f64 = 0.7;

/// The next step of the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Continue with the program.
    GoOn,
    /// Wait until this time.
    At(Time),
    /// Wait until all requests of the core are done.
    AtRest,
    /// Wait until another task wakes this one.
    Woken,
    /// The program has ended.
    End,
}

/// Use of the instructions until the program's next pause.
#[derive(Clone, Copy, Debug)]
enum SamplingPhase {
    LeadIn { start: u64 },
    Unit { start: u64 },
    Rest,
}

/// The sampler of one run.
pub struct Sampler {
    options: SamplingOptions,
    schedule: Schedule,
    meters: Meters,
    uncore: Rc<Uncore>,
    warmer: Warmer,
    /// Duration of one cycle of the core.
    cycle: Duration,
    phase: SamplingPhase,
    /// Start of the unit, and the statistics at that time.
    before: (Time, Counts),
    /// Instruction at which the next unit starts.
    next: u64,
    units: Vec<MeasuredUnit>,
    /// Number of units at which the sampler checks whether half of them would suffice.
    thin_at: usize,
}

impl Sampler {
    /// Creates a sampler in its initial state. The options must have passed their check.
    pub fn new(options: SamplingOptions, seed: u64, cycle: Duration, meters: Meters, uncore: Rc<Uncore>) -> Sampler {
        let mut schedule = Schedule::new(options.period, options.start.unwrap_or(seed));
        let next = schedule.next_start();
        let warmer = Warmer::new(&meters);
        Sampler {
            options,
            schedule,
            meters,
            uncore,
            warmer,
            cycle,
            phase: SamplingPhase::Rest,
            before: (Time::ZERO, Counts::default()),
            next,
            units: Vec::new(),
            thin_at: 2 * UNITS_MIN,
        }
    }

    /// Returns the next step of the core after its program has paused.
    ///
    /// # Errors
    /// The errors of the feed.
    pub fn turn<S: Supplier>(&mut self, program: &mut ProgramFeed<S>, now: Time) -> Result<Turn, FeedError> {
        let core = self.meters.chip.cores.nodes()[0].borrow().now();
        match self.phase {
            SamplingPhase::LeadIn { .. } | SamplingPhase::Unit { .. } if program.is_over() => {
                self.phase = SamplingPhase::Rest
            }
            SamplingPhase::LeadIn { .. } | SamplingPhase::Unit { .. } if now < core => return Ok(Turn::At(core)),
            SamplingPhase::LeadIn { start } => {
                program.pause_at(program.counts().instructions + self.options.unit);
                self.before = (core, self.meters.read());
                self.phase = SamplingPhase::Unit { start };
                return Ok(Turn::GoOn);
            }
            SamplingPhase::Unit { start } => {
                self.measured(start, core);
                self.phase = SamplingPhase::Rest;
            }
            SamplingPhase::Rest => {}
        }
        self.rest(program, now)
    }

    fn measured(&mut self, start: u64, core: Time) {
        let (since, before) = self.before;
        let (time, mut counts) = (core.since(since), self.meters.read() - before);
        counts.node.cycles = time.as_fs() / self.cycle.as_fs();
        self.units.push(MeasuredUnit { start, counts, time_fs: time.as_fs() });
        if self.units.len() >= self.thin_at {
            self.thin_out_if_accurate();
        }
    }

    fn thin_out_if_accurate(&mut self) {
        let accurate = self.options.aim.is_met(self.units.iter().step_by(2), MARGIN * self.options.error);
        if accurate || self.units.len() >= UNITS_MAX {
            self.schedule.thin_out();
            self.units.retain(|unit| self.schedule.keeps(unit.start));
        }
        self.thin_at = (self.units.len() + self.units.len() / 4).max(2 * UNITS_MIN);
    }

    /// Waits until no request of the chip is outstanding, and warms up to the next lead-in.
    fn rest<S: Supplier>(&mut self, program: &mut ProgramFeed<S>, now: Time) -> Result<Turn, FeedError> {
        let chip = &self.meters.chip;
        if chip.cores.nodes()[0].borrow().outstanding() > 0 || !self.uncore.is_at_rest() || !chip.buffers.are_done(0) {
            return Ok(Turn::AtRest);
        }
        if program.is_over() {
            return Ok(Turn::End);
        }
        let done = program.counts().instructions;
        while self.next < done {
            self.next = self.schedule.next_start();
        }
        let until = self.next.saturating_sub(self.options.lead_in);
        let target = until.min(done + WARMED_AT_ONCE);
        self.warmer.warm(program, target)?;
        // If warming stops early, only the last few instructions of the program are left, and the core executes them.
        if target < until && program.counts().instructions > done {
            return Ok(Turn::At(now));
        }
        program.pause_at(self.next);
        self.meters.chip.cores.nodes()[0].borrow_mut().resume(now);
        self.phase = SamplingPhase::LeadIn { start: self.next };
        Ok(Turn::GoOn)
    }

    /// Number of units from which the results are estimated.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Duration of one cycle of the core.
    pub fn cycle(&self) -> Duration {
        self.cycle
    }

    /// The estimates from all units, and the statistics of all units, summed; `None` if there are too few units.
    pub fn report(&self, instructions: u64) -> Option<(Sampling, Counts)> {
        let mut sum = Counts::default();
        self.units.iter().for_each(|unit| sum += unit.counts);
        let extent = SampleExtent {
            instructions,
            detailed: self.meters.chip.cores.nodes()[0].borrow().instructions(),
            distance: self.schedule.distance(),
            aim: self.options.aim,
            error: self.options.error,
        };
        Sampling::of(&self.units, extent).map(|sampling| (sampling, sum))
    }
}
