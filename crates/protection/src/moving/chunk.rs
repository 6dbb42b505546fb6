//! Chunks of memory: their lines, and the slots that a record gives these.

use crate::placement::DataSlot;
use crate::record::{Record, SLOTS};
use crate::slot::Slot;
use units::LineAddr;

/// The chunk of a line.
pub(super) fn chunk_of(line: LineAddr) -> u64 {
    line.0 / SLOTS as u64
}

/// A line in the slot that the record of its chunk gives it.
pub(super) fn placed(record: &Record, line: LineAddr) -> DataSlot {
    let (first, position) = (line_at(chunk_of(line), 0), line.0 % SLOTS as u64);
    DataSlot::by_record(line, Slot(first.0 + u64::from(record.slot_of(position as u8))))
}

/// The line of a chunk at this position.
pub(super) fn line_at(chunk: u64, position: u8) -> LineAddr {
    LineAddr(chunk * SLOTS as u64 + u64::from(position))
}
