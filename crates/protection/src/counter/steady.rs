//! Starting values of encryption counters as in the middle of a long life.
//!
//! New counters are all zero, and in a run of a few million instructions hardly any counter overflows. Published
//! evaluations warm counters up over billions of instructions first (EMCC, MICRO 2022: 25 billion), so their runs
//! include renewals. Here, a group that was never written starts with the counters of a long life.
//!
//! # The distribution `steady`
//! The counters of a group are those of a moment drawn uniformly from a long life. In this life, each write is to a
//! position drawn uniformly. So the moment is as likely just after a renewal as just before one. If the writes continue
//! in this way, a group is renewed as often in the first part of a run as in any later one.
//!
//! The code simulates this life with the organisation itself, write by write and renewal by renewal. Renewals of a part
//! of the positions and changes of format are therefore as frequent as in this life. A *library* holds counter
//! lines from this life. The life is divided into equal stretches, and each stretch contributes one line, from a
//! moment drawn uniformly. A hash of seed and slot selects the line of the library that a counter line starts with.
//!
//! * Minors of more than seven bits would only make a cycle longer. Each draw therefore counts as several writes in a
//!   row. They advance the minor by the same share of its range as one write advances a minor of seven bits.
//! * Counters that are never renewed stay new, because all moments of their life are alike.
//! * Page records contain drawn numbers, and marks for the lines that were written since the last renewal.
//! * Nodes of trees stay new, for every kind of node.

use super::Counters;
use crate::verbs::Slot;
use units::Line;
use units::random::Random;

/// Lines in the library, enough to place the moments of a cycle close to each other.
const LINES: usize = 1024;
/// Draws before the first line is taken. By then, every organisation has renewed all its positions more than once.
const DRAWS_BEFORE: u64 = 1 << 15;
/// Draws of a stretch, from which one line is taken. All stretches together are dozens of the longest cycles.
const DRAWS_IN_STRETCH: u64 = 1 << 9;

/// A library of counter lines, at moments of a long life.
pub struct Steady {
    library: Box<[Line]>,
    tag_layout: u64,
}

impl Steady {
    /// Builds the library of an organisation with draws from `random`; `None` if its counters are never renewed.
    pub fn new(counters: &Counters, mut random: Random) -> Option<Steady> {
        if !counters.are_renewed() {
            return None;
        }
        let mut line = units::ZERO_LINE;
        let positions = counters.lines_per_group();
        let mut live = |draws: u64, random: &mut Random| {
            for _ in 0..draws {
                let position = random.below(positions) as usize;
                line = counters.lived_on(&line, position, random.word());
            }
            line
        };
        live(DRAWS_BEFORE, &mut random);
        let library = (0..LINES).map(|_| {
            let moment = random.below(DRAWS_IN_STRETCH);
            let line = live(moment, &mut random);
            live(DRAWS_IN_STRETCH - moment, &mut random);
            line
        });
        let library = library.collect();
        Some(Steady { library, tag_layout: random.word() })
    }

    /// The initial counter line of this slot.
    pub fn of(&self, slot: Slot) -> &Line {
        let drawn = Random::for_purpose(self.tag_layout, slot.0).below(self.library.len() as u64);
        &self.library[drawn as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Overflow;
    use crate::design::CounterChoice;
    use crate::planted::PlantedBug;
    use strum::VariantArray;

    /// Every organisation with renewed counters, and its library.
    fn libraries() -> impl Iterator<Item = (CounterChoice, Counters, Steady)> {
        CounterChoice::VARIANTS.iter().filter_map(|choice| {
            let counters = Counters::new(choice.organisation(), PlantedBug::NONE);
            Steady::new(&counters, Random::new(1)).map(|steady| (*choice, counters, steady))
        })
    }

    /// Draws until the first renewal.
    fn left(counters: &Counters, line: &Line, random: &mut Random) -> u64 {
        let (mut line, positions) = (*line, counters.lines_per_group());
        let mut draws = 0;
        loop {
            draws += 1;
            match counters.burst(&line, random.below(positions) as usize, 0) {
                crate::counter::Increment::Advanced(next) => line = next,
                _ => return draws,
            }
        }
    }

    #[test]
    fn only_counter_organisations_with_renewals_have_a_library_of_aged_counter_lines() {
        use CounterChoice::{Morphable, PageRecord, Sc64, Sc64Mac, Sc128, Vault16, Vault32};
        let with: Vec<_> = libraries().map(|(choice, ..)| choice).collect();
        assert_eq!(with, [Sc64, Sc64Mac, Sc128, Vault32, Vault16, Morphable, PageRecord]);
    }

    #[test]
    fn every_aged_counter_line_has_been_renewed_and_advances_normally() {
        for (choice, counters, steady) in libraries() {
            let positions = counters.lines_per_group() as usize;
            for line in steady.library.iter().step_by(8) {
                // Each position was renewed, so its counter is above that of a new line after a write.
                assert!((0..positions).all(|position| counters.read(line, position).0 > 1), "{choice:?}");
                assert_eq!(counters.embedded_mac(line), 0, "{choice:?}: a MAC comes from the tree alone");
                for position in 0..positions {
                    let (before, mut next) = (counters.read(line, position), *line);
                    match counters.advance(&mut next, position) {
                        Ok(after) => assert_eq!(after.0, before.0 + 1, "{choice:?}"),
                        Err(Overflow::Renew { positions }) => assert!(positions.contains(&position), "{choice:?}"),
                        Err(Overflow::Exhausted) => panic!("{choice:?}: exhausted"),
                    }
                }
            }
        }
    }

    #[test]
    fn aged_counter_lines_are_spread_evenly_between_two_renewals() {
        let mut random = Random::new(2);
        for (choice, counters, steady) in libraries() {
            let left: Vec<u64> = steady.library.iter().map(|line| left(&counters, line, &mut random)).collect();
            let mean = left.iter().sum::<u64>() / LINES as u64;
            // On average, half of the time between two renewals is left. If cycles have about the same length, each
            // quarter of the longest holds a quarter of the lines.
            let CounterChoice::Sc64 = choice else {
                assert!(mean > 0 && left.iter().any(|draws| *draws < mean / 2 + 1), "{choice:?}: {mean}");
                continue;
            };
            let cycle = 2 * mean;
            for quarter in 0..4 {
                let within = |draws: &&u64| (cycle * quarter / 4..cycle * (quarter + 1) / 4).contains(*draws);
                let share = left.iter().filter(within).count() as f64 / LINES as f64;
                assert!((share - 0.25).abs() < 0.06, "{choice:?}, quarter {quarter}: {share}");
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_aged_counters_and_different_groups_differ() {
        let counters = Counters::new(CounterChoice::Sc64.organisation(), PlantedBug::NONE);
        let library = |seed| Steady::new(&counters, Random::new(seed)).unwrap();
        let (steady, same, other) = (library(1), library(1), library(2));
        let slots = || (0..4096).map(Slot);
        assert!(slots().all(|slot| steady.of(slot) == same.of(slot)));
        assert!(slots().filter(|slot| steady.of(*slot) == other.of(*slot)).count() < 64);
        let neighbours = slots().filter(|slot| steady.of(*slot) == steady.of(Slot(slot.0 + 1)));
        assert!(neighbours.count() < 64, "neighbours begin alike");
    }
}
