//! The observer: checks that memory returns what was put into it.
//!
//! It stands between the caches and whatever protects memory, and knows nothing of either. Of every line that goes down
//! it keeps a fingerprint; every line that comes up must have the same. It shares no code with any scheme.

use crate::sparse::Sparse;
use serde::Serialize;
use units::{Line, LineAddr};

/// What the observer has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ObserverCounters {
    /// Lines that came back and were compared.
    pub lines_checked: u64,
    /// Lines that came back other than they went.
    pub lines_wrong: u64,
}

/// Fingerprints of all lines in memory.
pub struct Observer {
    fingerprints: Sparse<u32>,
    counters: ObserverCounters,
}

impl Observer {
    /// Watches a memory of this many lines, of which it knows nothing yet.
    pub fn new(lines: u64) -> Observer {
        Observer { fingerprints: Sparse::new(lines), counters: ObserverCounters::default() }
    }

    /// A line goes down.
    pub fn put(&mut self, line: LineAddr, content: &Line) {
        *self.fingerprints.entry(line.0) = fingerprint(content);
    }

    /// A line comes up. A line that never went down is wrong, whatever it holds.
    pub fn check(&mut self, line: LineAddr, content: &Line) -> bool {
        let right = self.has(line, content) == Some(true);
        self.counters.lines_checked += 1;
        self.counters.lines_wrong += u64::from(!right);
        right
    }

    /// Whether the line that went down last was this, or nothing if none did.
    pub fn has(&self, line: LineAddr, content: &Line) -> Option<bool> {
        self.fingerprints.get(line.0).map(|kept| *kept == fingerprint(content))
    }

    /// Bytes of this process that the fingerprints take.
    pub fn footprint_bytes(&self) -> u64 {
        self.fingerprints.footprint_bytes()
    }

    /// What was seen so far.
    pub fn counters(&self) -> ObserverCounters {
        self.counters
    }
}

/// Eight independent multiply-and-fold steps, one for each word, under odd constants: any change of a line is missed with
/// probability about 2^-32. A longer fingerprint would cost a large program's footprint another sixteenth.
fn fingerprint(content: &Line) -> u32 {
    let mut digest = 0x243f_6a88_85a3_08d3u64;
    for (index, bytes) in content.chunks_exact(8).enumerate() {
        let word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let factor = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(2 * index as u64 + 1) | 1;
        let product = u128::from(word ^ factor) * u128::from(factor ^ 0xa076_1d64_78bd_642f);
        digest = digest.rotate_left(23) ^ product as u64 ^ (product >> 64) as u64;
    }
    (digest ^ digest >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_line_is_noticed() {
        let mut observer = Observer::new(10);
        let content: Line = std::array::from_fn(|byte| byte as u8 * 3);
        observer.put(LineAddr(3), &content);
        assert!(observer.check(LineAddr(3), &content));
        for bit in 0..512 {
            let mut flipped = content;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!observer.check(LineAddr(3), &flipped), "bit {bit}");
        }
        assert_eq!(observer.counters(), ObserverCounters { lines_checked: 513, lines_wrong: 512 });
    }

    #[test]
    fn a_line_that_never_went_down_is_wrong() {
        assert!(!Observer::new(10).check(LineAddr(3), &[0; 64]));
    }
}
