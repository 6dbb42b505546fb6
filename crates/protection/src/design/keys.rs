//! The keys of one machine, drawn at boot: one for each purpose.

use crypto::Key;

/// Purposes that keys are drawn for; each gets its own.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Encryption = 1,
    Tweak = 2,
    Authentication = 3,
    Tree = 4,
    /// The words of a multilinear hash, beside the key that masks it.
    Hash = 5,
}

/// All keys of a machine whose boot drew this seed.
#[derive(Clone, Copy)]
pub(crate) struct Keys(pub(crate) u64);

impl Keys {
    /// The key for a purpose, as long as who asks needs it.
    pub(super) fn key<const BYTES: usize>(self, purpose: Purpose) -> Key<BYTES> {
        Key::for_purpose(self.0, purpose as u64)
    }
}
