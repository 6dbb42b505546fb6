//! Current slots of moving lines, as the judge of an attack knows them.

use super::MovingLines;
use super::page_chunk::{chunk_of, line_at, placed};
use crate::record::{Record, SLOTS};
use crate::slot::Slot;
use units::LineAddr;

/// Slots of all lines now, even if records in memory were changed. Only the judge of an attack may use them.
pub struct SlotsForJudge<'a>(pub(super) &'a MovingLines);

impl SlotsForJudge<'_> {
    /// Returns the slot of a line.
    pub fn slot_of(&self, line: LineAddr) -> Slot {
        self.by_record(chunk_of(line), |record| placed(record, line).slot())
    }

    /// Returns the line in a slot of data.
    pub fn line_in(&self, slot: Slot) -> LineAddr {
        let (chunk, index) = (slot.0 / SLOTS as u64, (slot.0 % SLOTS as u64) as usize);
        self.by_record(chunk, |record| line_at(chunk, record.lines_by_slot()[index]))
    }

    fn by_record<R>(&self, chunk: u64, look_up: impl FnOnce(&Record) -> R) -> R {
        match self.0.counted.borrow().record_of(chunk) {
            Some(record) => look_up(record),
            None => look_up(&self.0.records.all().first(chunk)),
        }
    }
}
