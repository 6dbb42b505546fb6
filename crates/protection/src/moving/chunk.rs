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
    let (first, position) = (chunk_of(line) * SLOTS as u64, line.0 % SLOTS as u64);
    DataSlot::by_record(line, Slot(first + u64::from(record.slot_of(position as u8))))
}

/// The lines of a chunk, in order.
pub(super) fn lines_of(chunk: u64) -> impl Iterator<Item = LineAddr> {
    (chunk * SLOTS as u64..(chunk + 1) * SLOTS as u64).map(LineAddr)
}
