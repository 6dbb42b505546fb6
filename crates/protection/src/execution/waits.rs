//! Names of the memory's waits and outcomes in a timeline.

use machine::dram::{RowOutcome, WaitCause};
use sim::span::Cause;

/// Returns the cause of a wait of a read of memory.
pub(super) fn cause_of(wait: WaitCause) -> Option<Cause> {
    match wait {
        WaitCause::Nothing => None,
        WaitCause::Refresh => Some(Cause::Refresh),
        WaitCause::WriteDrain => Some(Cause::WriteDrain),
        WaitCause::BankBusy => Some(Cause::Bank),
        WaitCause::Queue => Some(Cause::Queue),
    }
}

/// Returns the word for the state of the row at the arrival of a read.
pub(super) fn word_for(outcome: RowOutcome) -> &'static str {
    match outcome {
        RowOutcome::Hit => "row hit",
        RowOutcome::Closed => "row closed",
        RowOutcome::Conflict => "row conflict",
    }
}
