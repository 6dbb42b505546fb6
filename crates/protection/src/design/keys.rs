//! The keys of one machine, drawn at boot: one for each purpose.

use crate::design::Parts;
use crate::planted::{Bug, PlantedBug};
use crypto::Key;
use units::random::Random;

/// Purposes that keys are drawn for; each gets a separate key.
#[derive(Clone, Copy)]
pub(super) enum KeyPurpose {
    Encryption = 1,
    Tweak = 2,
    Authentication = 3,
    Tree = 4,
    /// Words of a multilinear hash, in addition to the key that masks it.
    Hash = 5,
    /// Random numbers in counters: not a key, but independent of all keys.
    Draws = 6,
    /// Starting values of counters, if they do not begin at zero.
    Ages = 7,
    /// Values that lines of bitmaps are encrypted under.
    Values = 8,
    /// Registers and keys of processes.
    Contexts = 9,
}

/// Bytes that are equal at the beginning of all keys of a purpose, of any length.
const BEGINNING_BYTES: usize = 16;

impl Parts {
    /// Returns the first bytes of each key that a machine of these parts draws at boot: keys of every length and cipher
    /// begin with them. Only the judge of an attack may call it.
    pub fn key_beginnings(seed: u64, planted: PlantedBug) -> [[u8; BEGINNING_BYTES]; 5] {
        use KeyPurpose::{Authentication, Encryption, Hash, Tree, Tweak};
        let keys = Keys::new(seed, planted);
        [Encryption, Tweak, Authentication, Tree, Hash].map(|purpose| keys.key(purpose).0)
    }
}

/// All keys of a machine, drawn from the seed of its boot.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    boot: u64,
    planted: PlantedBug,
}

impl Keys {
    /// Returns the keys that are drawn from `boot`.
    pub fn new(boot: u64, planted: PlantedBug) -> Keys {
        Keys { boot: if planted.has(Bug::KeysSurviveReset) { 0 } else { boot }, planted }
    }

    /// Returns the key for a purpose, as long as the caller needs it.
    pub(super) fn key<const BYTES: usize>(self, purpose: KeyPurpose) -> Key<BYTES> {
        Key::for_purpose(self.boot, self.drawn_for(purpose) as u64)
    }

    /// Returns the purpose that the key is drawn for: the same one, unless a planted bug shares a key.
    fn drawn_for(self, purpose: KeyPurpose) -> KeyPurpose {
        match purpose {
            KeyPurpose::Tweak if self.planted.has(Bug::OneKeyForDataAndTweak) => KeyPurpose::Encryption,
            KeyPurpose::Authentication if self.planted.has(Bug::OneKeyForDataAndTags) => KeyPurpose::Encryption,
            KeyPurpose::Tree if self.planted.has(Bug::OneKeyForTagsAndTree) => KeyPurpose::Authentication,
            _ => purpose,
        }
    }

    /// Returns the numbers that the machine draws while it runs.
    pub fn draws(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Draws as u64)
    }

    /// Returns the values that lines of bitmaps are encrypted under.
    pub fn values(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Values as u64)
    }

    /// Returns the numbers that contexts of processes are made from.
    pub fn contexts(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Contexts as u64)
    }

    /// Returns the numbers that starting values of counters are drawn from.
    pub fn ages(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Ages as u64)
    }
}
