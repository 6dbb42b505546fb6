//! The observer: checks that memory returns the content that was written to it.
//!
//! The observer is placed between the caches and the protection engine, and is independent of both. It computes a
//! fingerprint of every line that is written to memory; every line that is read must have the fingerprint of its latest
//! write. It shares no code with any scheme.
//!
//! The owner of the observer stores each fingerprint next to its other data of the line, so that both are close in the
//! memory of the host.

use serde::Serialize;
use std::num::NonZeroU32;
use units::Line;

/// Number of comparisons and mismatches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ObserverCounts {
    /// Lines that were read and compared.
    pub lines_checked: u64,
    /// Lines that were read with a content other than the written content.
    pub lines_wrong: u64,
}

/// Fingerprint of a line that was written to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(NonZeroU32);

impl Fingerprint {
    /// Computes eight independent multiply-and-fold steps, one for each word with a separate constant: a change of a
    /// line remains undetected with a probability of about 2^-32. A longer fingerprint would increase the footprint of
    /// a large program by another sixteenth.
    pub fn of(content: &Line) -> Fingerprint {
        let mut digest = 0x243f_6a88_85a3_08d3u64;
        for (index, bytes) in content.chunks_exact(8).enumerate() {
            let word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let factor = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(2 * index as u64 + 1) | 1;
            let product = u128::from(word ^ factor) * u128::from(factor ^ 0xa076_1d64_78bd_642f);
            digest = digest.rotate_left(23) ^ product as u64 ^ (product >> 64) as u64;
        }
        Fingerprint(NonZeroU32::new((digest ^ digest >> 32) as u32).unwrap_or(NonZeroU32::MAX))
    }
}

/// Compares lines read from memory with the lines that were written.
#[derive(Default)]
pub struct Observer {
    counts: ObserverCounts,
}

impl Observer {
    /// Checks a line read from memory against its fingerprint at its last write. A line that was never written counts
    /// as wrong, whatever its content.
    pub fn check(&mut self, went_down: Option<Fingerprint>, content: &Line) -> bool {
        let right = went_down == Some(Fingerprint::of(content));
        self.counts.lines_checked += 1;
        self.counts.lines_wrong += u64::from(!right);
        right
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> ObserverCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn the_observer_notices_every_flipped_bit_of_a_line() {
        let mut observer = Observer::default();
        let content: Line = std::array::from_fn(|byte| byte as u8 * 3);
        let went_down = Some(Fingerprint::of(&content));
        assert!(observer.check(went_down, &content));
        for bit in 0..512 {
            let mut flipped = content;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!observer.check(went_down, &flipped), "bit {bit}");
        }
        assert_eq!(observer.counts(), ObserverCounts { lines_checked: 513, lines_wrong: 512 });
    }

    #[test]
    fn the_observer_accepts_none_of_200000_random_contents_for_a_line() {
        let mut observer = Observer::default();
        let mut random = Random::new(1);
        let went_down = Some(Fingerprint::of(&random.line()));
        // One of these fingerprints has the same low 16 bits with a probability of 95 %.
        assert!((0..200_000).all(|_| !observer.check(went_down, &random.line())));
    }

    #[test]
    fn the_observer_counts_a_read_of_a_never_written_line_as_wrong() {
        assert!(!Observer::default().check(None, &[0; 64]));
    }
}
