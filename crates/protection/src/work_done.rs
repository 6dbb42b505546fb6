//! Counts of the cryptographic operations that were really executed. A test compares them with the operations for which
//! a scheme is charged time.
//!
//! The counts exist only in tests. A mode states the number of cipher blocks for one line, and the tests of `crypto`
//! compare this number with the count of an instrumented cipher.

use std::cell::Cell;

/// Counts of cryptographic work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkDone {
    /// Uses of the block cipher for data and for the masks of tags.
    pub blocks: u32,
    /// Authentication codes of lines.
    pub macs: u32,
    /// Hashes or MACs of metadata lines.
    pub hashes: u32,
}

thread_local! {
    static SO_FAR: Cell<WorkDone> = Cell::default();
}

/// Returns the work since the last call.
pub fn take() -> WorkDone {
    SO_FAR.take()
}

/// Counts blocks of a mode that used its block cipher.
pub fn blocks(blocks: u32) {
    add(|so_far| so_far.blocks += blocks);
}

/// Counts a code that was computed.
pub fn mac() {
    add(|so_far| so_far.macs += 1);
}

/// Counts a metadata line that was hashed.
pub fn hash() {
    add(|so_far| so_far.hashes += 1);
}

fn add(change: impl FnOnce(&mut WorkDone)) {
    let mut so_far = SO_FAR.get();
    change(&mut so_far);
    SO_FAR.set(so_far);
}
