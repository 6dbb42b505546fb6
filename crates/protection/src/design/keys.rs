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
    /// Secret words of a multilinear hash, in addition to the key of its mask.
    Hash = 5,
    /// Random numbers that counters are drawn from: not a key, but independent of all keys.
    Draws = 6,
    /// Starting values of encryption counters that do not begin at zero.
    Ages = 7,
    /// Random values under which the chip encrypts lines of bitmaps, in place of counters.
    Values = 8,
    /// Start-up registers and keys of processes.
    Contexts = 9,
}

/// Number of leading bytes in which all keys of one purpose are equal, whatever their length.
const BEGINNING_BYTES: usize = 16;

impl Parts {
    /// Returns the first bytes of each key that a machine with this seed draws at boot: keys of every length and cipher
    /// begin with these bytes. Only the judge of an attack may call this function.
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

    /// Returns the purpose that the key is drawn for: `purpose`, unless a planted bug shares a key between two
    /// purposes.
    fn drawn_for(self, purpose: KeyPurpose) -> KeyPurpose {
        match purpose {
            KeyPurpose::Tweak if self.planted.has(Bug::OneKeyForDataAndTweak) => KeyPurpose::Encryption,
            KeyPurpose::Authentication if self.planted.has(Bug::OneKeyForDataAndTags) => KeyPurpose::Encryption,
            KeyPurpose::Tree if self.planted.has(Bug::OneKeyForTagsAndTree) => KeyPurpose::Authentication,
            _ => purpose,
        }
    }

    /// Returns the random numbers that the machine draws while it runs.
    pub fn draws(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Draws as u64)
    }

    /// Returns the source of the random values under which the chip encrypts lines of bitmaps.
    pub fn values(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Values as u64)
    }

    /// Returns the random numbers from which contexts of processes are made.
    pub fn contexts(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Contexts as u64)
    }

    /// Returns the random numbers from which starting values of encryption counters are drawn.
    pub fn ages(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Ages as u64)
    }
}
