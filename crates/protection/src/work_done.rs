//! What cryptography was really done, for the test that holds it against what the text pays for.
//!
//! It exists in tests only. The blocks of one use of a mode are those that the mode states, which the tests of `crypto` hold
//! against a cipher that counts.

use std::cell::Cell;

/// Cryptography done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkDone {
    /// Uses of the block cipher for data and for the masks of tags.
    pub blocks: u32,
    /// Authentication codes of lines.
    pub macs: u32,
    /// Hashes or MACs of lines of metadata.
    pub hashes: u32,
}

thread_local! {
    static SO_FAR: Cell<WorkDone> = Cell::default();
}

/// What was done since this was last asked.
pub fn take() -> WorkDone {
    SO_FAR.take()
}

/// A mode used its block cipher.
pub fn blocks(blocks: u32) {
    add(|so_far| so_far.blocks += blocks);
}

/// A code was computed.
pub fn mac() {
    add(|so_far| so_far.macs += 1);
}

/// A line of metadata was hashed.
pub fn hash() {
    add(|so_far| so_far.hashes += 1);
}

fn add(change: impl FnOnce(&mut WorkDone)) {
    let mut so_far = SO_FAR.get();
    change(&mut so_far);
    SO_FAR.set(so_far);
}
