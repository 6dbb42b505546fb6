//! Page chunks of memory: their lines, the slots of these lines according to the record, and the slots that share a
//! tag.

use crate::placement::DataSlot;
use crate::record::{Record, SLOTS};
use crate::slot::Slot;
use arrayvec::ArrayVec;
use crypto::PAGE_CHUNK_LINE_BYTES;
use units::{Line, LineAddr, ZERO_LINE};

/// Most slots under one tag.
pub const SLOTS_PER_TAG_MAX: usize = 4;

/// The lines under one tag, in order of their slots, which are adjacent.
pub(super) type Group = ArrayVec<DataSlot, SLOTS_PER_TAG_MAX>;

/// Returns the number of a line's page chunk.
pub(super) fn chunk_of(line: LineAddr) -> u64 {
    line.0 / SLOTS as u64
}

/// Returns a line in the slot that the record of its page chunk gives it.
pub(super) fn placed(record: &Record, line: LineAddr) -> DataSlot {
    let (first, position) = (line_at(chunk_of(line), 0), line.0 % SLOTS as u64);
    DataSlot::by_record(line, Slot(first.0 + u64::from(record.slot_of(position as u8))))
}

/// Returns the line of a page chunk at this position.
pub(super) fn line_at(chunk: u64, position: u8) -> LineAddr {
    LineAddr(chunk * SLOTS as u64 + u64::from(position))
}

/// Returns a line with the other lines under its tag, `slots_per_tag` together.
pub(super) fn group_of(record: &Record, line: LineAddr, slots_per_tag: usize) -> Group {
    let at = placed(record, line);
    if slots_per_tag == 1 {
        return [at].into_iter().collect();
    }
    let first = in_chunk(at) as usize / slots_per_tag * slots_per_tag;
    let positions = record.lines_by_slot();
    positions[first..first + slots_per_tag]
        .iter()
        .map(|position| placed(record, line_at(chunk_of(line), *position)))
        .collect()
}

/// Returns all lines of a page chunk in groups of `slots_per_tag`, in order of slots.
pub(super) fn groups(chunk: u64, record: &Record, slots_per_tag: usize) -> impl Iterator<Item = Group> + '_ {
    let mut tag_layout =
        record.lines_by_slot().into_iter().map(move |position| placed(record, line_at(chunk, position)));
    (0..SLOTS / slots_per_tag).map(move |_| tag_layout.by_ref().take(slots_per_tag).collect())
}

/// Returns the number of a slot in its page chunk.
pub(super) fn in_chunk(at: DataSlot) -> u8 {
    (at.slot().0 % SLOTS as u64) as u8
}

/// Returns the bytes of a line.
pub(super) fn narrowed(line: &Line) -> [u8; PAGE_CHUNK_LINE_BYTES] {
    std::array::from_fn(|byte| line[byte])
}

/// Returns a line of these bytes.
pub(super) fn widened(bytes: &[u8; PAGE_CHUNK_LINE_BYTES]) -> Line {
    let mut line = ZERO_LINE;
    line[..PAGE_CHUNK_LINE_BYTES].copy_from_slice(bytes);
    line
}
