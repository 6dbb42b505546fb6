//! Frames that processes have mapped.

use super::level::Level;
use super::{PageTable, SMALL};
use units::PhysAddr;

/// Returns the addresses of the frames that a process has mapped, pages of each size in order.
pub fn frames_of(table: &PageTable, process: u32) -> Vec<PhysAddr> {
    addresses(table, |level| level.frames_of(process))
}

/// Returns the starts of the frames that any process has mapped.
pub fn mapped_frames(table: &PageTable) -> Vec<PhysAddr> {
    addresses(table, |level| level.mapping.frames().collect())
}

/// Starts of some frames of both page sizes.
fn addresses(table: &PageTable, frames: impl Fn(&Level) -> Vec<u64>) -> Vec<PhysAddr> {
    let small = table.small.iter().flat_map(&frames).map(|frame| PhysAddr(frame * SMALL));
    let whole = frames(&table.pages).into_iter().map(|frame| PhysAddr(frame * table.page_bytes));
    whole.chain(small).collect()
}
