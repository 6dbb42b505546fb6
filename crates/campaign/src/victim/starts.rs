//! Starts of a machine with the same keys: the seeds of each start.

use protection::design::Seeds;

/// The last start of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastStart {
    /// Seed of the keys.
    keys: u64,
    /// Number of earlier starts with these keys.
    earlier: u64,
}

impl LastStart {
    /// The first start with the keys of these seeds.
    pub fn first(seeds: Seeds) -> LastStart {
        LastStart { keys: seeds.keys, earlier: 0 }
    }

    /// Returns the next start of a machine that keeps its keys.
    pub fn next(self) -> LastStart {
        LastStart { earlier: self.earlier + 1, ..self }
    }

    /// Seeds of a start: the keys are those of the first start, and the random numbers differ from those of any other start.
    pub fn seeds(self) -> Seeds {
        Seeds::started_again(self.keys, self.earlier)
    }
}
