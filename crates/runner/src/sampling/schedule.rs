//! Schedule of the units: at regular distances from a random start, with a distance that grows with the length of the program.
//!
//! The length of a live program and the variation of its units are not known in advance, so sampling begins with a
//! short distance. Discarding every other unit leaves a regular sample of the whole run so far. A random draw decides
//! which half is kept, so that for any distance every start of the sample is equally likely. The draws depend only on
//! the seed. Two designs that thin out at different times therefore keep units at the same instructions, and the sample
//! with the larger distance is a subset of the other sample.

use units::random::Random;

/// Separates these draws from all other draws of the same seed.
const PURPOSE: u64 = 0x0073_616d_706c_6573;

/// A regular series of units that can be thinned out.
#[derive(Clone, Debug)]
pub struct Schedule {
    random: Random,
    /// Distance from one possible unit to the next, in instructions.
    period: u64,
    offset: u64,
    /// A possible unit is part of the sample if its number modulo `stride` is `residue`.
    stride: u64,
    residue: u64,
    /// Number of the next possible unit.
    next: u64,
}

impl Schedule {
    /// A schedule with one unit in every `period` instructions.
    pub fn new(period: u64, seed: u64) -> Schedule {
        let mut random = Random::for_purpose(seed, PURPOSE);
        let offset = random.below(period);
        Schedule { random, period, offset, stride: 1, residue: 0, next: 0 }
    }

    /// Start of the next unit, in instructions from the beginning of the program.
    pub fn next_start(&mut self) -> u64 {
        let offset = (self.stride + self.residue - self.next % self.stride) % self.stride;
        let number = self.next + offset;
        self.next = number + 1;
        self.offset + number * self.period
    }

    /// Discards every other unit, which doubles the distance.
    pub fn thin_out(&mut self) {
        self.residue += self.stride * self.random.below(2);
        self.stride *= 2;
    }

    /// Returns true if a unit with this start is still part of the sample.
    pub fn keeps(&self, start: u64) -> bool {
        ((start - self.offset) / self.period) % self.stride == self.residue
    }

    /// Distance between units of the sample, in instructions.
    pub fn distance(&self) -> u64 {
        self.period * self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(schedule: &mut Schedule, count: usize) -> Vec<u64> {
        (0..count).map(|_| schedule.next_start()).collect()
    }

    #[test]
    fn sampling_units_are_equidistant_before_and_after_thinning() {
        let mut schedule = Schedule::new(1000, 7);
        let mut kept = starts(&mut schedule, 10);
        for _ in 0..3 {
            schedule.thin_out();
            kept.retain(|start| schedule.keeps(*start));
            kept.extend(starts(&mut schedule, 10));
            assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == schedule.distance()), "{kept:?}");
        }
        assert_eq!(schedule.distance(), 8000);
    }

    #[test]
    fn thinning_a_sampling_schedule_earlier_or_later_keeps_the_same_units() {
        let (mut early, mut late) = (Schedule::new(1000, 3), Schedule::new(1000, 3));
        early.thin_out();
        let sparse = starts(&mut early, 50);
        let mut dense = starts(&mut late, 100);
        late.thin_out();
        dense.retain(|start| late.keeps(*start));
        assert_eq!(dense, sparse);
    }

    #[test]
    fn the_first_sampling_unit_is_uniformly_distributed_for_any_distance() {
        let firsts: Vec<u64> = (0..4000)
            .map(|seed| {
                let mut schedule = Schedule::new(100, seed);
                (0..3).for_each(|_| schedule.thin_out());
                schedule.next_start()
            })
            .collect();
        let mean = firsts.iter().sum::<u64>() as f64 / firsts.len() as f64;
        // Uniform over 800 instructions: mean 400, standard error 800 / sqrt(12 * 4000) = 3.7.
        assert!((mean - 400.0).abs() < 15.0, "{mean}");
        assert!(firsts.iter().all(|first| *first < 800));
    }
}
