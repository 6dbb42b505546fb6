//! What the memory's waits and outcomes are called in a timeline.

use machine::dram::{RowOutcome, WaitCause};
use sim::span::Cause;

/// What a read of memory waited for.
pub(super) fn cause_of(wait: WaitCause) -> Option<Cause> {
    match wait {
        WaitCause::Nothing => None,
        WaitCause::Refresh => Some(Cause::Refresh),
        WaitCause::WriteDrain => Some(Cause::WriteDrain),
        WaitCause::BankBusy => Some(Cause::Bank),
        WaitCause::Queue => Some(Cause::Queue),
    }
}

/// How it found its row.
pub(super) fn word_for(outcome: RowOutcome) -> &'static str {
    match outcome {
        RowOutcome::Hit => "row hit",
        RowOutcome::Closed => "row closed",
        RowOutcome::Conflict => "row conflict",
    }
}
