//! What happened when, and what it waited for: the raw material of a timeline.

use serde::Serialize;
use units::Time;

/// Why something took longer than it would have on an idle machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Others were ahead in a queue.
    Queue,
    /// The bank was at work for another row or in recovery.
    Bank,
    /// Memory was refreshing.
    Refresh,
    /// Writes were being drained.
    WriteDrain,
    /// All units of this kind were busy.
    Unit,
    /// Somebody held the lock.
    Lock,
    /// Lines that were used already had no verdict yet.
    Verdict,
}

/// One piece of work: what, from when to when.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    /// The verb: `fetch`, `pad`, `mac` ...
    pub verb: &'static str,
    /// What it worked on.
    pub what: String,
    /// When it was asked for.
    #[serde(serialize_with = "as_fs")]
    pub start: Time,
    /// When it was done.
    #[serde(serialize_with = "as_fs")]
    pub end: Time,
    /// What it waited for, if it did.
    pub waited_for: Option<Cause>,
    /// A word on how it went: a row hit, a cache miss.
    pub outcome: Option<&'static str>,
}

fn as_fs<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_fs())
}
