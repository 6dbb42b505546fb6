//! Compares the values that a program loaded with the simulated memory, and classifies the differences.
//!
//! The cores of a simulated machine progress at other speeds than the computer on which the program was recorded. The
//! recording does not show which strand (a thread, or a process that shares memory) waited for which other strand.
//! Strands therefore reach memory in a different order, and a load may see a store of another strand that is earlier or
//! later in the recording. The store of the other strand explains this kind of difference ([`order`]). Every other
//! difference is an error of the recording or of the simulation, however many strands the program has.

pub mod accessor;
pub mod order;
pub mod unexecuted;

use crate::feed::counts::FeedCounts;
use order::LoadOrder;
use serde::Serialize;
use unexecuted::UnexecutedBatches;
use units::VirtAddr;

/// Number of differences that are reported individually.
pub const SHOWN: usize = 4;

/// A load for which the simulated memory has another value than the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WrongLoad {
    /// Process of the thread that loaded.
    pub process: u32,
    /// Number of the thread.
    pub thread: u32,
    /// Address of the instruction.
    pub pc: VirtAddr,
    /// Address of the first byte that was loaded.
    pub address: VirtAddr,
    /// Number of bytes loaded.
    pub bytes: u8,
}

/// Result of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All values are equal to the recorded ones.
    Same,
    /// Some values differ, and the order of strands explains each difference.
    OtherOrder,
    /// Some values differ without an explanation: an error.
    Wrong,
}

/// Comparison of all loads that have a recorded value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoadValues {
    /// Number of loads compared.
    pub compared: u64,
    /// Number of compared loads that differ.
    pub different: u64,
    /// Number of differing loads from lines to which another strand stored. The recording does not show the order of
    /// store and load, or the simulation changed this order.
    pub in_other_order: u64,
    /// Number of threads of all programs.
    pub threads: u64,
    /// Number of processes of all programs.
    pub processes: u64,
    /// The first unexplained differences. If each difference has an explanation, the first of all differences.
    pub first: Vec<WrongLoad>,
    /// Result of the comparison.
    pub verdict: Verdict,
}

impl LoadValues {
    /// Compares several programs, each given by the counters of its feeds. A store that a limit has cut off may explain a
    /// difference. `None` if no load was compared.
    pub fn of(programs: &[FeedCounts], order: &LoadOrder, cut_off: &UnexecutedBatches) -> Option<LoadValues> {
        let sum = |count: fn(&FeedCounts) -> u64| programs.iter().map(count).sum::<u64>();
        let (compared, different) = (sum(|fed| fed.load_values_checked), sum(|fed| fed.load_values_wrong));
        let in_other_order = order.explained(cut_off);
        (compared > 0).then(|| LoadValues {
            compared,
            different,
            in_other_order,
            threads: sum(|fed| fed.threads),
            processes: sum(|fed| fed.processes),
            first: order.first(cut_off),
            verdict: match different {
                0 => Verdict::Same,
                _ if different == in_other_order => Verdict::OtherOrder,
                _ => Verdict::Wrong,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accessor::Accessor;
    use units::LineAddr;
    use workload::Stretch;
    use workload::stream::Strand;

    fn compared(threads: u64, differences: u32, explained_by: &[u32]) -> LoadValues {
        let accessor =
            |thread| Accessor { program: 0, strand: Strand { process: 0, thread }, stretch: Stretch::default() };
        let overlapping = |thread| Accessor { stretch: Stretch { after: 0, number: 1 }, ..accessor(thread) };
        let mut order = LoadOrder::default();
        for thread in 0..differences {
            let wrong = WrongLoad { process: 0, thread, pc: VirtAddr(1), address: VirtAddr(2), bytes: 8 };
            order.differ(LineAddr(thread.into()), overlapping(thread), wrong);
        }
        explained_by.iter().for_each(|thread| order.store(LineAddr((*thread).into()), overlapping(99)));
        let fed = FeedCounts {
            load_values_checked: 9,
            load_values_wrong: differences.into(),
            processes: 1,
            threads,
            ..FeedCounts::default()
        };
        LoadValues::of(&[fed], &order, &UnexecutedBatches::default()).unwrap()
    }

    #[test]
    fn load_values_count_as_wrong_unless_other_thread_orders_explain_every_difference() {
        assert_eq!(compared(1, 0, &[]).verdict, Verdict::Same);
        assert_eq!(compared(4, 1, &[0]).verdict, Verdict::OtherOrder);
        assert_eq!(compared(4, 1, &[]).verdict, Verdict::Wrong);
        let partly = compared(4, 3, &[0, 2]);
        assert_eq!((partly.verdict, partly.in_other_order, partly.first[0].thread), (Verdict::Wrong, 2, 1));
    }

    #[test]
    fn load_values_that_were_not_compared_have_no_verdict() {
        let nothing = (&LoadOrder::default(), &UnexecutedBatches::default());
        assert_eq!(LoadValues::of(&[FeedCounts::default()], nothing.0, nothing.1), None);
    }
}
