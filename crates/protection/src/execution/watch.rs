//! Information about a runner for explained runs.

use crate::untimed::UntimedVerbs;
use sim::span::Cause;
use units::{Duration, Time};

/// Information about a verb that has returned.
#[derive(Clone, Copy, Default)]
pub struct VerbReport {
    /// Cause of the verb's wait, if it waited.
    pub waited_for: Option<Cause>,
    /// Word for the outcome of the verb.
    pub outcome: Option<&'static str>,
    /// Time at which the verb's work was done, if the access may have awaited it later.
    pub done: Option<Time>,
    /// Time for which the unit was busy with other work first.
    pub waited: Duration,
    /// Time that the cause of the wait, such as a refresh, has added to a read from memory.
    pub delayed: Duration,
    /// Arrival time of the last data, for a read that transferred a line from memory.
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

impl Watch for UntimedVerbs<'_> {}
