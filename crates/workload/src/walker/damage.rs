//! Errors for words that no recorder writes.

use crate::error::WorkloadError;
use crate::stream::Strand;

/// Error: an access belongs to an instruction that is complete, or that does not run.
pub(super) fn not_due(strand: Strand, index: usize) -> WorkloadError {
    damaged(strand, format!("instruction {index} is not due, but accesses memory"))
}

/// Error: a word has an unknown kind.
pub(super) fn unknown(strand: Strand, word: u64) -> WorkloadError {
    damaged(strand, format!("the word {word:#018x} has an unknown kind"))
}

/// Error with any other description of the damage.
pub(super) fn damaged(strand: Strand, found: String) -> WorkloadError {
    WorkloadError::Damaged { process: strand.process, thread: strand.thread, found }
}
