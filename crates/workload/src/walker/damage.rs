//! What is wrong with words that no recorder writes.

use crate::error::WorkloadError;
use crate::stream::Strand;

/// An instruction accesses memory that is over, or does not run.
pub(super) fn not_due(strand: Strand, index: usize) -> WorkloadError {
    damaged(strand, format!("instruction {index} is not due, but accesses memory"))
}

/// A word of an unknown kind.
pub(super) fn unknown(strand: Strand, word: u64) -> WorkloadError {
    damaged(strand, format!("the word {word:#018x} tells nothing known"))
}

/// Anything else.
pub(super) fn damaged(strand: Strand, found: String) -> WorkloadError {
    WorkloadError::Damaged { process: strand.process, thread: strand.thread, found }
}
