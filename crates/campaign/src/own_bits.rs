//! Bits of a counter line that encode the version of one line: an attacker flips them to change this line's version.
//!
//! The organisation of counters is public. It is implemented here a second time, so that an attacker does not aim with the
//! arithmetic of the scheme. Bit `n` is bit `n % 8` of byte `n / 8`.

use protection::counter::CounterOrganisation;
use std::iter::once;
use std::ops::Range;
use units::Line;

/// Width of a major counter and of random values, in bits.
const WORD: usize = 64;
/// Width of an effective counter, in bits. A wide minor counter reduces its major counter accordingly.
const EFFECTIVE: usize = 72;

/// Returns the bits of a counter line that encode the version at a position; empty without counters.
pub fn of(organisation: CounterOrganisation, counters: &Line, position: usize) -> Vec<usize> {
    let field = |start: usize, width: usize| start..start + width;
    match organisation {
        CounterOrganisation::None => Vec::new(),
        CounterOrganisation::Monolithic => field(56 * position, 56).collect(),
        CounterOrganisation::Random => field(WORD * position, WORD).collect(),
        CounterOrganisation::Page => field(0, WORD).chain(once(448 + position)).collect(),
        CounterOrganisation::Split(split) => {
            let minor = split.minor_bits() as usize;
            field(0, WORD.min(EFFECTIVE - minor)).chain(field(WORD + minor * position, minor)).collect()
        }
        CounterOrganisation::Morphable if number(counters, 0..1) == 1 => {
            let base = 50 + 7 * (position / 64);
            field(1, 49).chain(field(base, 7)).chain(field(64 + 3 * position, 3)).collect()
        }
        CounterOrganisation::Morphable => {
            let is_used = |position: &usize| number(counters, field(64 + position, 1)) == 1;
            let (size, before) = (number(counters, 1..7), (0..position).filter(is_used).count());
            let minor = field(192 + size * before, size);
            let minor = Some(minor).filter(|minor| is_used(&position) && minor.end <= 448);
            field(7, 57).chain(minor.unwrap_or_default()).collect()
        }
    }
}

/// Decodes a few bits of a line as a number.
fn number(line: &Line, bits: Range<usize>) -> usize {
    bits.rev().fold(0, |number, bit| 2 * number + usize::from(line[bit / 8] >> (bit % 8) & 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::flip;
    use protection::counter::{Counters, Split};
    use protection::planted::PlantedBug;
    use std::collections::BTreeSet;
    use units::ZERO_LINE;
    use units::random::Random;

    const ORGANISATIONS: [CounterOrganisation; 9] = [
        CounterOrganisation::Monolithic,
        CounterOrganisation::Split(Split::SC64),
        CounterOrganisation::Split(Split::SC64_MAC),
        CounterOrganisation::Split(Split::SC128),
        CounterOrganisation::Split(Split::VAULT32),
        CounterOrganisation::Split(Split::VAULT16),
        CounterOrganisation::Morphable,
        CounterOrganisation::Page,
        CounterOrganisation::Random,
    ];

    /// Returns a counter line after `writes` writes of random positions.
    fn lived(counters: &Counters, writes: u64, random: &mut Random) -> Line {
        let mut line = ZERO_LINE;
        for _ in 0..writes {
            let position = random.below(counters.lines_per_group()) as usize;
            let drawn = random.word();
            if let Err(overflow) = counters.advance_drawing(&mut line, position, || drawn) {
                line = counters.renew(&line, position, &overflow, drawn);
            }
        }
        line
    }

    /// The bits of a version are not always one field: in a sparse line of morphable counters, other bits determine the position
    /// of the minor.
    #[test]
    fn each_bit_listed_for_a_counter_changes_it_and_with_fixed_fields_no_other_bit_does() {
        let mut random = Random::new(1);
        for organisation in ORGANISATIONS {
            let counters = Counters::new(organisation, PlantedBug::NONE);
            for writes in [1, 20, 100, 700, 2_000] {
                let line = lived(&counters, writes, &mut random);
                let position = random.below(counters.lines_per_group()) as usize;
                let version = |line: &Line| counters.read(line, position);
                let changes = |bit: &usize| {
                    let mut flipped = line;
                    flip(&mut flipped, *bit);
                    version(&flipped) != version(&line)
                };
                let own: BTreeSet<usize> = of(organisation, &line, position).into_iter().collect();
                assert!(own.len() >= 56 && own.iter().all(changes), "{organisation:?} after {writes} writes");
                let all: BTreeSet<usize> = (0..512).filter(changes).collect();
                assert!(own == all || organisation == CounterOrganisation::Morphable, "{organisation:?}: {all:?}");
            }
        }
        let read = |bits| number(&[0b1010_0110; 64], bits);
        assert_eq!((read(0..4), read(6..10), read(3..3)), (0b0110, 0b1010, 0));
    }

    #[test]
    fn twenty_and_700_writes_produce_the_two_formats_of_morphable_counters() {
        let counters = Counters::new(CounterOrganisation::Morphable, PlantedBug::NONE);
        let formats = [20, 700].map(|writes| number(&lived(&counters, writes, &mut Random::new(1)), 0..1));
        assert_eq!(formats, [0, 1]);
    }
}
