//! The keys of one machine, drawn at boot: one for each purpose.

use crate::design::Parts;
use crate::planted::{Bug, Planted};
use crypto::Key;
use units::random::Random;

/// Purposes that keys are drawn for; each gets its own.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Encryption = 1,
    Tweak = 2,
    Authentication = 3,
    Tree = 4,
    /// The words of a multilinear hash, besides the key that masks it.
    Hash = 5,
    /// Random numbers in counters: no key, but as unrelated to the others as one.
    Draws = 6,
    /// What counters begin with, if not with nothing.
    Ages = 7,
    /// Values that lines of bitmaps are encrypted under.
    Values = 8,
    /// Registers and keys of processes.
    Contexts = 9,
}

/// How the key of any purpose and length begins.
const BEGINNING_BYTES: usize = 16;

impl Parts {
    /// The first bytes of each key that a machine of these parts draws at boot: keys of every length and cipher begin so.
    /// Only the judge of an attack may ask.
    pub fn key_beginnings(seed: u64, planted: Planted) -> [[u8; BEGINNING_BYTES]; 5] {
        use Purpose::{Authentication, Encryption, Hash, Tree, Tweak};
        let keys = Keys::new(seed, planted);
        [Encryption, Tweak, Authentication, Tree, Hash].map(|purpose| keys.key(purpose).0)
    }
}

/// All keys of a machine whose boot drew this seed.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    boot: u64,
    planted: Planted,
}

impl Keys {
    /// Those that are drawn from `boot`.
    pub fn new(boot: u64, planted: Planted) -> Keys {
        Keys { boot: if planted.has(Bug::KeysSurviveReset) { 0 } else { boot }, planted }
    }

    /// The key for a purpose, as long as the caller needs it.
    pub(super) fn key<const BYTES: usize>(self, purpose: Purpose) -> Key<BYTES> {
        Key::for_purpose(self.boot, self.drawn_for(purpose) as u64)
    }

    /// The purpose whose key serves: its own.
    fn drawn_for(self, purpose: Purpose) -> Purpose {
        match purpose {
            Purpose::Tweak if self.planted.has(Bug::OneKeyForDataAndTweak) => Purpose::Encryption,
            Purpose::Authentication if self.planted.has(Bug::OneKeyForDataAndTags) => Purpose::Encryption,
            Purpose::Tree if self.planted.has(Bug::OneKeyForTagsAndTree) => Purpose::Authentication,
            _ => purpose,
        }
    }

    /// The numbers that the machine draws while it runs.
    pub fn draws(self) -> Random {
        Random::for_purpose(self.boot, Purpose::Draws as u64)
    }

    /// The values that lines of bitmaps are encrypted under.
    pub fn values(self) -> Random {
        Random::for_purpose(self.boot, Purpose::Values as u64)
    }

    /// The numbers that contexts of processes are made of.
    pub fn contexts(self) -> Random {
        Random::for_purpose(self.boot, Purpose::Contexts as u64)
    }

    /// The numbers that say what counters begin with.
    pub fn ages(self) -> Random {
        Random::for_purpose(self.boot, Purpose::Ages as u64)
    }
}
