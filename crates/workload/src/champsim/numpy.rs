//! NumPy's default generator: reproduces traces that a NumPy script made, bit for bit.
//!
//! PCG64 (O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for random number
//! generation", 2014; variant XSL-RR 128/64), seeded as NumPy's `SeedSequence` does. A caller can advance a generator
//! by any number of steps at once, and so read several parts of one stream in parallel.

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// Generator that `numpy.random.default_rng(seed)` returns.
#[derive(Clone, Debug)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// Upper half of a word, if only its lower half was returned.
    half: Option<u32>,
}

impl Pcg64 {
    /// Returns a generator with a 32-bit seed.
    pub fn new(seed: u32) -> Pcg64 {
        let words = seed_words(seed);
        let wide = |at: usize| u128::from(words[at]) << 64 | u128::from(words[at + 1]);
        let mut generator = Pcg64 { state: 0, increment: wide(2) << 1 | 1, half: None };
        generator.step();
        generator.state = generator.state.wrapping_add(wide(0));
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// Returns the generator after `words` more words.
    pub fn advanced(&self, mut words: u64) -> Pcg64 {
        let (mut factor, mut term) = (1u128, 0u128);
        let (mut multiplier, mut increment) = (MULTIPLIER, self.increment);
        while words > 0 {
            if words & 1 == 1 {
                factor = factor.wrapping_mul(multiplier);
                term = term.wrapping_mul(multiplier).wrapping_add(increment);
            }
            increment = multiplier.wrapping_add(1).wrapping_mul(increment);
            multiplier = multiplier.wrapping_mul(multiplier);
            words >>= 1;
        }
        let state = self.state.wrapping_mul(factor).wrapping_add(term);
        Pcg64 { state, increment: self.increment, half: None }
    }

    /// Returns the next 64-bit word.
    pub fn word(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// Returns the next half word; the lower half of a word precedes the upper.
    pub fn half_word(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.word();
        self.half = Some((word >> 32) as u32);
        word as u32
    }

    /// Returns the next number of `random()`, in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns the next number of `integers(0, limit)` for a limit below 2^32, by Lemire's method.
    pub fn below(&mut self, limit: u32) -> u32 {
        let mut product = u64::from(self.half_word()) * u64::from(limit);
        if (product as u32) < limit {
            let threshold = limit.wrapping_neg() % limit;
            while (product as u32) < threshold {
                product = u64::from(self.half_word()) * u64::from(limit);
            }
        }
        (product >> 32) as u32
    }

    /// Returns `permutation(count)`. Unlike `integers`, it masks half words and rejects results that are too large.
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for last in (1..count).rev() {
            let mask = u32::MAX >> last.leading_zeros();
            let other = loop {
                let candidate = self.half_word() & mask;
                if candidate <= last {
                    break candidate;
                }
            };
            order.swap(last as usize, other as usize);
        }
        order
    }
}

/// Returns the words of `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_words(seed: u32) -> [u64; 4] {
    let mut constant = 0x43b0_d7e5u32;
    let mut hash = |value: u32| {
        let value = value ^ constant;
        constant = constant.wrapping_mul(0x931e_8875);
        let value = value.wrapping_mul(constant);
        value ^ value >> 16
    };
    let mut pool = [seed, 0, 0, 0].map(&mut hash);
    for source in 0..pool.len() {
        for target in 0..pool.len() {
            if source != target {
                let mixed =
                    pool[target].wrapping_mul(0xca01_f9dd).wrapping_sub(hash(pool[source]).wrapping_mul(0x4973_f715));
                pool[target] = mixed ^ mixed >> 16;
            }
        }
    }
    let mut constant = 0x8b51_f9ddu32;
    let halves: [u64; 8] = std::array::from_fn(|index| {
        let value = pool[index % pool.len()] ^ constant;
        constant = constant.wrapping_mul(0x58f3_8ded);
        let value = value.wrapping_mul(constant);
        u64::from(value ^ value >> 16)
    });
    std::array::from_fn(|index| halves[2 * index] | halves[2 * index + 1] << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the numbers of `default_rng(1)` in NumPy 2.
    #[test]
    fn the_pcg64_generator_gives_the_numbers_of_numpy() {
        let mut generator = Pcg64::new(1);
        let units: Vec<f64> = (0..3).map(|_| generator.unit()).collect();
        assert_eq!(units, [0.511_821_624_700_256_7, 0.950_463_696_325_935_3, 0.144_159_612_719_633_73]);
        assert_eq!(Pcg64::new(1).permutation(8), PERMUTATION);
    }

    const PERMUTATION: [u32; 8] = [5, 0, 1, 4, 2, 6, 3, 7];

    #[test]
    fn advancing_the_generator_equals_drawing_n_numbers() {
        let mut drawn = Pcg64::new(7);
        for _ in 0..1000 {
            drawn.word();
        }
        assert_eq!(Pcg64::new(7).advanced(1000).word(), drawn.word());
    }
}
