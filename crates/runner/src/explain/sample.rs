//! The sample of lines that are measured when an access is explained, and the percentiles of their latencies.
//!
//! The typical line is the median of those lines for which the requested state of DRAM rows holds for all fetches: no
//! fetch finds a row that the access itself has opened. In deep trees, each line has such fetches; then those with the
//! fewest count as typical.
//!
//! The lines are drawn evenly from all of the memory. The draws depend only on the seed and the size of the memory, so
//! all designs are measured on the same lines. The exception is a design with incomplete last lines of counters: its
//! sample excludes the last lines of memory.

use protection::design::DataLines;
use serde::{Deserialize, Serialize};
use units::random::Random;
use units::{Duration, LineAddr, LineLength, PhysAddr, Word};

/// Separates these draws from all other draws of the same seed.
const PURPOSE: u64 = 0x6578_706c_6169_6e73;

/// Selection of the lines to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lines {
    /// The line that contains the byte at this address.
    At(u64),
    /// Lines drawn from all of the memory.
    Sample {
        /// Number of lines, at least one.
        lines: u32,
        /// Seed of the draws.
        seed: u64,
    },
}

impl Default for Lines {
    /// 999 lines: a twentieth of them is about fifty lines.
    fn default() -> Lines {
        Lines::Sample { lines: 999, seed: 1 }
    }
}

/// Percentiles of the latencies of a sample (nearest rank).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Spread {
    /// Number of lines that were measured.
    pub lines: u32,
    /// Number of these lines with the fewest `clashes`; the timeline is that of a line with the median latency among
    /// them.
    pub typical: u32,
    /// Pairs of lines that an access to each of the typical lines fetches from different rows of the same bank: no
    /// state of the rows applies to both lines of such a pair.
    pub clashes: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// The shortest latency, in femtoseconds.
    pub shortest_fs: u64,
    /// The 5th percentile, in femtoseconds.
    pub p5_fs: u64,
    /// The median of all lines, in femtoseconds.
    pub p50_fs: u64,
    /// The 95th percentile, in femtoseconds.
    pub p95_fs: u64,
    /// The longest latency, in femtoseconds.
    pub longest_fs: u64,
}

impl Lines {
    /// The word that a reader requests first, in lines of this length: the word with the named byte.
    pub(super) fn word(self, length: LineLength) -> Word {
        match self {
            Lines::At(byte) => Word::at(length.offset(byte)),
            Lines::Sample { .. } => Word::FIRST,
        }
    }

    /// The lines to measure. `memory` counts only the lines that can be explained.
    pub(super) fn targets(self, memory: impl Into<DataLines>) -> Result<Vec<LineAddr>, String> {
        let DataLines { count: memory_lines, length } = memory.into();
        match self {
            _ if memory_lines == 0 => {
                Err("the memory is too small to explain a read: it has fewer than two lines of counters".to_owned())
            }
            Lines::At(address) => match length.line_of(PhysAddr(address)) {
                line if line.0 < memory_lines => Ok(vec![line]),
                _ => Err(format!(
                    "address {address:#x} is outside the memory's data: expected one below {:#x}, the end of the data",
                    length.start_of(LineAddr(memory_lines)).0
                )),
            },
            Lines::Sample { lines: 0, .. } => Err("the sample has 0 lines: expected 1 or more".to_owned()),
            Lines::Sample { lines, seed } => {
                let mut random = Random::for_purpose(seed, PURPOSE);
                Ok((0..lines).map(|_| LineAddr(random.below(memory_lines))).collect())
            }
        }
    }

    /// The measurement with the median latency among those with the fewest clashes, and the spread of all latencies. If
    /// several measurements have the median latency, the function returns the first of them. `key` returns the number
    /// of clashes and the latency of a measurement.
    ///
    /// # Panics
    /// If there are no measurements.
    pub(super) fn median<T>(self, mut read: Vec<T>, key: impl Fn(&T) -> (usize, Duration)) -> (T, Option<Spread>) {
        read.sort_by_key(|reading| key(reading).1);
        let latencies: Vec<u64> = read.iter().map(|reading| key(reading).1.as_fs()).collect();
        let clashes = read.iter().map(|reading| key(reading).0).min().unwrap_or_default();
        read.retain(|reading| key(reading).0 == clashes);
        let spread = match self {
            Lines::At(_) => None,
            Lines::Sample { lines, seed } => {
                let at = |percent| latencies[rank(latencies.len(), percent)];
                let (shortest_fs, p5_fs, p50_fs, p95_fs, longest_fs) = (at(0), at(5), at(50), at(95), at(100));
                let (typical, clashes) = (read.len() as u32, clashes as u32);
                Some(Spread { lines, typical, clashes, seed, shortest_fs, p5_fs, p50_fs, p95_fs, longest_fs })
            }
        };
        let median = key(&read[rank(read.len(), 50)]).1;
        let first = read.partition_point(|reading| key(reading).1 < median);
        (read.swap_remove(first), spread)
    }
}

/// Index of a percentile among `count` sorted values (nearest rank).
fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lines: u32, seed: u64) -> Lines {
        Lines::Sample { lines, seed }
    }

    fn spread_of(latencies: &[u64]) -> (u64, Spread) {
        let read = latencies.iter().map(|fs| Duration::from_fs(*fs)).collect();
        let (median, spread) = sample(latencies.len() as u32, 1).median(read, |latency| (0, *latency));
        (median.as_fs(), spread.unwrap())
    }

    #[test]
    fn latency_percentiles_of_explain_are_elements_of_the_sample() {
        let shuffled: Vec<u64> = (1..=999).map(|n| n * 7 % 1000).collect();
        let (median, spread) = spread_of(&shuffled);
        assert_eq!(
            (spread.shortest_fs, spread.p5_fs, median, spread.p95_fs, spread.longest_fs),
            (1, 50, 500, 950, 999)
        );
        let (median, spread) = spread_of(&[7]);
        assert_eq!((spread.p5_fs, median, spread.p95_fs), (7, 7, 7));
        assert_eq!(spread_of(&[4, 3, 2, 1]).0, 2);
    }

    #[test]
    fn explain_reports_the_first_sampled_line_with_the_median_latency() {
        let read = vec![(5, 'a'), (3, 'b'), (3, 'c'), (1, 'd'), (3, 'e')];
        let ((_, name), _) = sample(5, 1).median(read, |(fs, _)| (0, Duration::from_fs(*fs)));
        assert_eq!(name, 'b');
    }

    #[test]
    fn explain_chooses_the_median_of_the_lines_whose_rows_share_the_fewest_banks() {
        let read = vec![(2, 1, 'a'), (1, 9, 'b'), (1, 7, 'c'), (3, 2, 'd'), (1, 8, 'e')];
        let ((_, _, name), spread) = sample(5, 1).median(read, |(pairs, fs, _)| (*pairs, Duration::from_fs(*fs)));
        let spread = spread.unwrap();
        assert_eq!((name, spread.typical, spread.clashes), ('e', 3, 1));
        let of_all = (spread.shortest_fs, spread.p50_fs, spread.longest_fs);
        assert_eq!(of_all, (1, 7, 9), "the percentiles are those of all lines");
    }

    #[test]
    fn the_lines_that_explain_samples_depend_only_on_the_seed_and_cover_the_whole_memory() {
        let drawn = sample(999, 7).targets(1 << 20).unwrap();
        assert_eq!(drawn, sample(999, 7).targets(1 << 20).unwrap());
        assert_ne!(drawn, sample(999, 8).targets(1 << 20).unwrap());
        let quarter = |line: &LineAddr| line.0 >> 18;
        for number in 0..4 {
            let lines = drawn.iter().filter(|line| quarter(line) == number).count();
            assert!((200..300).contains(&lines), "{lines} in quarter {number}");
        }
    }

    #[test]
    fn an_address_outside_the_memory_and_an_empty_sample_are_refused() {
        assert_eq!(Lines::At(64 * 9 + 63).targets(10), Ok(vec![LineAddr(9)]));
        assert!(Lines::At(640).targets(10).unwrap_err().contains("expected one below 0x280"));
        assert!(sample(0, 1).targets(10).unwrap_err().contains("expected 1 or more"));
        assert!(sample(1, 1).targets(0).is_err());
    }
}
