//! Tags whose entries may still be on their way.
//!
//! What is a hit for the tags may be data that arrives a few cycles from now. Keeping the arrival with the tag merges
//! such accesses without a look at any miss register.

use crate::cache::{Evicted, Replacement, Slot, State, TagArray};

#[derive(Clone, Debug)]
pub(in crate::node) struct TimedTags {
    pub(in crate::node) tags: TagArray,
    arrivals: Box<[u64]>,
}

impl TimedTags {
    pub(in crate::node) fn new(sets: usize, ways: usize, replacement: Replacement) -> TimedTags {
        let tags = TagArray::with_replacement(sets, ways, replacement);
        let arrivals = vec![0; tags.slots()].into();
        TimedTags { tags, arrivals }
    }

    /// Enters `key`, which arrives at `arrival`; returns where, and what had to leave.
    pub(in crate::node) fn fill(&mut self, key: u64, arrival: u64, state: State) -> (Slot, Option<Evicted>) {
        let (slot, evicted) = self.tags.insert_as(key, state);
        self.arrivals[slot.index()] = arrival;
        (slot, evicted)
    }

    /// When an access that is looked up by `looked_up` has its data, if going to where the entry comes from would take
    /// until `longest`.
    ///
    /// Instructions are scheduled in program order: an older one with late operands may have sent for the entry at a
    /// later time than this access. Then it is this one that sends for it.
    #[inline]
    pub(in crate::node) fn ready(&mut self, slot: Slot, looked_up: u64, longest: u64) -> u64 {
        let arrival = &mut self.arrivals[slot.index()];
        if *arrival <= looked_up {
            return looked_up;
        }
        *arrival = (*arrival).min(longest);
        looked_up.max(*arrival)
    }
}
