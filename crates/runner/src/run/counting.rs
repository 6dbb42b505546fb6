//! Statistics of a run: everything after its warm-up, and per interval if the options request intervals.

use super::intervals::{CountedMoment, Intervals, check_interval};
use super::warm_up::{BaselineCounts, warm_up_of};
use super::{RunError, RunOptions};
use crate::record::Interval;
use chip::counts::Meters;
use units::Clock;

/// Reads the statistics at the end of the warm-up, and at the end of each interval.
pub(super) struct IntervalCounter {
    /// Number of instructions of all programs together at which the statistics must be read next; `None` if no further
    /// reading is due.
    due: Option<u64>,
    /// Length of the warm-up in instructions of all programs together, until it ends.
    warm_up: Option<u64>,
    before: BaselineCounts,
    /// Length of each interval; `None` if the options request no intervals.
    length: Option<u64>,
    clock: Clock,
    intervals: Option<Intervals>,
    /// Instructions that were executed without time.
    untimed: u64,
}

impl IntervalCounter {
    /// Counting for a run of `programs` programs.
    ///
    /// # Errors
    /// [`RunError::WarmUp`] and [`RunError::Interval`] if the options do not allow the warm-up or the intervals.
    pub fn new(options: &RunOptions, programs: usize) -> Result<IntervalCounter, RunError> {
        let (warm_up, length) = (warm_up_of(options, programs)?, options.interval);
        check_interval(options, programs)?;
        let clock = options.machine.node.clock_mhz.clock();
        let mut counting = IntervalCounter {
            due: warm_up,
            warm_up,
            before: BaselineCounts::default(),
            length,
            clock,
            intervals: None,
            untimed: 0,
        };
        if warm_up.is_none() {
            counting.begin(0, CountedMoment::default);
        }
        Ok(counting)
    }

    /// Continues after an untimed start of `executed` of the `requested` instructions; the core executes the remaining ones,
    /// not counted.
    pub fn follow(&mut self, executed: u64, requested: u64, meters: &Meters) {
        if requested == 0 {
            return;
        }
        self.untimed = executed;
        self.warm_up = Some(self.warm_up.unwrap_or(0) + requested.saturating_sub(executed));
        self.due = self.warm_up;
        self.look(meters);
    }

    /// Instructions that were executed without time.
    pub fn untimed(&self) -> u64 {
        self.untimed
    }

    /// Begins to count, at the instruction `origin`, which ends the warm-up.
    fn begin(&mut self, origin: u64, now: impl FnOnce() -> CountedMoment) {
        self.intervals = self.length.map(|length| Intervals::new(length, self.clock, origin, now()));
        self.due = self.intervals.as_ref().map(|intervals| intervals.due(origin));
    }

    /// Reads the statistics if the run has reached the instruction at which they are due.
    #[inline]
    pub fn look(&mut self, meters: &Meters) {
        if let Some(due) = self.due {
            self.look_for(due, meters);
        }
    }

    #[cold]
    fn look_for(&mut self, due: u64, meters: &Meters) {
        let reached = meters.instructions();
        if reached < due {
            return;
        }
        let now = || CountedMoment::now(meters);
        if let Some(warm_up) = self.warm_up.take() {
            self.before = BaselineCounts::now(meters);
            self.begin(warm_up, now);
        } else if let Some(intervals) = &mut self.intervals {
            intervals.cut(now());
            self.due = Some(intervals.due(reached)).filter(|_| !intervals.is_full());
        }
    }

    /// The error that ends the run: too many intervals.
    pub fn error(&self) -> Option<RunError> {
        self.intervals.as_ref().filter(|intervals| intervals.is_full()).map(Intervals::overflow)
    }

    /// Statistics at the moment when counting began; zero if counting has not begun, or if it began with the run.
    pub fn before(&self) -> &BaselineCounts {
        &self.before
    }

    /// The results per interval, until now.
    pub fn intervals(self, meters: &Meters) -> Option<Vec<Interval>> {
        self.length?;
        // If a run ended in an alarm during its warm-up, its first interval begins at the start of the run.
        let intervals =
            self.intervals.unwrap_or_else(|| Intervals::new(u64::MAX, self.clock, 0, CountedMoment::default()));
        let mut intervals = intervals.until(CountedMoment::now(meters));
        intervals.iter_mut().for_each(|interval| interval.start += self.untimed);
        Some(intervals)
    }
}
