//! SC-64: split counters, sixty-four to a line (Yan et al., ISCA 2006; the leaf of Rogers et al., MICRO 2007).
//!
//! ```text
//! bit 0        64            71            78                      512
//!     | major  | minor 0     | minor 1     | ...       | minor 63  |
//!     | 64 bit | 7 bit       | 7 bit       |           | 7 bit     |
//! ```
//! Two layouts are called SC-64 in the literature. This is the one with 7-bit minors and the tags elsewhere; the other
//! has 6-bit minors and a 64-bit MAC in the same line.
//!
//! A minor counter that would pass 127 overflows: the major moves on, all minors return to zero, and the page is
//! re-encrypted. The pair (major, minor) of a line thus never comes back.

use super::{Counter, Overflow};
use crate::planted::{Bug, Planted};
use units::Line;

/// Lines that one line of counters serves.
pub(super) const LINES: u64 = 64;
const MINOR_BITS: usize = 7;
const MINOR_MAX: u8 = (1 << MINOR_BITS) - 1;
const MAJOR_BYTES: usize = 8;

fn major(counters: &Line) -> u64 {
    let mut bytes = [0; MAJOR_BYTES];
    bytes.copy_from_slice(&counters[..MAJOR_BYTES]);
    u64::from_le_bytes(bytes)
}

/// The byte that a minor counter starts in, and the bit within it.
fn place(position: usize) -> (usize, usize) {
    let bit = position * MINOR_BITS;
    (MAJOR_BYTES + bit / 8, bit % 8)
}

fn minor(counters: &Line, position: usize) -> u8 {
    let (byte, shift) = place(position);
    let next = counters.get(byte + 1).copied().unwrap_or(0);
    (u16::from_le_bytes([counters[byte], next]) >> shift) as u8 & MINOR_MAX
}

fn set_minor(counters: &mut Line, position: usize, value: u8) {
    let (byte, shift) = place(position);
    let next = counters.get(byte + 1).copied().unwrap_or(0);
    let cleared = u16::from_le_bytes([counters[byte], next]) & !(u16::from(MINOR_MAX) << shift);
    let [low, high] = (cleared | u16::from(value) << shift).to_le_bytes();
    counters[byte] = low;
    if let Some(next) = counters.get_mut(byte + 1) {
        *next = high;
    }
}

pub(super) fn read(counters: &Line, position: usize) -> Counter {
    Counter { major: major(counters), minor: minor(counters, position) }
}

pub(super) fn advance(counters: &mut Line, position: usize, planted: Planted) -> Result<Counter, Overflow> {
    let next = match minor(counters, position) {
        MINOR_MAX if planted.has(Bug::MinorWraps) => 0,
        MINOR_MAX => return Err(Overflow),
        minor => minor + 1,
    };
    set_minor(counters, position, next);
    Ok(read(counters, position))
}

pub(super) fn renew(counters: &Line, planted: Planted) -> Line {
    let step = u64::from(!planted.has(Bug::MajorStandsStill));
    let mut renewed = if planted.has(Bug::MinorsNotReset) { *counters } else { [0; 64] };
    // A 64-bit major moved on by page overflows, each of which takes at least 128 writes, does not end in this universe.
    renewed[..MAJOR_BYTES].copy_from_slice(&(major(counters) + step).to_le_bytes());
    renewed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_minor_counter_lasts_127_writes_and_not_one_more() {
        let mut counters = [0; 64];
        for write in 1..=127 {
            assert_eq!(advance(&mut counters, 63, Planted::NONE), Ok(Counter { major: 0, minor: write }));
        }
        let full = counters;
        assert_eq!(advance(&mut counters, 63, Planted::NONE), Err(Overflow));
        assert_eq!(counters, full, "an overflow changes nothing by itself");
        assert_eq!(read(&renew(&counters, Planted::NONE), 63), Counter { major: 1, minor: 0 });
    }

    proptest! {
        #[test]
        fn packed_counters_behave_as_plain_wide_ones(writes in proptest::collection::vec(0usize..64, 0..2_000)) {
            let mut packed = [0; 64];
            let mut plain = [(0u64, 0u8); 64];
            let mut seen = std::collections::HashSet::new();
            for position in writes {
                // Few positions, so that overflows come.
                let position = position % 5 * 15;
                match advance(&mut packed, position, Planted::NONE) {
                    Ok(_) => plain[position].1 += 1,
                    Err(Overflow) => {
                        prop_assert_eq!(plain[position].1, 127);
                        packed = renew(&packed, Planted::NONE);
                        plain.iter_mut().for_each(|counter| *counter = (counter.0 + 1, 0));
                    }
                }
                let value = read(&packed, position);
                prop_assert!(seen.insert((position, value)), "a counter came back");
                for (position, &(major, minor)) in plain.iter().enumerate() {
                    prop_assert_eq!(read(&packed, position), Counter { major, minor });
                }
            }
        }
    }
}
