//! What the core does when its program has nothing more for now: the cycle of a sampled run.
//!
//! ```text
//! lead in ─ measure ─ come to rest ─ warm ─┐
//!    ↑ └──────────────────────────────────┘
//! ```
//! A unit lasts from the entry of the last instruction before it into the core's window to the entry of its own last: of
//! units without gaps, the times would add up to that of the whole run. The core runs ahead of the clock, so at both ends
//! it waits until the clock has caught up, and everything behind it has been counted.

use super::SamplingOptions;
use super::report::{Extent, Sampling, Unit};
use super::schedule::Schedule;
use chip::counts::{Counts, Meters};
use chip::feed::{FeedError, Program};
use chip::uncore::Uncore;
use chip::warm::Warmer;
use std::rc::Rc;
use units::{Duration, Time};
use workload::Supplier;

/// Warmed at once, so that a user who watches is not kept waiting.
const WARMED_AT_ONCE: u64 = 2_000_000;
/// Fewer units than this are not thinned out: figures other than the one that is aimed at need some.
const UNITS_MIN: usize = 1_000;
/// As many units are thinned out whatever their accuracy: a program that is so uneven would take its whole time in detail.
const UNITS_MAX: usize = 1 << 14;
/// A sample that is to be half as dense must keep this part of the error asked for, so that what is still to come may be
/// less even than what was.
const MARGIN: f64 = 0.7;

/// What the core is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// To go on with the program.
    GoOn,
    /// To ask again at this time.
    At(Time),
    /// To ask again when everything behind it has come to rest.
    AtRest,
    /// To ask again when it is woken.
    Woken,
    /// Nothing any more.
    End,
}

/// What the instructions until the program's next pause are for.
#[derive(Clone, Copy, Debug)]
enum Phase {
    LeadIn { start: u64 },
    Unit { start: u64 },
    Rest,
}

/// Samples one run.
pub struct Sampler {
    options: SamplingOptions,
    schedule: Schedule,
    meters: Meters,
    uncore: Rc<Uncore>,
    warmer: Warmer,
    /// One cycle of the core.
    cycle: Duration,
    phase: Phase,
    /// When the unit began, and what had been counted by then.
    before: (Time, Counts),
    /// Where the next unit starts.
    next: u64,
    units: Vec<Unit>,
    /// With so many units it is time to see whether half of them would do.
    thin_at: usize,
}

impl Sampler {
    /// A sampler that has not begun. The options must have passed their check.
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
            phase: Phase::Rest,
            before: (Time::ZERO, Counts::default()),
            next,
            units: Vec::new(),
            thin_at: 2 * UNITS_MIN,
        }
    }

    /// What to do now that the program has nothing more for now.
    ///
    /// # Errors
    /// Those of the feed.
    pub fn turn<S: Supplier>(&mut self, program: &mut Program<S>, now: Time) -> Result<Turn, FeedError> {
        let core = self.meters.chip.cores.nodes()[0].borrow().now();
        match self.phase {
            Phase::LeadIn { .. } | Phase::Unit { .. } if program.is_over() => self.phase = Phase::Rest,
            Phase::LeadIn { .. } | Phase::Unit { .. } if now < core => return Ok(Turn::At(core)),
            Phase::LeadIn { start } => {
                program.pause_at(program.counters().instructions + self.options.unit);
                self.before = (core, self.meters.read());
                self.phase = Phase::Unit { start };
                return Ok(Turn::GoOn);
            }
            Phase::Unit { start } => {
                self.measured(start, core);
                self.phase = Phase::Rest;
            }
            Phase::Rest => {}
        }
        self.rest(program, now)
    }

    fn measured(&mut self, start: u64, core: Time) {
        let (since, before) = self.before;
        let (time, mut counts) = (core.since(since), self.meters.read() - before);
        counts.node.cycles = time.as_fs() / self.cycle.as_fs();
        self.units.push(Unit { start, counts, time_fs: time.as_fs() });
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

    /// Comes to rest, and warms up to the next lead-in.
    fn rest<S: Supplier>(&mut self, program: &mut Program<S>, now: Time) -> Result<Turn, FeedError> {
        let chip = &self.meters.chip;
        if chip.cores.nodes()[0].borrow().outstanding() > 0 || !self.uncore.is_at_rest() || !chip.has_persisted(0) {
            return Ok(Turn::AtRest);
        }
        if program.is_over() {
            return Ok(Turn::End);
        }
        let done = program.counters().instructions;
        while self.next < done {
            self.next = self.schedule.next_start();
        }
        let until = self.next.saturating_sub(self.options.lead_in);
        let target = until.min(done + WARMED_AT_ONCE);
        self.warmer.warm(program, target)?;
        // What is left when nothing can be warmed any more are the program's last few instructions, for the core.
        if target < until && program.counters().instructions > done {
            return Ok(Turn::At(now));
        }
        program.pause_at(self.next);
        self.meters.chip.cores.nodes()[0].borrow_mut().resume(now);
        self.phase = Phase::LeadIn { start: self.next };
        Ok(Turn::GoOn)
    }

    /// How many units the figures come from.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// One cycle of the core.
    pub fn cycle(&self) -> Duration {
        self.cycle
    }

    /// What the units say, and the sum of their counts; nothing if there are too few to say anything.
    pub fn report(&self, instructions: u64) -> Option<(Sampling, Counts)> {
        let mut sum = Counts::default();
        self.units.iter().for_each(|unit| sum += unit.counts);
        let extent = Extent {
            instructions,
            detailed: self.meters.chip.cores.nodes()[0].borrow().instructions(),
            distance: self.schedule.distance(),
            aim: self.options.aim,
            error: self.options.error,
        };
        Sampling::of(&self.units, extent).map(|sampling| (sampling, sum))
    }
}
