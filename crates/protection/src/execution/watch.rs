//! Information about a runner for explained runs.

use sim::span::Cause;
use units::{Duration, Time};

/// Information about a verb that has returned.
#[derive(Clone, Copy, Default)]
pub struct VerbReport {
    /// Cause of its wait, if it waited.
    pub waited_for: Option<Cause>,
    /// Word for its outcome.
    pub outcome: Option<&'static str>,
    /// Time at which its work was done, if the access may have awaited it later.
    pub done: Option<Time>,
    /// Time for which the unit was busy with other work first.
    pub waited: Duration,
    /// Time at which the last data had arrived, for a read of memory that moved a line.
    pub data: Option<Time>,
}

/// Information that a runner can give about itself; without a clock, it has defaults only.
pub trait Watch {
    /// Returns the present simulated time.
    fn now(&self) -> Time {
        Time::ZERO
    }

    /// Returns and clears the information about the verb that has just returned.
    fn account(&self) -> VerbReport {
        VerbReport::default()
    }
}
