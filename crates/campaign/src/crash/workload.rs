//! Workloads: every sequence of up to three writes over three lines.
//!
//! Most bugs of crash consistency appear in the shortest workloads, so the campaign tries all short workloads (as ACE
//! does for file systems). Two of the lines share their counter and tag lines; the third has separate ones.
//! Each sequence runs with its writes in turn and at once, and again with counters that overflow at the first write of
//! a line.
//!
//! If stores pass through persist buffers, two cores also share the sequences, in turn: each core stores as soon as its buffer
//! allows. The second core reads a line before it stores to it, the first does not. So remote reads flush entries and remote
//! writes take entries over, in both directions.

use std::fmt;
use units::random::Random;
use units::{Line, LineAddr};

/// Lines of data: enough for two stored levels of an 8-ary tree over pages below a full root, and small enough to recover a
/// hundred thousand times.
pub const DATA_LINES: u64 = 1 << 15;
/// Lines of data of a program's memory: 512 KB.
pub const PROGRAM_LINES: u64 = 1 << 13;
/// Lines that are written: two neighbours, and one in another page below the other half of the root.
pub const LINES: [LineAddr; 3] = [LineAddr(2), LineAddr(3), LineAddr(64 * (64 * 6 + 9) + 5)];
/// A line that no workload writes. It is re-encrypted with the first two, and its tag is in another line.
pub const BYSTANDER: LineAddr = LineAddr(40);

const WRITES_MAX: usize = 3;
/// Maximum number of cores.
pub const CORES: usize = 2;

/// A short sequence of writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Lines in the order in which they are written.
    pub writes: Vec<LineAddr>,
    /// True if a write begins before its predecessor has returned.
    pub at_once: bool,
    /// True if the next write of the first line makes its counters overflow.
    pub old: bool,
    /// Core that begins, if two cores take turns.
    pub turns_from: Option<usize>,
}

impl Workload {
    /// Creates a workload of one core.
    pub fn of_one_core(writes: Vec<LineAddr>, at_once: bool, old: bool) -> Workload {
        Workload { writes, at_once, old, turns_from: None }
    }

    /// Returns the core of a write, by its index.
    pub fn core(&self, write: usize) -> usize {
        self.turns_from.map_or(0, |first| (first + write) % CORES)
    }

    /// Draws the content of each write, in order.
    pub fn contents(&self, random: &mut Random) -> Vec<(LineAddr, Line)> {
        self.writes.iter().map(|line| (*line, random.line())).collect()
    }

    /// Returns true if the metadata caches are tiny and another program evicts their lines again and again.
    pub fn is_crowded(&self) -> bool {
        self.writes.len() % 2 == 1
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.writes.iter().map(ToString::to_string).collect();
        let how = if self.at_once { "at once" } else { "in turn" };
        let age = if self.old { ", before an overflow" } else { "" };
        let cores =
            self.turns_from.map_or_else(String::new, |first| format!(", of two cores in turn from core {first}"));
        write!(f, "{} {how}{age}{cores}", names.join(", "))
    }
}

/// Returns all workloads for a design with or without persist buffers, those of one core first.
pub fn all_for(has_buffers: bool) -> Vec<Workload> {
    let mut workloads = all();
    if has_buffers {
        // Three writes with an overflow would double the time, and overflow like shorter ones.
        let shared: Vec<Workload> = workloads
            .iter()
            .filter(|work| work.at_once && (!work.old || work.writes.len() < WRITES_MAX))
            .flat_map(|work| (0..CORES).map(|first| Workload { turns_from: Some(first), ..work.clone() }))
            .collect();
        workloads.extend(shared);
    }
    workloads
}

/// Returns all workloads of one core, the shortest first.
pub fn all() -> Vec<Workload> {
    let mut sequences: Vec<Vec<LineAddr>> = vec![Vec::new()];
    let mut all = Vec::new();
    for _ in 0..WRITES_MAX {
        sequences = sequences
            .iter()
            .flat_map(|shorter| LINES.map(|line| shorter.iter().copied().chain([line]).collect()))
            .collect();
        for writes in &sequences {
            for (at_once, old) in [(false, false), (true, false), (false, true), (true, true)] {
                // One write is both in turn and at once, and only a write of the first group can overflow.
                if (writes.len() > 1 || !at_once) && (!old || writes.contains(&LINES[0])) {
                    all.push(Workload::of_one_core(writes.clone(), at_once, old));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crash_workloads_contain_each_sequence_of_up_to_three_writes_once_per_variant() {
        let all = all();
        let young = |at_once: bool| all.iter().filter(|work| !work.old && work.at_once == at_once).count();
        assert_eq!((young(false), young(true)), (3 + 9 + 27, 9 + 27));
        let old = all.iter().filter(|work| work.old && !work.at_once).count();
        assert_eq!(old, 1 + (9 - 4) + (27 - 8));
        assert!(all.iter().all(|work| all.iter().filter(|other| *other == work).count() == 1));
    }

    #[test]
    fn two_core_workloads_alternate_the_stores_and_each_core_starts_equally_often() {
        let all = all_for(true);
        let shared: Vec<&Workload> = all.iter().filter(|work| work.turns_from.is_some()).collect();
        assert_eq!(shared.len(), 2 * (9 + 27 + (9 - 4)));
        let of = |first| shared.iter().filter(|work| work.turns_from == Some(first)).count();
        assert_eq!(of(0), of(1));
        assert!(shared.iter().all(|work| work.core(0) != work.core(1) && work.core(0) == work.core(2)));
        assert_eq!(all_for(false), super::all());
    }
}
