//! Numbers that look random and are the same on every run: splitmix64.

use units::Line;

/// A seeded stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`, which must not be zero. Its bias of at most `limit / 2^64` does not matter here.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// One of `items`, or nothing if there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len() as u64) as usize])
    }

    /// A line of random bytes: different from every other one but with negligible probability.
    pub fn line(&mut self) -> Line {
        let mut line = [0; units::LINE_BYTES];
        line.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.bits().to_le_bytes()));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_splitmix64() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }
}
