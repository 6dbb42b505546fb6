//! Limit on the look-ups of a cache behind the first level.
//!
//! The tags of a cache accept a limited number of accesses per cycle, and a limited number of accesses can be inside
//! the cache at once. Each access is inside for a number of cycles. If this number exceeds the number of places, even
//! one access per cycle exceeds the limit.

use crate::pool::Pool;
use serde::{Deserialize, Serialize};

/// The limit as written in a machine file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUpLimit {
    /// Maximum number of accesses that enter in one cycle.
    pub per_cycle: u8,
    /// Maximum number of accesses that are inside at once.
    pub places: u8,
    /// Cycles for which each access is inside.
    pub cycles: u64,
}

/// Maximum number of cycles for which an access may be inside.
const CYCLES_MAX: u64 = 1000;

impl LookUpLimit {
    /// Checks that the limit is valid.
    ///
    /// # Errors
    /// The rule that is broken, with the full key in the machine file, which begins with `name`.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let counts =
            [("per_cycle", u64::from(self.per_cycle)), ("places", self.places.into()), ("cycles", self.cycles)];
        match counts.into_iter().find(|(_, found)| !(1..=CYCLES_MAX).contains(found)) {
            Some((key, found)) => Err(format!("{name}.{key} is {found}: expected 1 to {CYCLES_MAX}")),
            None => Ok(()),
        }
    }
}

/// The look-ups of one cache, in cycles of its clock.
#[derive(Clone, Debug)]
pub struct LookUps {
    entries: Pool,
    places: Pool,
}

impl LookUps {
    /// Creates the state of a cache without look-ups, under `limit`.
    pub fn new(limit: LookUpLimit) -> LookUps {
        LookUps {
            entries: Pool::ports(limit.per_cycle),
            places: Pool::new(limit.places, limit.cycles, limit.cycles == 1),
        }
    }

    /// Returns the cycle at which an access that arrives at `cycle` enters.
    #[inline]
    pub fn enter(&mut self, cycle: u64) -> u64 {
        let mut start = cycle;
        loop {
            let entry = self.entries.free_from(start);
            start = self.places.free_from(entry);
            if start == entry {
                self.entries.book(start);
                self.places.book(start);
                return start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookups(per_cycle: u8, places: u8, cycles: u64) -> LookUps {
        LookUps::new(LookUpLimit { per_cycle, places, cycles })
    }

    #[test]
    fn a_look_up_limit_of_five_accesses_in_flight_for_six_cycles_admits_five_per_six_cycles() {
        let mut lookups = lookups(1, 5, 6);
        let entered: Vec<u64> = (0..12).map(|_| lookups.enter(0)).collect();
        assert_eq!(entered, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13]);
    }

    #[test]
    fn no_more_cache_accesses_start_in_a_cycle_than_the_limit() {
        let mut lookups = lookups(2, 4, 3);
        assert_eq!([9, 9, 9, 9, 9].map(|cycle| lookups.enter(cycle)), [9, 9, 10, 10, 12]);
    }

    #[test]
    fn a_cache_access_scheduled_later_leaves_earlier_cycles_free() {
        let mut lookups = lookups(1, 1, 2);
        assert_eq!([20, 10, 11].map(|cycle| lookups.enter(cycle)), [20, 10, 12]);
    }

    #[test]
    fn an_impossible_limit_is_refused_with_the_key() {
        assert_eq!(LookUpLimit { per_cycle: 1, places: 5, cycles: 6 }.check("llc.lookups"), Ok(()));
        let refused = LookUpLimit { per_cycle: 1, places: 0, cycles: 6 }.check("llc.lookups").unwrap_err();
        assert_eq!(refused, "llc.lookups.places is 0: expected 1 to 1000");
    }
}
