//! What is counted of a run: all that comes after its warm-up, and that by interval where it is asked for.

use super::intervals::{CountedMoment, Intervals, check_interval};
use super::warm_up::{Before, warm_up_of};
use super::{RunError, RunOptions};
use crate::record::Interval;
use chip::counts::Meters;
use units::Clock;

/// Takes down what has been counted, at the moments of a run that part what is counted from what is not, or one interval from
/// the next.
pub(super) struct Counting {
    /// With how many instructions of all programs together the next such moment comes; nothing if none does.
    due: Option<u64>,
    /// Until when nothing counts, while that is to come.
    warm_up: Option<u64>,
    before: Before,
    /// Of each interval, if there are to be any.
    length: Option<u64>,
    clock: Clock,
    intervals: Option<Intervals>,
}

impl Counting {
    /// Of a run of so many programs.
    ///
    /// # Errors
    /// [`RunError::WarmUp`] and [`RunError::Interval`] if it cannot be counted so.
    pub fn new(options: &RunOptions, programs: usize) -> Result<Counting, RunError> {
        let (warm_up, length) = (warm_up_of(options, programs)?, options.interval);
        check_interval(options, programs)?;
        let clock = options.machine.node.clock_mhz.clock();
        let mut counting =
            Counting { due: warm_up, warm_up, before: Before::default(), length, clock, intervals: None };
        if warm_up.is_none() {
            counting.begin(0, CountedMoment::default);
        }
        Ok(counting)
    }

    /// Counting begins, as it was to with so many instructions.
    fn begin(&mut self, origin: u64, now: impl FnOnce() -> CountedMoment) {
        self.intervals = self.length.map(|length| Intervals::new(length, self.clock, origin, now()));
        self.due = self.intervals.as_ref().map(|intervals| intervals.due(origin));
    }

    /// Takes down what has been counted, if this was the event with which such a moment came.
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
            self.before = Before::now(meters);
            self.begin(warm_up, now);
        } else if let Some(intervals) = &mut self.intervals {
            intervals.cut(now());
            self.due = Some(intervals.due(reached)).filter(|_| !intervals.is_full());
        }
    }

    /// Why the run cannot go on, if it cannot.
    pub fn error(&self) -> Option<RunError> {
        self.intervals.as_ref().filter(|intervals| intervals.is_full()).map(Intervals::overflow)
    }

    /// What had been counted when counting began: nothing if it has not, or if it began with the run.
    pub fn before(&self) -> &Before {
        &self.before
    }

    /// What was counted by interval, until now.
    pub fn intervals(self, meters: &Meters) -> Option<Vec<Interval>> {
        self.length?;
        // A run that ended in an alarm during its warm-up is all counted.
        let intervals =
            self.intervals.unwrap_or_else(|| Intervals::new(u64::MAX, self.clock, 0, CountedMoment::default()));
        Some(intervals.until(CountedMoment::now(meters)))
    }
}
