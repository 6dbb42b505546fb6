//! The keys of one machine, drawn at boot: one for each purpose. The random numbers that the chip draws while it runs
//! have a separate seed: a machine that starts again with the same keys draws other numbers.

use crate::design::Parts;
use crate::planted::{Bug, PageChunkBug, PlantedBug};
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
    /// Random values under which the chip encrypts bitmap lines, in place of counters.
    Values = 8,
    /// Start-up registers and keys of processes, and the key of the contexts outside the chip.
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

/// Seeds of one start of a machine. The first start takes both from the seed of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seeds {
    /// Seed of the keys.
    pub keys: u64,
    /// Seed of the random numbers that the chip draws while it runs.
    pub draws: u64,
}

impl From<u64> for Seeds {
    fn from(seed: u64) -> Seeds {
        Seeds { keys: seed, draws: seed }
    }
}

impl Seeds {
    /// Returns the seeds of a machine that keeps its keys and was started this many times before.
    pub fn started_again(keys: u64, times: u64) -> Seeds {
        if times == 0 { keys.into() } else { Seeds { keys, draws: Random::for_purpose(keys, times).word() } }
    }
}

/// All keys of a machine, drawn from the seed of its boot.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    boot: u64,
    draws: u64,
    planted: PlantedBug,
}

impl Keys {
    /// Returns the keys of a start with these seeds.
    pub fn new(seeds: impl Into<Seeds>, planted: PlantedBug) -> Keys {
        let Seeds { keys, draws } = seeds.into();
        let boot = if planted.has(Bug::KeysSurviveReset) { 0 } else { keys };
        Keys { boot, draws: if planted.has(PageChunkBug::DrawsFromKeys) { boot } else { draws }, planted }
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
        Random::for_purpose(self.draws, KeyPurpose::Draws as u64)
    }

    /// Returns the source of the random values under which the chip encrypts bitmap lines.
    pub fn values(self) -> Random {
        Random::for_purpose(self.draws, KeyPurpose::Values as u64)
    }

    /// Returns the random numbers from which contexts of processes are made, and the seed of the key for contexts
    /// outside the chip. The processor's key and the programs are equal at every start; the chip draws the latter key.
    pub fn contexts(self) -> (Random, u64) {
        let of = |seed| Random::for_purpose(seed, KeyPurpose::Contexts as u64);
        let mut drawn = of(self.draws);
        (of(self.boot), [(); 2].map(|()| drawn.word())[1])
    }

    /// Returns the random numbers from which starting values of encryption counters are drawn.
    pub fn ages(self) -> Random {
        Random::for_purpose(self.boot, KeyPurpose::Ages as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_starts_again_with_its_keys_draws_other_random_numbers() {
        let start = |seeds: Seeds| {
            let keys = Keys::new(seeds, PlantedBug::NONE);
            let Key(key): Key = keys.key(KeyPurpose::Encryption);
            let (mut programs, outside) = keys.contexts();
            let drawn = [keys.draws().word(), keys.values().word(), outside];
            ((key, programs.word(), keys.ages().word()), drawn)
        };
        let (kept, first) = start(7.into());
        let mut earlier = first.to_vec();
        assert_eq!(start(Seeds::started_again(7, 0)), (kept, first));
        for times in 1..10 {
            let (again, drawn) = start(Seeds::started_again(7, times));
            assert_eq!(again, kept, "start {times}");
            assert!(drawn.iter().all(|word| !earlier.contains(word)), "start {times}");
            earlier.extend(drawn);
        }
    }
}
