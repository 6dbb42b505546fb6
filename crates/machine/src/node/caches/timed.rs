//! Tag array that stores the arrival cycle of each entry.
//!
//! A hit in the tags may be a hit on a line that arrives a few cycles later. With the arrival cycle in the entry, the
//! access waits for this line without a search of the miss registers.

use crate::cache::{EntryIndex, Eviction, MesiState, Replacement, TagArray};

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

    /// Enters `key`, which arrives at `arrival`; returns its entry and the evicted line.
    pub(in crate::node) fn fill(&mut self, key: u64, arrival: u64, state: MesiState) -> (EntryIndex, Option<Eviction>) {
        let (slot, evicted) = self.tags.insert_as(key, state);
        self.arrivals[slot.index()] = arrival;
        (slot, evicted)
    }

    /// Returns the cycle at which an access has its data. `looked_up` is the end of its look-up, and `longest` the
    /// cycle of the data if the access fetched the line from the next level.
    ///
    /// Instructions are scheduled in program order, so an older instruction with late operands may have fetched the
    /// line at a later cycle than this access. In this case, this access fetches the line, and the entry gets the
    /// earlier arrival cycle.
    #[inline]
    pub(in crate::node) fn ready(&mut self, slot: EntryIndex, looked_up: u64, longest: u64) -> u64 {
        let arrival = &mut self.arrivals[slot.index()];
        if *arrival <= looked_up {
            return looked_up;
        }
        *arrival = (*arrival).min(longest);
        looked_up.max(*arrival)
    }
}
