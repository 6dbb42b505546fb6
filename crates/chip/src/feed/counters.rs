//! What is counted of a program on its way to a core.

use serde::Serialize;

/// What came through the feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FeedCounters {
    /// Executed instructions.
    pub instructions: u64,
    /// Loads whose recorded value was compared with the shadow.
    pub load_values_checked: u64,
    /// Loads whose recorded value was another.
    pub load_values_wrong: u64,
    /// Lines that changed without a store of the program's.
    pub foreign_writes: u64,
    /// Lines that were told of files which the program maps shared.
    pub mapped_lines: u64,
    /// Touches by stores of what goes through a persist buffer, where there is one.
    pub persistent_stores: u64,
    /// Instructions that write a line back or store past the caches.
    pub flushes: u64,
    /// Of these, those of which the program's words do not say when a line goes to memory: they are simulated as if they did
    /// not flush.
    pub flushes_not_simulated: u64,
    /// Processes seen.
    pub processes: u64,
}

impl FeedCounters {
    /// With what came through the feed of another core of the same program.
    #[must_use]
    pub fn beside(self, other: FeedCounters) -> FeedCounters {
        FeedCounters {
            instructions: self.instructions + other.instructions,
            load_values_checked: self.load_values_checked + other.load_values_checked,
            load_values_wrong: self.load_values_wrong + other.load_values_wrong,
            foreign_writes: self.foreign_writes + other.foreign_writes,
            mapped_lines: self.mapped_lines + other.mapped_lines,
            persistent_stores: self.persistent_stores + other.persistent_stores,
            flushes: self.flushes + other.flushes,
            flushes_not_simulated: self.flushes_not_simulated + other.flushes_not_simulated,
            processes: self.processes.max(other.processes),
        }
    }

    /// With what came of another program.
    #[must_use]
    pub fn of_programs(self, other: FeedCounters) -> FeedCounters {
        FeedCounters { processes: self.processes + other.processes, ..self.beside(other) }
    }
}
