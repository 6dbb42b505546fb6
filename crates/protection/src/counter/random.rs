//! Random values: eight to a counter line. The first write of a line draws its value, and each later write adds one.
//! Source: Shi and Lee, Computing Frontiers 2007, section 2.1: a "64-bit random initial value" in the nonce of each
//! line.
//!
//! ```text
//! bit 0       64                               512
//!     | value | value | ... | value 7 |
//!     | 64 bit| 64 bit|     | 64 bit  |
//! ```
//! The value of a line that was never written is zero. A drawn value has 63 bits and is not zero, so that at least 2^63
//! writes can follow. These writes would take hundreds of years, according to the paper. Values share no bits, so they
//! are never renewed, and the line has no room for a MAC.

use super::{Age, Increment, WRITES_LEFT, bits};
use crate::planted::{Bug, PlantedBug};
use units::{Line, ZERO_LINE};

pub(super) const POSITIONS: usize = 8;
const VALUE_BITS: u32 = 64;
/// A drawn value leaves the top bit free for later writes.
const DRAWN_BITS: u32 = 63;

pub(super) fn read(line: &Line, position: usize) -> u128 {
    value(line, position).into()
}

fn value(line: &Line, position: usize) -> u64 {
    bits::get(line, position * VALUE_BITS as usize, VALUE_BITS)
}

/// Result of one more write of a value, if `drawn` is its random start.
pub(super) fn next(line: &Line, position: usize, drawn: u64, planted: PlantedBug) -> Increment {
    let next = match value(line, position) {
        0 => (drawn & bits::max(DRAWN_BITS)).max(1),
        u64::MAX if !planted.has(Bug::ExhaustedWraps) => return Increment::Exhausted,
        value => value.wrapping_add(1),
    };
    let mut line = *line;
    bits::set(&mut line, position * VALUE_BITS as usize, VALUE_BITS, next);
    Increment::Advanced(line)
}

pub(super) fn aged(age: Age) -> Line {
    let mut line = ZERO_LINE;
    if age == Age::BeforeExhaustion {
        for position in 0..POSITIONS {
            bits::set(&mut line, position * VALUE_BITS as usize, VALUE_BITS, u64::MAX - WRITES_LEFT);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::{CounterOrganisation, Counters, Overflow};
    use units::random::Random;

    #[test]
    fn fvs_rule_2_a_counter_is_drawn_at_the_first_write_and_incremented_by_later_writes() {
        let counters = Counters::new(CounterOrganisation::Random, PlantedBug::NONE);
        let (mut line, mut plain, mut random) = (ZERO_LINE, [0_u64; POSITIONS], Random::new(9));
        let mut draws = 0;
        for write in 0..20_000 {
            let (position, drawn) = (random.below(8) as usize, random.word());
            plain[position] = if plain[position] == 0 { drawn << 1 >> 1 } else { plain[position] + 1 };
            let found = counters.advance_drawing(&mut line, position, || {
                draws += 1;
                drawn
            });
            assert_eq!(found.unwrap().0, u128::from(plain[position]), "write {write}");
            assert!((0..POSITIONS).all(|position| read(&line, position) == u128::from(plain[position])));
        }
        assert_eq!(draws, POSITIONS);
    }

    #[test]
    fn a_randomly_drawn_counter_is_never_zero_and_is_exhausted_at_its_full_width() {
        let counters = Counters::new(CounterOrganisation::Random, PlantedBug::NONE);
        for drawn in [0, 1 << 63] {
            assert_eq!(counters.advance_drawing(&mut ZERO_LINE.clone(), 3, || drawn).unwrap().0, 1);
        }
        let mut old = counters.aged(Age::BeforeExhaustion);
        for _ in 0..WRITES_LEFT {
            assert!(counters.advance(&mut old, 5).is_ok());
        }
        assert_eq!(counters.advance(&mut old, 5), Err(Overflow::Exhausted));
        assert_eq!(read(&old, 5), u128::from(u64::MAX));
        assert_eq!(read(&old, 4), u128::from(u64::MAX - WRITES_LEFT));
    }
}
