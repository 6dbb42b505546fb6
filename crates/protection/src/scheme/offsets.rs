//! The first offsets of lines (R of OCB), which the counter cache may keep together with the counters.
//!
//! An offset is a function of the line's slot and its version. The codec computes the offset when it seals the line, or
//! when it first opens the line after the counter has arrived on the chip. The cache keeps the offset until the counter
//! leaves or changes. The simulator keeps one bit for each offset, set while the chip has it; the codec computes the
//! bytes again.

use super::FixedScheme;
use crate::slot::Slot;
use units::LineAddr;

/// Returns true if the chip has the offset of a line for its present version.
pub(super) fn is_kept(scheme: &FixedScheme, line: LineAddr) -> bool {
    with(scheme, line, |offsets, bit| *offsets & bit != 0).unwrap_or(false)
}

/// Notes that the chip has the offset of a line for its present version.
pub(super) fn keep(scheme: &FixedScheme, line: LineAddr) {
    with(scheme, line, |offsets, bit| *offsets |= bit);
}

/// Drops the offsets of a group, since its lines get new versions.
pub(super) fn forget(scheme: &FixedScheme, counters: Slot) {
    if scheme.codec.work.offsets_kept {
        scheme.metadata.on_chip(|chip| chip.caches.offsets(counters).map(std::mem::take));
    }
}

fn with<T>(scheme: &FixedScheme, line: LineAddr, change: impl FnOnce(&mut u128, u128) -> T) -> Option<T> {
    // Most designs keep no first offsets, so this check precedes the computation of the counter's slot and position.
    let slot = scheme.codec.work.offsets_kept.then(|| scheme.counter_slot(line)).flatten()?;
    let bit = 1 << scheme.counters.position(line);
    scheme.metadata.on_chip(|chip| chip.caches.offsets(slot).map(|offsets| change(offsets, bit)))
}
