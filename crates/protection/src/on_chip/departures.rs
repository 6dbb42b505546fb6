//! Dirty lines that were evicted from the caches and are not yet in memory, in the order of their evictions.

use crate::slot::Slot;
use std::hash::{Hash, Hasher};
use units::Line;

/// One departure of a line. The same line may be called back and leave again with the same content.
#[derive(Clone, Copy)]
pub struct Departure {
    /// Content that goes to memory.
    pub content: Line,
    number: u64,
}

/// A dirty line that has lost its entry in the cache and is not yet in memory.
#[derive(Clone, Copy)]
struct LineDeparture {
    slot: Slot,
    departure: Departure,
    /// True if an access is writing the line to memory.
    claimed: bool,
}

/// All lines that are leaving.
#[derive(Clone, Default)]
pub struct Departures {
    leaving: Vec<LineDeparture>,
    count: u64,
}

impl Hash for Departures {
    fn hash<H: Hasher>(&self, hash: &mut H) {
        self.leaving.iter().for_each(|leaving| (leaving.slot, leaving.departure.content).hash(hash));
    }
}

impl Departures {
    /// Starts the departure of a line.
    pub fn begin(&mut self, slot: Slot, content: Line) {
        self.count += 1;
        let departure = Departure { content, number: self.count };
        self.leaving.push(LineDeparture { slot, departure, claimed: false });
    }

    /// Returns a leaving line that no access writes to memory yet, and assigns it to the caller.
    pub fn claim(&mut self) -> Option<Slot> {
        let leaving = self.leaving.iter_mut().find(|leaving| !leaving.claimed)?;
        leaving.claimed = true;
        Some(leaving.slot)
    }

    /// Returns true if a line is still leaving by this departure.
    pub fn is_under_way(&self, departure: &Departure) -> bool {
        self.leaving.iter().any(|leaving| leaving.departure.number == departure.number)
    }

    /// Returns true if no line is leaving.
    pub fn is_empty(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Returns the departure of a line, if it is leaving.
    pub fn of(&self, slot: Slot) -> Option<Departure> {
        self.leaving.iter().find(|leaving| leaving.slot == slot).map(|leaving| leaving.departure)
    }

    /// Ends the departure of a line that is in memory now.
    pub fn end(&mut self, slot: Slot) {
        self.leaving.retain(|leaving| leaving.slot != slot);
    }

    /// Records that memory has this content: a leaving line with the same content need not leave.
    pub fn written_through(&mut self, slot: Slot, content: &Line) {
        self.leaving.retain(|leaving| leaving.slot != slot || leaving.departure.content != *content);
    }

    /// Calls a line back, if it is leaving. Returns its content.
    pub fn call_back(&mut self, slot: Slot) -> Option<Line> {
        let index = self.leaving.iter().position(|leaving| leaving.slot == slot)?;
        Some(self.leaving.remove(index).departure.content)
    }
}
