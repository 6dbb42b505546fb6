//! The values that a program loaded, against those of the simulated memory, and what a difference means.
//!
//! The cores of a simulated machine progress differently from the computer on which the program was recorded, and the
//! recording does not say which thread waited for which. Threads, and processes that share memory, therefore reach memory
//! in an order of their own, and may find there what another wrote sooner or later than it did; and what processes share
//! has pages of its own for each of them. In a program of a single strand there is no such order: a difference is an error
//! of the recording or of the simulation.

use crate::feed::counters::FeedCounters;
use serde::Serialize;
use units::VirtAddr;

/// Differences that are reported one by one.
pub const TOLD: usize = 4;

/// A load whose recorded value was another than the simulated memory had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WrongLoad {
    /// The process of the thread that loaded.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The address of the instruction.
    pub pc: VirtAddr,
    /// The address of the first byte that was loaded.
    pub address: VirtAddr,
    /// How many bytes were loaded.
    pub bytes: u8,
}

/// What the comparison came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All values are those recorded.
    Same,
    /// Some differ, all of them in programs of several threads or processes: these reach memory in the order of the
    /// simulation, not of the recording.
    OtherOrder,
    /// Some differ in a program of a single thread: an error.
    Wrong,
}

/// The comparison of all loads whose value was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoadValues {
    /// Loads that were compared.
    pub compared: u64,
    /// Of these, loads whose recorded value was another.
    pub different: u64,
    /// Threads of all programs.
    pub threads: u64,
    /// Processes of all programs.
    pub processes: u64,
    /// The first differences of each core.
    pub first: Vec<WrongLoad>,
    /// What the comparison came to.
    pub verdict: Verdict,
}

impl LoadValues {
    /// The comparison of several programs: of each its threads and what came through its feeds. Nothing if nothing was
    /// compared.
    pub fn of(programs: &[(u64, FeedCounters)], first: Vec<WrongLoad>) -> Option<LoadValues> {
        let sum = |count: fn(&FeedCounters) -> u64| programs.iter().map(|(_, fed)| count(fed)).sum::<u64>();
        let (compared, different) = (sum(|fed| fed.load_values_checked), sum(|fed| fed.load_values_wrong));
        let alone = programs.iter().any(|(threads, fed)| *threads <= 1 && fed.load_values_wrong > 0);
        (compared > 0).then(|| LoadValues {
            compared,
            different,
            threads: programs.iter().map(|(threads, _)| threads).sum(),
            processes: sum(|fed| fed.processes),
            first,
            verdict: match (different, alone) {
                (0, _) => Verdict::Same,
                (_, false) => Verdict::OtherOrder,
                (_, true) => Verdict::Wrong,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(load_values_wrong: u64) -> FeedCounters {
        FeedCounters { load_values_checked: 9, load_values_wrong, processes: 1, ..FeedCounters::default() }
    }

    fn verdict(programs: &[(u64, FeedCounters)]) -> Verdict {
        LoadValues::of(programs, Vec::new()).unwrap().verdict
    }

    #[test]
    fn threads_may_differ_and_a_single_thread_may_not() {
        assert_eq!(verdict(&[(1, fed(0)), (4, fed(0))]), Verdict::Same);
        assert_eq!(verdict(&[(4, fed(1))]), Verdict::OtherOrder);
        assert_eq!(verdict(&[(1, fed(1))]), Verdict::Wrong);
        assert_eq!(verdict(&[(4, fed(1)), (1, fed(0))]), Verdict::OtherOrder);
        assert_eq!(verdict(&[(4, fed(1)), (1, fed(1))]), Verdict::Wrong);
    }

    #[test]
    fn what_was_not_compared_has_no_verdict() {
        assert_eq!(LoadValues::of(&[(1, FeedCounters::default())], Vec::new()), None);
    }
}
