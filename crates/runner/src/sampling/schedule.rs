//! Where the units are: at regular distances, from a random start, ever further apart as the program turns out to be long.
//!
//! How long a live program will run is not known beforehand, nor how much its units differ. So sampling begins dense.
//! Giving up every other unit leaves a regular sample of all that has run so far, and which half stays is drawn, so that at
//! any distance every start is equally likely. The draws depend on the seed alone: two designs that thin out at different
//! times keep units at the same instructions, and the sparser sample is a part of the denser.

use units::random::Random;

/// Sets the draws apart from everything else that the seed decides.
const PURPOSE: u64 = 0x0073_616d_706c_6573;

/// A regular series of units that can be thinned out.
#[derive(Clone, Debug)]
pub struct Schedule {
    random: Random,
    /// From one possible unit to the next, in instructions.
    period: u64,
    offset: u64,
    /// The units that count are those whose number leaves `residue` when divided by `stride`.
    stride: u64,
    residue: u64,
    /// The number of the next possible unit.
    next: u64,
}

impl Schedule {
    /// Begins with a unit in every `period` instructions.
    pub fn new(period: u64, seed: u64) -> Schedule {
        let mut random = Random::for_purpose(seed, PURPOSE);
        let offset = random.below(period);
        Schedule { random, period, offset, stride: 1, residue: 0, next: 0 }
    }

    /// Where the next unit starts, counted in instructions from the beginning.
    pub fn next_start(&mut self) -> u64 {
        let ahead = (self.stride + self.residue - self.next % self.stride) % self.stride;
        let number = self.next + ahead;
        self.next = number + 1;
        self.offset + number * self.period
    }

    /// Doubles the distance.
    pub fn thin_out(&mut self) {
        self.residue += self.stride * self.random.below(2);
        self.stride *= 2;
    }

    /// Whether a unit that started here still counts.
    pub fn keeps(&self, start: u64) -> bool {
        ((start - self.offset) / self.period) % self.stride == self.residue
    }

    /// The distance between units that count.
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
    fn units_are_at_regular_distances_before_and_after_thinning() {
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
    fn who_thins_out_later_keeps_all_that_others_have() {
        let (mut early, mut late) = (Schedule::new(1000, 3), Schedule::new(1000, 3));
        early.thin_out();
        let sparse = starts(&mut early, 50);
        let mut dense = starts(&mut late, 100);
        late.thin_out();
        dense.retain(|start| late.keeps(*start));
        assert_eq!(dense, sparse);
    }

    #[test]
    fn every_start_is_equally_likely_at_any_distance() {
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
