//! Statistics of a program's feed.

use serde::Serialize;

/// Counts of the events that passed the feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FeedCounts {
    /// Number of executed instructions.
    pub instructions: u64,
    /// Number of loads with a recorded value, compared with the shadow.
    pub load_values_checked: u64,
    /// Number of compared loads with a value that differs from the shadow.
    pub load_values_wrong: u64,
    /// Number of lines that changed without a store of the program.
    pub foreign_writes: u64,
    /// Number of lines that the recording sent for files that the program maps shared.
    pub mapped_lines: u64,
    /// Number of line touches by stores that go through a persist buffer, if the machine has one.
    pub persistent_stores: u64,
    /// Number of instructions that write a line back or store past the caches.
    pub flushes: u64,
    /// Number of flushes that the simulation ignores, because the recording does not contain the time of their write to
    /// memory.
    pub flushes_not_simulated: u64,
    /// Number of processes seen.
    pub processes: u64,
    /// Number of threads of all processes, as far as they were seen.
    pub threads: u64,
    /// Number of parts of the program that ran unrecorded: programs that it executed natively, and threads beyond those that
    /// the recorder can number.
    pub unrecorded: u64,
}

impl FeedCounts {
    /// Adds the statistics of another core's feed of the same program.
    #[must_use]
    pub fn with_core(self, other: FeedCounts) -> FeedCounts {
        FeedCounts {
            instructions: self.instructions + other.instructions,
            load_values_checked: self.load_values_checked + other.load_values_checked,
            load_values_wrong: self.load_values_wrong + other.load_values_wrong,
            foreign_writes: self.foreign_writes + other.foreign_writes,
            mapped_lines: self.mapped_lines + other.mapped_lines,
            persistent_stores: self.persistent_stores + other.persistent_stores,
            flushes: self.flushes + other.flushes,
            flushes_not_simulated: self.flushes_not_simulated + other.flushes_not_simulated,
            processes: self.processes.max(other.processes),
            threads: self.threads.max(other.threads),
            unrecorded: self.unrecorded + other.unrecorded,
        }
    }

    /// Adds the statistics of another program's feed.
    #[must_use]
    pub fn of_programs(self, other: FeedCounts) -> FeedCounts {
        FeedCounts {
            processes: self.processes + other.processes,
            threads: self.threads + other.threads,
            ..self.with_core(other)
        }
    }
}
