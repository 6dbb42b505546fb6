//! How much re-encryption a memory controller lets go on at once (EMCC, MICRO 2022, section V, "Baselines").
//!
//! # Why nobody waits in a circle
//! What an access may wait for has an order: the door, its line, its group, a renewal's permit, places in the queue, lines of
//! metadata from the leaf up, the channel. It asks for nothing that comes before what it holds.
//! * At the door nothing is held, so whoever is shut out keeps nobody from going on.
//! * Who waits for a permit holds a line and its group, alone. Renewals under way ask for neither any more, so they end, and
//!   the oldest of those who wait is next.
//! * Places are held by renewals that have their permit. They need metadata and the channel, whose holders want no places. A
//!   place is free when its write has left the queue; that happens at the latest when no read is left that goes before it,
//!   and if permits are short no new one comes in.

use machine::memory::MemorySystem;
use serde::{Deserialize, Serialize};
use sim::Clock;
use sim::permits::Permits;
use units::LineAddr;

/// How much re-encryption goes on at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverflowLimits {
    /// Groups of lines that may be renewed at once. While a write waits for that, no request comes in.
    pub outstanding: usize,
    /// Places of the memory's queue that reads and writes of re-encryption hold at most.
    pub slots: usize,
}

/// Permits for renewals, and places for what they read and write.
pub(super) struct Overflows {
    pub renewals: Permits,
    places: Permits,
}

impl Overflows {
    pub fn new(clock: &Clock, limits: OverflowLimits) -> Overflows {
        Overflows { renewals: Permits::new(clock, limits.outstanding), places: Permits::new(clock, limits.slots) }
    }

    /// Waits for as many places.
    pub async fn take_places(&self, count: usize) {
        self.places.take(count).await;
    }

    /// Gives the places of these lines back when none of them waits to be written any more.
    pub async fn leave_places(&self, lines: &[LineAddr], channels: &MemorySystem) {
        for line in lines {
            channels.left(*line).await;
        }
        self.places.give_back(lines.len());
    }

    /// The most renewals that went on at once, and the most places that they held.
    pub fn most(&self) -> (usize, usize) {
        (self.renewals.most(), self.places.most())
    }
}
