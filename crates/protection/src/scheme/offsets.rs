//! The first offsets of lines, which the cache of counters may keep with their counters: R of OCB.
//!
//! An offset is a function of the line's place and its version. It is made when the line is sealed, or opened for the first
//! time since its counter came to the chip, and it is there until that leaves or changes. What the simulator keeps is
//! whether it is there; the codec computes the bytes again.

use super::Scheme;
use crate::slot::Slot;
use units::LineAddr;

/// Whether the offset of a line is on the chip, for its present version.
pub(super) fn is_kept(scheme: &Scheme, line: LineAddr) -> bool {
    with(scheme, line, |offsets, bit| *offsets & bit != 0).unwrap_or(false)
}

/// The offset of a line has been made, for its present version.
pub(super) fn keep(scheme: &Scheme, line: LineAddr) {
    with(scheme, line, |offsets, bit| *offsets |= bit);
}

/// The lines of a group get new versions.
pub(super) fn forget(scheme: &Scheme, counters: Slot) {
    if scheme.codec.work.offsets_kept {
        scheme.metadata.on_chip(|chip| chip.caches.offsets(counters).map(std::mem::take));
    }
}

fn with<T>(scheme: &Scheme, line: LineAddr, change: impl FnOnce(&mut u128, u128) -> T) -> Option<T> {
    // Most designs keep none: whether this one does comes before all that has to be computed.
    let slot = scheme.codec.work.offsets_kept.then(|| scheme.counter_slot(line)).flatten()?;
    let bit = 1 << scheme.counters.position(line);
    scheme.metadata.on_chip(|chip| chip.caches.offsets(slot).map(|offsets| change(offsets, bit)))
}
