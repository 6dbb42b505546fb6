//! The values that a program loaded, against those of the simulated memory, and what a difference means.
//!
//! The cores of a simulated machine progress differently from the computer on which the program was recorded, and the
//! recording does not say which strand (a thread, or a process that shares memory) waited for which. Strands therefore reach
//! memory in an order of their own, and a load may find there what another strand wrote sooner or later than it did. Such a
//! difference is explained by the store of the other strand ([`order`]). Every other difference is an error of the recording or
//! of the simulation, however many strands the program has.

pub mod order;

use crate::feed::counters::FeedCounters;
use order::LoadOrder;
use serde::Serialize;
use units::VirtAddr;

/// Differences that are reported one by one.
pub const SHOWN: usize = 4;

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
    /// Some differ, and the order of strands explains each of them.
    OtherOrder,
    /// Some differ without a reason: an error.
    Wrong,
}

/// The comparison of all loads whose value was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoadValues {
    /// Loads that were compared.
    pub compared: u64,
    /// Of these, loads whose recorded value was another.
    pub different: u64,
    /// Of these, loads of lines that another strand stored to in an order that the recording does not say, or that the simulation
    /// changed.
    pub in_other_order: u64,
    /// Threads of all programs.
    pub threads: u64,
    /// Processes of all programs.
    pub processes: u64,
    /// The first differences without a reason, or if all have one, the first of all.
    pub first: Vec<WrongLoad>,
    /// What the comparison came to.
    pub verdict: Verdict,
}

impl LoadValues {
    /// The comparison of several programs: of each its threads and the counters of its feeds. Nothing if nothing was compared.
    pub fn of(programs: &[(u64, FeedCounters)], order: &LoadOrder) -> Option<LoadValues> {
        let sum = |count: fn(&FeedCounters) -> u64| programs.iter().map(|(_, fed)| count(fed)).sum::<u64>();
        let (compared, different) = (sum(|fed| fed.load_values_checked), sum(|fed| fed.load_values_wrong));
        let in_other_order = order.explained();
        (compared > 0).then(|| LoadValues {
            compared,
            different,
            in_other_order,
            threads: programs.iter().map(|(threads, _)| threads).sum(),
            processes: sum(|fed| fed.processes),
            first: order.first(),
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
    use order::Accessor;
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
        let fed = FeedCounters {
            load_values_checked: 9,
            load_values_wrong: differences.into(),
            processes: 1,
            ..FeedCounters::default()
        };
        LoadValues::of(&[(threads, fed)], &order).unwrap()
    }

    #[test]
    fn each_difference_needs_a_reason_however_many_threads_there_are() {
        assert_eq!(compared(1, 0, &[]).verdict, Verdict::Same);
        assert_eq!(compared(4, 1, &[0]).verdict, Verdict::OtherOrder);
        assert_eq!(compared(4, 1, &[]).verdict, Verdict::Wrong);
        let partly = compared(4, 3, &[0, 2]);
        assert_eq!((partly.verdict, partly.in_other_order, partly.first[0].thread), (Verdict::Wrong, 2, 1));
    }

    #[test]
    fn values_that_were_not_compared_have_no_verdict() {
        assert_eq!(LoadValues::of(&[(1, FeedCounters::default())], &LoadOrder::default()), None);
    }
}
