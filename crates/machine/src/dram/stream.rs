//! Seeded request streams, and measurements of a channel with them.
//!
//! Public DRAM simulators were measured with the same streams, with identical random draws, so their latencies and
//! bandwidths can be compared with ours directly. Requests are offered in order, at most one per clock, at times that
//! do not depend on earlier answers. A refused request waits at the head of its stream. Latency is the time from
//! acceptance to the last data.

use super::{Completion, Dram, DramConfig, Kind};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::random::Random;
use units::{Clock, Cycles, LINE_BYTES, LineAddr, Time};

/// Access pattern of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Reads of lines drawn from 8 GB.
    RandomReads,
    /// Reads of one line after the other.
    SequentialReads,
    /// Random lines, two reads for each write on average.
    RandomReadsAndWrites,
    /// Reads of a different row of the same bank each time, under the row-bank-group-column map.
    RowConflicts,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pattern::RandomReads => "random reads",
            Pattern::SequentialReads => "sequential reads",
            Pattern::RandomReadsAndWrites => "random, 2 reads : 1 write",
            Pattern::RowConflicts => "row conflicts",
        })
    }
}

/// A request of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamRequest {
    /// The memory clock at which it is first offered.
    pub arrival: u64,
    /// Requested line of memory.
    pub line: LineAddr,
    /// Read or write request.
    pub kind: Kind,
}

/// An endless stream of requests.
#[derive(Clone, Debug)]
pub struct Stream {
    pattern: Pattern,
    mean_gap: u64,
    number: u64,
    arrival: u64,
    addresses: Random,
    gaps: Random,
    writes: Random,
}

impl Stream {
    /// Creates a stream of requests that arrive `mean_gap` clocks apart on average, with gaps drawn uniformly between 0
    /// and twice `mean_gap`.
    pub fn new(pattern: Pattern, mean_gap: u64) -> Stream {
        let [addresses, gaps, writes] = [Random::new(1), Random::new(2), Random::new(3)];
        Stream { pattern, mean_gap, number: 0, arrival: 0, addresses, gaps, writes }
    }
}

impl Iterator for Stream {
    type Item = StreamRequest;

    /// Every request takes one draw from each generator, so all patterns have the same arrival times.
    fn next(&mut self) -> Option<StreamRequest> {
        let number = self.number;
        let [address, gap, write] = [self.addresses.word(), self.gaps.word(), self.writes.word()];
        self.number += 1;
        self.arrival += gap % (2 * self.mean_gap + 1);
        let line = match self.pattern {
            Pattern::RandomReads | Pattern::RandomReadsAndWrites => address & ((1 << 27) - 1),
            Pattern::SequentialReads => number,
            Pattern::RowConflicts => ((number & 0xffff) << 11) | ((number >> 16) & 127),
        };
        let is_write = self.pattern == Pattern::RandomReadsAndWrites && write % 3 == 0;
        let kind = if is_write { Kind::Write } else { Kind::Read };
        Some(StreamRequest { arrival: self.arrival, line: LineAddr(line), kind })
    }
}

/// Measurements of a channel with a stream. Latencies are in memory clocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Mean latency of reads.
    pub mean: f64,
    /// The latency that 99 % of the reads do not exceed.
    pub p99: u64,
    /// The longest read latency.
    pub max: u64,
    /// Achieved bandwidth of reads and writes together, in GB/s.
    pub bandwidth: f64,
    /// Fraction of the requests that needed no separate activate.
    pub row_hit_rate: f64,
}

/// Offers `requests` requests of a stream to a channel and measures it.
///
/// # Panics
/// If the configuration does not pass [`DramConfig::check`].
pub fn measure(config: &DramConfig, stream: Stream, requests: usize) -> Measured {
    let clock = config.clock_mhz.clock();
    let edge = |clocks: u64| clock.start_of(Cycles(clocks));
    let mut dram = Dram::new(config.clone());
    let mut completions = Vec::new();
    let mut latencies = Latencies::new(clock);
    let mut now = 0;
    for (token, offered) in stream.take(requests).enumerate() {
        now = offered.arrival.max(now);
        let mut next_command = dram.advance(edge(now.saturating_sub(1)), &mut completions);
        while !dram.has_room(offered.kind)
            && let Some(next) = next_command
        {
            next_command = dram.advance(next, &mut completions);
            now = clock.cycle_at_or_after(next).0 + 1;
        }
        dram.submit(edge(now), offered.line, offered.kind, token as u32);
        latencies.collect(&mut completions);
        now += 1;
    }
    while let Some(next) = dram.advance(edge(now), &mut completions) {
        now = clock.cycle_at_or_after(next).0;
    }
    latencies.collect(&mut completions);
    let ns = edge(now).max(latencies.end).as_ns_f64();
    Measured {
        mean: latencies.mean(),
        p99: latencies.percentile(99),
        max: latencies.percentile(100),
        bandwidth: (requests * LINE_BYTES) as f64 / ns,
        row_hit_rate: 1.0 - dram.counts().activates as f64 / requests as f64,
    }
}

/// Number of reads with each latency, and the time of the last answer.
struct Latencies {
    clock: Clock,
    occurred: Vec<u64>,
    end: Time,
}

impl Latencies {
    fn new(clock: Clock) -> Latencies {
        Latencies { clock, occurred: Vec::new(), end: Time::ZERO }
    }

    fn collect(&mut self, completions: &mut Vec<Completion>) {
        for Completion { at, arrived, .. } in completions.drain(..) {
            let clocks = (at.since(arrived).as_fs() / self.clock.period().as_fs()) as usize;
            if self.occurred.len() <= clocks {
                self.occurred.resize(clocks + 1, 0);
            }
            self.occurred[clocks] += 1;
            self.end = self.end.max(at);
        }
    }

    fn mean(&self) -> f64 {
        let sum: u64 = (0..).zip(&self.occurred).map(|(clocks, count)| clocks * count).sum();
        sum as f64 / self.occurred.iter().sum::<u64>() as f64
    }

    /// Returns the smallest latency that this percentage of the reads do not exceed.
    fn percentile(&self, percentage: u64) -> u64 {
        let mut left = (self.occurred.iter().sum::<u64>() * percentage).div_ceil(100);
        let within = self.occurred.iter().position(|&count| {
            left = left.saturating_sub(count);
            left == 0
        });
        within.unwrap_or(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Frequency;

    #[test]
    fn a_random_dram_request_stream_begins_with_the_requests_of_the_reference() {
        let first: Vec<(u64, u64, Kind)> = Stream::new(Pattern::RandomReadsAndWrites, 20)
            .take(3)
            .map(|offered| (offered.arrival, offered.line.start().0, offered.kind))
            .collect();
        let expected = [(25, 1_083_650_112), (51, 5_968_173_504), (77, 3_432_339_328)];
        assert_eq!(first, expected.map(|(arrival, address)| (arrival, address, Kind::Write)));
    }

    #[test]
    fn the_first_1000_dram_requests_of_each_pattern_have_the_hash_of_the_reference() {
        for (pattern, check) in [
            (Pattern::RandomReads, 0x11b0_b80a_b614_2f97),
            (Pattern::SequentialReads, 0x38de_7f57_296b_5597),
            (Pattern::RandomReadsAndWrites, 0xee82_2b4f_4987_ca57),
            (Pattern::RowConflicts, 0xac95_4052_791d_2e97),
        ] {
            let mut hash = 0xcbf2_9ce4_8422_2325_u64;
            for StreamRequest { arrival, line, kind } in Stream::new(pattern, 20).take(1000) {
                for value in [arrival, line.start().0, kind as u64] {
                    hash = (hash ^ value).wrapping_mul(0x100_0000_01b3);
                }
            }
            assert_eq!(hash, check, "{pattern:?}");
        }
    }

    #[test]
    fn latency_percentiles_weight_each_latency_by_its_number_of_reads() {
        let mut latencies = Latencies::new(Frequency::from_mhz(1600).clock());
        latencies.occurred = vec![0; 101];
        latencies.occurred[10] = 99;
        latencies.occurred[100] = 1;
        assert_eq!((latencies.percentile(99), latencies.percentile(100)), (10, 100));
        assert_eq!(latencies.mean(), 10.9);
    }
}
