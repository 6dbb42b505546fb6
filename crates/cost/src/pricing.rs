//! What each operation of a design's drain takes out of its battery.

use crate::closed_form::moved;
use crate::energy::Energy;
use crate::operations::{Moved, Operations};
use crate::profile::Profile;
use crate::scheme::Scheme;
use crate::tally::work;
use protection::design::{Parts, Point};
use protection::execution::Operation;
use units::LINE_BYTES;

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// Prices of the operations of one design.
#[derive(Clone, Debug)]
pub struct Pricing {
    profile: Profile,
    /// What a line of data takes along from where it was durable.
    moved: Operations,
}

impl Pricing {
    /// Those of a design by a profile. A line of durable caches is charged the way from the last-level cache, the longest, whichever
    /// cache has it.
    pub fn of(parts: &Parts, profile: Profile) -> Pricing {
        let none = Operations::default();
        let moved = match parts.persistence.point {
            Point::Caches => Operations { moved: Moved { from_l3_bits: LINE_BITS, ..none.moved }, ..none },
            Point::Buffer | Point::Controller => moved(Scheme::of(parts.persistence.early), &profile.entry),
        };
        Pricing { profile, moved }
    }

    /// What an operation takes.
    pub fn price(&self, operation: &Operation) -> Energy {
        self.profile.energy(&work(operation, self.moved))
    }
}
