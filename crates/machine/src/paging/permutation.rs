//! A seeded order in which frames are allocated.

use units::random::{Random, mix};

/// A seeded permutation of `0..len`: a four-round Feistel network over the next even power of two. The network is
/// applied repeatedly until the result is below `len` (cycle walking).
pub(super) struct FeistelPermutation {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl FeistelPermutation {
    /// Creates a permutation of the numbers below `len`.
    pub fn new(len: u64, seed: u64) -> FeistelPermutation {
        let bits = (64 - len.saturating_sub(1).leading_zeros()).max(2);
        let mut random = Random::new(seed);
        FeistelPermutation { len, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| random.word()) }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number at this position.
    pub fn at(&self, index: u64) -> u64 {
        let mut value = self.round_trip(index);
        while value >= self.len {
            value = self.round_trip(value);
        }
        value
    }

    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}
