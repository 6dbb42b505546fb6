//! A strand that accesses a line, and the time of the access in the recording.

use workload::Stretch;
use workload::stream::Strand;

/// Strand that accesses a line, and the time of the access in the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accessor {
    /// Index of the program.
    pub program: u32,
    /// Strand of the program.
    pub strand: Strand,
    /// Time span of the access in the recording.
    pub stretch: Stretch,
}

impl Accessor {
    /// True if another strand, or a strand of another program, executes the other access.
    pub(super) fn is_other_than(&self, other: &Accessor) -> bool {
        (self.program, self.strand) != (other.program, other.strand)
    }

    /// True if `later`, an access of another strand simulated after this one, may have been executed before it.
    pub(super) fn may_follow(&self, later: &Accessor) -> bool {
        self.is_other_than(later)
            && self.program == later.program
            && (self.stretch.overlaps(&later.stretch) || later.stretch.number < self.stretch.number)
    }
}
