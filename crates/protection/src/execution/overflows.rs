//! How much re-encryption a memory controller lets go on at once (EMCC, MICRO 2022, section V, "Baselines").
//!
//! # Why no access waits in a circle
//! What an access may wait for has an order: the door, its line, its group, a renewal's permit, entries in the queue,
//! lines of metadata from the leaf up, the channel. It asks for nothing that comes before what it holds.
//! * At the door nothing is held, so an access that is shut out keeps no other from going on.
//! * An access that waits for a permit holds a line and its group, alone. Renewals under way ask for neither any more,
//!   so they end, and the oldest of those that wait is next.
//! * Entries are held by renewals that have their permit. They need metadata and the channel, whose holders want no
//!   entries. An entry is free when its write has left the queue; that happens at the latest when no read is left that
//!   goes before it, and if permits are short no new one comes in.

use crate::media::Shape;
use crate::verbs::Slot;
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
    /// Entries of the memory's queue that reads and writes of re-encryption hold at most.
    pub slots: usize,
}

/// Permits for renewals, and entries for what they read and write.
struct Limited {
    renewals: Permits,
    places: Permits,
    channels: MemorySystem,
    shape: Shape,
}

impl Limited {
    /// The lines that the channels move for these slots.
    fn lines(&self, slots: &[Slot]) -> impl Iterator<Item = LineAddr> {
        let lines = slots.iter().map(|slot| self.shape.lines(*slot));
        lines.flat_map(|(first, second)| [Some(first), second]).flatten()
    }
}

/// What limits re-encryption, if anything does.
#[derive(Default)]
pub(super) struct Overflows(Option<Limited>);

impl Overflows {
    pub fn limited(clock: &Clock, limits: OverflowLimits, channels: MemorySystem, shape: Shape) -> Overflows {
        let [renewals, places] = [limits.outstanding, limits.slots].map(|total| Permits::new(clock, total));
        Overflows(Some(Limited { renewals, places, channels, shape }))
    }

    /// Waits at the door while a write waits for its renewal.
    pub async fn come_in(&self) {
        if let Some(limited) = &self.0 {
            limited.renewals.pass().await;
        }
    }

    /// Waits for the permit of a renewal.
    pub async fn begin(&self) {
        if let Some(limited) = &self.0 {
            limited.renewals.take(1).await;
        }
    }

    /// Gives it back.
    pub fn end(&self) {
        self.0.iter().for_each(|limited| limited.renewals.give_back(1));
    }

    /// Waits for the entries that these slots need.
    pub async fn take_places(&self, slots: &[Slot]) {
        if let Some(limited) = &self.0 {
            limited.places.take(limited.lines(slots).count()).await;
        }
    }

    /// Gives them back when nothing of these slots waits to be written any more.
    pub async fn leave_places(&self, slots: &[Slot]) {
        if let Some(limited) = &self.0 {
            for line in limited.lines(slots) {
                limited.channels.left(line).await;
            }
            limited.places.give_back(limited.lines(slots).count());
        }
    }

    /// The most renewals that went on at once and the most entries that they held, if they are limited.
    pub fn most(&self) -> Option<(usize, usize)> {
        self.0.as_ref().map(|limited| (limited.renewals.most(), limited.places.most()))
    }
}
