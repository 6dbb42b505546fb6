//! Access of a permutation to slots of memory, in the background or with the priority of other requests.

use super::entered::Entered;
use crate::slot::Slot;
use crate::verbs::{BusPriority, Verbs};
use std::cell::RefCell;
use std::future::Future;

/// An access of a permutation to slots: the set of lines that memory holds, and the priority on the bus.
#[derive(Clone, Copy)]
pub(super) struct SlotAccess<'a> {
    pub entered: &'a RefCell<Entered>,
    pub priority: &'a BusPriority,
}

impl SlotAccess<'_> {
    /// Runs `work`, which reads or writes this slot, when the bus may serve it. With the priority of other requests the
    /// memory's queue must have a free entry for it; work in the background uses another queue.
    pub async fn transfer<V: Verbs, T>(self, verbs: &V, slot: Slot, work: impl Future<Output = T>) -> T {
        verbs.await_turn(self.priority, slot).await;
        if self.priority.is_demand() { verbs.in_places(&[slot], work).await } else { work.await }
    }
}
