//! The only source of randomness: SplitMix64, so a seed gives the same run on every machine and in every version.
//!
//! Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

use crate::{LINE_BYTES, Line};

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: a bijection of 64-bit words that looks random.
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Maps a random word to a number below `limit`, without a division.
pub fn scale_below(word: u64, limit: u64) -> u64 {
    ((u128::from(word) * u128::from(limit)) >> 64) as u64
}

/// A stream of random words.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates the published generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Creates a separate stream for each purpose under one seed: neighbouring purposes are unrelated.
    pub fn for_purpose(seed: u64, purpose: u64) -> Random {
        Random { state: mix(mix(seed ^ GOLDEN_GAMMA) ^ purpose) }
    }

    /// Returns the next word.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// The next number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        scale_below(self.word(), limit)
    }

    /// The next number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns one of `items`, or `None` if the list is empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len() as u64) as usize])
    }

    /// A line of random bytes: different from every other one but with negligible probability.
    pub fn line(&mut self) -> Line {
        let mut line = [0; LINE_BYTES];
        line.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.word().to_le_bytes()));
        line
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_generator_gives_the_published_numbers() {
        let mut random = Random::new(1_234_567);
        assert_eq!([random.word(), random.word()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn a_random_shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..1000).collect();
        Random::new(7).shuffle(&mut items);
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1000));
    }
}
