//! The event queue: a timing wheel for near events, a heap for far ones.
//!
//! Almost every event is due within a few hundred nanoseconds, so it costs one link in a short list and one bit. All
//! lists are in one table that re-uses free entries, the latest first. Few events wait at a time, so the table fits
//! into the nearest cache of the host, in contrast to a list per slot. Events beyond the wheel's horizon wait in the
//! heap and are popped from it directly: the queue pops the earlier of the two.

use crate::TaskId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// Each slot of the wheel spans this power of two of femtoseconds: about a quarter of a nanosecond.
const SLOT_FS_LOG2: u32 = 18;
/// Number of slots in the wheel; the horizon is a little over half a microsecond.
const SLOTS: usize = 2048;
const WORDS: usize = SLOTS / 64;

/// Wakes a task at a time; `sequence` orders events of one time by the order of their requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at: Time,
    pub(crate) sequence: u64,
    pub(crate) task: TaskId,
}

/// Index of an event in the table.
type ItemIndex = u32;

/// Stored as the next index at the end of a list.
const NOWHERE: ItemIndex = ItemIndex::MAX;

/// An event of the wheel, with the index of the next in its slot; or a free entry, with the index of the next free one.
struct WheelNode {
    event: Event,
    next: ItemIndex,
}

pub(crate) struct EventQueue {
    kept: Vec<WheelNode>,
    free: ItemIndex,
    /// First index of each slot: its most recently added event.
    slots: Box<[ItemIndex; SLOTS]>,
    occupied: [u64; WORDS],
    far: BinaryHeap<Reverse<Event>>,
    /// Slot number (not wrapped) of the last popped event; the wheel contains no earlier event.
    position: u64,
}

/// An event found in a slot.
struct EventPosition {
    event: Event,
    at: ItemIndex,
    /// Index of the previous event in the list, if the event is not the first.
    before: ItemIndex,
}

impl EventQueue {
    pub(crate) fn new() -> EventQueue {
        EventQueue {
            kept: Vec::new(),
            free: NOWHERE,
            slots: Box::new([NOWHERE; SLOTS]),
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
            position: 0,
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        let slot = event.at.as_fs() >> SLOT_FS_LOG2;
        debug_assert!(slot >= self.position, "an event in the past");
        if slot - self.position < SLOTS as u64 {
            let index = slot as usize % SLOTS;
            let kept = WheelNode { event, next: self.slots[index] };
            self.slots[index] = self.keep(kept);
            self.occupied[index / 64] |= 1 << (index % 64);
        } else {
            self.far.push(Reverse(event));
        }
    }

    fn keep(&mut self, kept: WheelNode) -> ItemIndex {
        let index = self.free;
        if index == NOWHERE {
            self.kept.push(kept);
            return self.kept.len() as ItemIndex - 1;
        }
        self.free = std::mem::replace(&mut self.kept[index as usize], kept).next;
        index
    }

    /// Removes and returns the earliest event.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let near = self.first_occupied().map(|slot| (slot, self.earliest_in(slot)));
        let far = self.far.peek().map(|Reverse(event)| *event);
        let event = match near {
            Some((slot, found)) if far.is_none_or(|far| found.event < far) => {
                self.take(slot, &found);
                found.event
            }
            _ => self.far.pop()?.0,
        };
        self.position = event.at.as_fs() >> SLOT_FS_LOG2;
        Some(event)
    }

    fn earliest_in(&self, slot: usize) -> EventPosition {
        let mut at = self.slots[slot];
        let WheelNode { event, mut next } = self.kept[at as usize];
        let mut best = EventPosition { event, at, before: NOWHERE };
        while next != NOWHERE {
            let before = std::mem::replace(&mut at, next);
            let kept = &self.kept[at as usize];
            next = kept.next;
            if kept.event < best.event {
                best = EventPosition { event: kept.event, at, before };
            }
        }
        best
    }

    fn take(&mut self, slot: usize, found: &EventPosition) {
        let next = std::mem::replace(&mut self.kept[found.at as usize].next, self.free);
        self.free = found.at;
        if found.before != NOWHERE {
            self.kept[found.before as usize].next = next;
            return;
        }
        self.slots[slot] = next;
        if next == NOWHERE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
    }

    /// Returns the first slot with an event, searching circularly from the current one.
    fn first_occupied(&self) -> Option<usize> {
        let start = self.position as usize % SLOTS;
        let (first_word, first_bit) = (start / 64, start % 64);
        let head = self.occupied[first_word] & (u64::MAX << first_bit);
        if head != 0 {
            return Some(first_word * 64 + head.trailing_zeros() as usize);
        }
        for step in 1..=WORDS {
            let word = (first_word + step) % WORDS;
            // The last step returns to the first word, where only the bits below the start remain.
            let bits = if step == WORDS { self.occupied[word] & !(u64::MAX << first_bit) } else { self.occupied[word] };
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_event_queue_pops_events_in_the_order_of_a_sorted_list(
            steps in proptest::collection::vec((0u64..3_000_000_000, 0usize..4), 1..300)
        ) {
            let mut queue = EventQueue::new();
            let mut oracle: Vec<Event> = Vec::new();
            let mut now = 0;
            for (sequence, (delay, pops)) in steps.into_iter().enumerate() {
                let at = Time::from_fs(now + delay);
                let event = Event { at, sequence: sequence as u64, task: TaskId(0) };
                queue.push(event);
                oracle.push(event);
                for _ in 0..pops {
                    oracle.sort();
                    let expected = (!oracle.is_empty()).then(|| oracle.remove(0));
                    prop_assert!(queue.pop() == expected);
                    now = expected.map_or(now, |event| event.at.as_fs());
                }
            }
        }
    }
}
