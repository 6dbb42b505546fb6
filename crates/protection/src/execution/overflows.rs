//! Limits on concurrent re-encryption in a memory controller (EMCC, MICRO 2022, section V, "Baselines").
//!
//! # Why no access waits in a circle
//! The resources that an access may wait for are ordered. First is admission at the controller's door. Then follow its
//! line, its group, a renewal's permit, entries in the queue, metadata lines from the leaf up, the channel. An
//! access never requests a resource that precedes one it holds.
//! * An access at the door holds no resource, so an access that is not admitted does not block another.
//! * An access that waits for a permit holds a line and its group exclusively. Renewals under way request no further
//!   lines or groups, so they end, and the oldest waiting renewal gets the next permit.
//! * A permutation in the background waits for an idle bus only while no access waits for it. An access that waits for its
//!   way, its page chunk or its permit raises its priority first.
//! * Entries are held by renewals that have their permit. They need metadata and the channel, and the holders of these
//!   request no entries. An entry is free when its write has left the queue. That happens at the latest when all reads
//!   with priority over it are done, and while permits are short no new read is admitted.

use crate::media::Shape;
use crate::verbs::{BusPriority, Slot};
use machine::memory::MemorySystem;
use serde::{Deserialize, Serialize};
use sim::Clock;
use sim::permits::Permits;
use std::cell::RefCell;
use units::LineAddr;

/// Limits on concurrent re-encryption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverflowLimits {
    /// Maximum number of groups of lines that are re-encrypted at once. While a write waits to start a re-encryption,
    /// the controller admits no request.
    pub outstanding: usize,
    /// Maximum number of entries of the memory queue that the reads and writes of re-encryption hold.
    pub slots: usize,
}

/// Permits for renewals, and entries for their reads and writes.
struct Limited {
    renewals: Permits,
    /// Priorities of the renewals under way.
    priorities: RefCell<Vec<BusPriority>>,
    tag_layout: Permits,
    channels: MemorySystem,
    shape: Shape,
}

impl Limited {
    /// Returns the lines that the channels transfer for these slots.
    fn lines(&self, slots: &[Slot]) -> impl Iterator<Item = LineAddr> {
        let lines = slots.iter().map(|slot| self.shape.lines(*slot));
        lines.flat_map(|(first, second)| [Some(first), second]).flatten()
    }
}

/// Limits on re-encryption, if the machine has any.
#[derive(Default)]
pub(super) struct Overflows(Option<Limited>);

impl Overflows {
    pub fn limited(clock: &Clock, limits: OverflowLimits, channels: MemorySystem, shape: Shape) -> Overflows {
        let [renewals, tag_layout] = [limits.outstanding, limits.slots].map(|total| Permits::new(clock, total));
        Overflows(Some(Limited { renewals, priorities: RefCell::default(), tag_layout, channels, shape }))
    }

    /// Waits at the controller's door while a write waits for the permit of its renewal.
    pub async fn come_in(&self) {
        if let Some(limited) = &self.0 {
            limited.renewals.pass().await;
        }
    }

    /// Waits for the permit of a renewal with this priority. While a renewal waits, those under way have the priority of
    /// all other requests.
    pub async fn begin(&self, priority: &BusPriority) {
        let Some(limited) = &self.0 else { return };
        if !limited.renewals.has_free() {
            limited.priorities.borrow().iter().for_each(BusPriority::raise_to_demand);
        }
        limited.renewals.take(1).await;
        if !limited.renewals.has_free() && limited.renewals.is_awaited() {
            priority.raise_to_demand();
        }
        limited.priorities.borrow_mut().push(priority.clone());
    }

    /// Gives back the permit of a renewal with this priority.
    pub fn end(&self, priority: &BusPriority) {
        let Some(limited) = &self.0 else { return };
        limited.renewals.give_back(1);
        let mut priorities = limited.priorities.borrow_mut();
        if let Some(at) = priorities.iter().position(|other| other.is(priority)) {
            priorities.swap_remove(at);
        }
    }

    /// Waits for the entries that these slots need.
    pub async fn take_places(&self, slots: &[Slot]) {
        if let Some(limited) = &self.0 {
            limited.tag_layout.take(limited.lines(slots).count()).await;
        }
    }

    /// Gives the entries back when the writes of these slots have all left the queue.
    pub async fn leave_places(&self, slots: &[Slot]) {
        if let Some(limited) = &self.0 {
            for line in limited.lines(slots) {
                limited.channels.left(line).await;
            }
            limited.tag_layout.give_back(limited.lines(slots).count());
        }
    }

    /// Returns the maximum number of concurrent renewals so far and the maximum number of queue entries that they held,
    /// if renewals are limited.
    pub fn most(&self) -> Option<(usize, usize)> {
        self.0.as_ref().map(|limited| (limited.renewals.most(), limited.tag_layout.most()))
    }
}
