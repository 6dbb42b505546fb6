//! The sample of lines that are measured when an access is explained, and the percentiles of their latencies.
//!
//! The explained line has the median latency of all lines. Under several designs, its latencies are
//! together nearest to the medians of the designs, so all timelines show the same line.
//!
//! With `no_conflict`, only those lines count for which the requested state of DRAM rows holds for all fetches: no fetch
//! finds a row that the access itself has opened. In deep trees, each line has such fetches; then the lines with the
//! fewest count.
//!
//! The lines are drawn evenly from all of the memory. The draws depend only on the seed and the size of the memory, so
//! all designs are measured on the same lines. The exception is a design with incomplete last counter lines: its
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
        /// True to explain the median of only those lines with the fewest clashes; false for the median of all lines.
        #[serde(default)]
        no_conflict: bool,
    },
}

impl Default for Lines {
    /// 999 lines: a twentieth of them is about fifty lines.
    fn default() -> Lines {
        Lines::Sample { lines: 999, seed: 1, no_conflict: false }
    }
}

/// Measurement of one line under one design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LineLatency {
    pub latency: Duration,
    /// Number of pairs of fetched lines in different rows of the same bank.
    pub clashes: usize,
}

/// The line to explain, and the latencies of all measured lines.
pub(super) struct LineToExplain {
    /// Position of the line in the sample.
    pub line: usize,
    /// Percentiles of the latencies under each design; `None` if the user named the line.
    pub spreads: Vec<Option<Spread>>,
}

/// Percentiles of the latencies of a sample (nearest rank).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Spread {
    /// Number of lines that were measured.
    pub lines: u32,
    /// True if only lines with the fewest `clashes` could be explained.
    pub no_conflict: bool,
    /// Number of lines that could be explained: all of them, or with `no_conflict` those with the fewest clashes.
    pub typical: u32,
    /// Pairs of lines that the explained access fetches from different rows of the same bank: no state of the rows
    /// applies to both lines of a pair.
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
                Err("the memory is too small to explain a read: it has fewer than two counter lines".to_owned())
            }
            Lines::At(address) => match length.line_of(PhysAddr(address)) {
                line if line.0 < memory_lines => Ok(vec![line]),
                _ => Err(format!(
                    "address {address:#x} is outside the memory's data: expected one below {:#x}, the end of the data",
                    length.start_of(LineAddr(memory_lines)).0
                )),
            },
            Lines::Sample { lines: 0, .. } => Err("the sample has 0 lines: expected 1 or more".to_owned()),
            Lines::Sample { lines, seed, .. } => {
                let mut random = Random::for_purpose(seed, PURPOSE);
                Ok((0..lines).map(|_| LineAddr(random.below(memory_lines))).collect())
            }
        }
    }

    /// Selects the line to explain from the measurements of each line under each design. `designs[d][n]` belongs to the
    /// `n`th line under design `d`. If several lines are equally near to the medians, the function selects the first.
    ///
    /// # Panics
    /// If there are no measurements.
    pub(super) fn select(self, designs: &[Vec<LineLatency>]) -> LineToExplain {
        let mut candidates: Vec<usize> = (0..designs[0].len()).collect();
        if let Lines::Sample { no_conflict: true, .. } = self {
            let clashes = |line: &usize| designs.iter().map(|design| design[*line].clashes).sum::<usize>();
            let fewest = candidates.iter().map(clashes).min();
            candidates.retain(|line| Some(clashes(line)) == fewest);
        }
        let medians: Vec<u64> =
            designs.iter().map(|design| percentiles(candidates.iter().map(|line| design[*line]), [50])[0]).collect();
        let distance = |line: &usize| -> u64 {
            designs.iter().zip(&medians).map(|(design, median)| design[*line].latency.as_fs().abs_diff(*median)).sum()
        };
        let typical = candidates.len();
        let line = candidates.into_iter().min_by_key(distance).expect("a sample has at least one line");
        let spreads = designs.iter().map(|design| self.spread(design, line, typical)).collect();
        LineToExplain { line, spreads }
    }

    /// The percentiles of a sample under one design; `None` for a line that the user named.
    fn spread(self, design: &[LineLatency], line: usize, typical: usize) -> Option<Spread> {
        let Lines::Sample { lines, seed, no_conflict } = self else { return None };
        let [shortest_fs, p5_fs, p50_fs, p95_fs, longest_fs] = percentiles(design.iter().copied(), [0, 5, 50, 95, 100]);
        let (typical, clashes) = (typical as u32, design[line].clashes as u32);
        Some(Spread { lines, no_conflict, typical, clashes, seed, shortest_fs, p5_fs, p50_fs, p95_fs, longest_fs })
    }
}

/// Percentiles of the latencies of measurements, in femtoseconds.
fn percentiles<const N: usize>(measured: impl Iterator<Item = LineLatency>, percents: [usize; N]) -> [u64; N] {
    let mut latencies: Vec<u64> = measured.map(|each| each.latency.as_fs()).collect();
    latencies.sort_unstable();
    percents.map(|percent| latencies[rank(latencies.len(), percent)])
}

/// Index of a percentile among `count` sorted values (nearest rank).
fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lines: u32, seed: u64) -> Lines {
        Lines::Sample { lines, seed, no_conflict: false }
    }

    /// Measurements from pairs of clashes and latency.
    fn measured(pairs: &[(usize, u64)]) -> Vec<LineLatency> {
        pairs.iter().map(|(clashes, fs)| LineLatency { latency: Duration::from_fs(*fs), clashes: *clashes }).collect()
    }

    fn selected(designs: &[Vec<LineLatency>], no_conflict: bool) -> (usize, Vec<Spread>) {
        let lines = Lines::Sample { lines: designs[0].len() as u32, seed: 1, no_conflict };
        let LineToExplain { line, spreads } = lines.select(designs);
        (line, spreads.into_iter().flatten().collect())
    }

    #[test]
    fn latency_percentiles_of_explain_are_elements_of_the_sample() {
        let of = |latencies: &[u64]| {
            let design = measured(&latencies.iter().map(|fs| (0, *fs)).collect::<Vec<_>>());
            let (line, spreads) = selected(&[design], false);
            assert_eq!(latencies[line], spreads[0].p50_fs);
            spreads[0]
        };
        let shuffled: Vec<u64> = (1..=999).map(|n| n * 7 % 1000).collect();
        let spread = of(&shuffled);
        let of_all = (spread.shortest_fs, spread.p5_fs, spread.p50_fs, spread.p95_fs, spread.longest_fs);
        assert_eq!(of_all, (1, 50, 500, 950, 999));
        let spread = of(&[7]);
        assert_eq!((spread.p5_fs, spread.p50_fs, spread.p95_fs), (7, 7, 7));
        assert_eq!(of(&[4, 3, 2, 1]).p50_fs, 2);
    }

    #[test]
    fn explain_shows_the_first_sampled_line_with_the_median_latency_of_all() {
        let design = measured(&[(0, 5), (1, 3), (0, 3), (0, 1), (0, 3)]);
        let (line, spreads) = selected(&[design], false);
        assert_eq!((line, spreads[0].typical, spreads[0].clashes), (1, 5, 1));
    }

    #[test]
    fn without_conflicts_explain_shows_the_median_of_the_lines_whose_rows_share_the_fewest_banks() {
        let design = measured(&[(2, 1), (1, 9), (1, 7), (3, 2), (1, 8)]);
        let (line, spreads) = selected(&[design], true);
        assert_eq!((line, spreads[0].typical, spreads[0].clashes), (4, 3, 1));
        let of_all = (spreads[0].shortest_fs, spreads[0].p50_fs, spreads[0].longest_fs);
        assert_eq!(of_all, (1, 7, 9), "the percentiles are those of all lines");
    }

    #[test]
    fn explain_shows_two_designs_on_the_line_that_is_nearest_to_both_medians() {
        // The median lines are 2 under the first design and 0 under the second one.
        let first = measured(&[(0, 100), (1, 29), (0, 30), (0, 10), (0, 20)]);
        let second = measured(&[(0, 50), (0, 52), (0, 90), (0, 1), (0, 20)]);
        let both = [first, second];
        assert_eq!(selected(&both[..1], false).0, 1);
        assert_eq!(selected(&both[1..], false).0, 0);
        let (line, spreads) = selected(&both, false);
        assert_eq!(line, 1);
        assert_eq!([spreads[0].p50_fs, spreads[1].p50_fs], [29, 50]);
        assert_eq!([spreads[0].clashes, spreads[1].clashes], [1, 0]);
        assert_eq!(selected(&both, true).0, 4, "a line counts only if neither design has clashes");
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
