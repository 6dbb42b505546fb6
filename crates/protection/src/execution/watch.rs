//! What a way to run says about itself when it is explained.

use sim::span::Cause;
use units::{Duration, Time};

/// What can be said of a verb that has returned.
#[derive(Clone, Copy, Default)]
pub struct Account {
    /// What it had to wait for.
    pub waited_for: Option<Cause>,
    /// A word on how it went.
    pub outcome: Option<&'static str>,
    /// When its work was done, if the access that began it may have come for it later.
    pub done: Option<Time>,
    /// How long the unit that did it was at work for others first.
    pub waited: Duration,
    /// Of a read of memory that moved a line: when the last of it had arrived.
    pub data: Option<Time>,
}

/// What a mode of execution can say about itself; without a clock, nothing.
pub trait Watch {
    /// The present instant.
    fn now(&self) -> Time {
        Time::ZERO
    }

    /// What can be said of the verb that has just returned; it is said once.
    fn account(&self) -> Account {
        Account::default()
    }
}
