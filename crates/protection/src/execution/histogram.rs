//! Histogram of latencies, from which any percentile can be estimated.
//!
//! An octave has thirty-two buckets. The latencies of a bucket count as evenly spread over it. So the estimate of a
//! percentile between a nanosecond and a millisecond is within 3.2 % of the latency, and far closer if the bucket has
//! many different latencies. The first bucket begins at zero, and the last also counts all longer latencies: their
//! estimates have no such limit.

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use std::ops::{AddAssign, Sub};
use units::Duration;

/// Number of buckets of an octave.
const SHARES: usize = 32;
/// The first octave begins with two to this power of femtoseconds: about a nanosecond. Shorter latencies are in its
/// first bucket.
const FIRST_OCTAVE: u32 = 20;
/// Buckets from a nanosecond to a millisecond; longer latencies are in the last bucket.
const BUCKETS: usize = 20 * SHARES;

/// Number of latencies in each bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Histogram([u64; BUCKETS]);

impl Histogram {
    /// Adds a latency to its bucket.
    #[inline]
    pub fn add(&mut self, latency: Duration) {
        self.0[Histogram::bucket(latency.as_fs())] += 1;
    }

    #[inline]
    fn bucket(fs: u64) -> usize {
        let octave = fs.max(1).ilog2();
        if octave < FIRST_OCTAVE {
            return 0;
        }
        let share = (fs >> (octave - SHARES.ilog2())) as usize % SHARES;
        ((octave - FIRST_OCTAVE) as usize * SHARES + share).min(BUCKETS - 1)
    }

    /// Returns the start of a bucket, in femtoseconds.
    fn start(bucket: usize) -> u64 {
        bucket.checked_sub(1).map_or(0, Histogram::end)
    }

    /// Returns the end of a bucket, in femtoseconds.
    fn end(bucket: usize) -> u64 {
        let octave = FIRST_OCTAVE + (bucket / SHARES) as u32;
        (1 << octave) + ((bucket % SHARES) as u64 + 1) * (1 << (octave - SHARES.ilog2()))
    }

    /// Returns the latency that `permille` of a thousand latencies do not exceed; `None` if the histogram is empty. Each of
    /// the `n` latencies of a bucket counts as the middle of another `n`-th of the bucket.
    pub fn permille(&self, permille: u64) -> Option<Duration> {
        let all: u64 = self.0.iter().sum();
        let wanted = (u128::from(all) * u128::from(permille)).div_ceil(1000).max(1) as u64;
        let mut shorter = 0;
        let (bucket, count) = self.0.iter().enumerate().find(|(_, count)| {
            let is_here = shorter + **count >= wanted;
            shorter += if is_here { 0 } else { **count };
            is_here
        })?;
        let (start, end) = (Histogram::start(bucket), Histogram::end(bucket));
        let middle = u128::from(2 * (wanted - shorter) - 1) * u128::from(end - start) / (2 * u128::from(*count));
        Some(Duration::from_fs(start + middle as u64))
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; BUCKETS])
    }
}

impl AddAssign for Histogram {
    fn add_assign(&mut self, other: Histogram) {
        self.0.iter_mut().zip(other.0).for_each(|(here, there)| *here += there);
    }
}

impl Sub for Histogram {
    type Output = Histogram;

    fn sub(self, other: Histogram) -> Histogram {
        Histogram(std::array::from_fn(|bucket| self.0[bucket] - other.0[bucket]))
    }
}

impl Serialize for Histogram {
    /// Serializes buckets that are not empty, each as its end in femtoseconds and its count.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (bucket, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            list.serialize_element(&(Histogram::end(bucket), count))?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn a_latency_percentile_of_the_histogram_is_within_one_thirty_second() {
        let mut random = Random::new(3);
        for _ in 0..50 {
            let one = |random: &mut Random| {
                let most = 1 << (21 + random.below(18));
                1_100_000 + random.below(most)
            };
            let mut latencies: Vec<u64> = (0..1 + random.below(300)).map(|_| one(&mut random)).collect();
            let mut histogram = Histogram::default();
            latencies.iter().for_each(|latency| histogram.add(Duration::from_fs(*latency)));
            latencies.sort_unstable();
            for permille in [1, 500, 990, 1000] {
                let exact = latencies[(latencies.len() * permille).div_ceil(1000) - 1];
                let found = histogram.permille(permille as u64).unwrap().as_fs();
                assert!(found.abs_diff(exact) <= exact / 32 + 1, "{permille}: {found} for {exact}");
            }
        }
    }

    #[test]
    fn a_latency_percentile_of_many_different_latencies_is_interpolated_within_the_bucket() {
        let (mut random, mut histogram) = (Random::new(4), Histogram::default());
        let mut latencies: Vec<u64> = (0..100_000).map(|_| 50_000_000 + random.below(150_000_000)).collect();
        latencies.iter().for_each(|latency| histogram.add(Duration::from_fs(*latency)));
        latencies.sort_unstable();
        let found = [100, 500, 900].map(|permille| histogram.permille(permille as u64).unwrap().as_fs());
        let exact = [100, 500, 900].map(|permille| latencies[latencies.len() * permille / 1000 - 1]);
        for (found, exact) in found.into_iter().zip(exact) {
            assert!(found.abs_diff(exact) < exact / 500, "{found} for {exact}");
        }
    }

    #[test]
    fn the_buckets_of_the_latency_histogram_are_contiguous() {
        for bucket in 0..BUCKETS - 1 {
            let end = Histogram::end(bucket);
            assert_eq!((Histogram::bucket(end - 1), Histogram::bucket(end)), (bucket, bucket + 1));
        }
        assert_eq!([0, 1, 1 << 19, u64::MAX].map(Histogram::bucket), [0, 0, 0, BUCKETS - 1]);
        assert_eq!(Histogram::default().permille(500), None);
    }

    #[test]
    fn subtracting_an_earlier_latency_histogram_leaves_only_the_later_entries() {
        let (mut before, mut both) = (Histogram::default(), Histogram::default());
        before.add(Duration::from_ns(10));
        both += before;
        both.add(Duration::from_ns(50));
        let mut after = Histogram::default();
        after.add(Duration::from_ns(50));
        assert_eq!(both - before, after);
    }
}
