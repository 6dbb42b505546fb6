//! Energy, and the volume and footprint of a storage that holds it.

use derive_more::{Add, AddAssign};
use serde::{Deserialize, Serialize};

/// An amount of energy, in whole femtojoules. The energy of a bit is an eighth of the energy of a byte, and an eighth
/// of a picojoule is 125 femtojoules, so sums are exact.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Add, AddAssign)]
pub struct Energy {
    femtojoules: u128,
}

impl Energy {
    /// Energy of this many bits, each with an eighth of the energy of a byte.
    pub fn of_bits(bits: u64, picojoules_per_byte: u32) -> Energy {
        const FEMTOJOULES_PER_BIT: u128 = 1000 / 8;
        Energy { femtojoules: u128::from(bits) * u128::from(picojoules_per_byte) * FEMTOJOULES_PER_BIT }
    }

    /// Energy of this many femtojoules.
    pub fn of_femtojoules(femtojoules: u128) -> Energy {
        Energy { femtojoules }
    }

    /// The energy in femtojoules.
    pub fn femtojoules(self) -> u128 {
        self.femtojoules
    }

    /// The energy in nanojoules.
    pub fn nanojoules(self) -> f64 {
        self.femtojoules as f64 / 1e6
    }

    /// The energy in millijoules.
    pub fn millijoules(self) -> f64 {
        self.femtojoules as f64 / 1e12
    }
}

/// A kind of capacitor or battery.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Name of the kind.
    pub name: String,
    /// Energy density, in millijoules per cubic millimetre.
    pub mj_per_mm3: f64,
}

impl Storage {
    /// Volume that holds this energy.
    pub fn volume(&self, energy: Energy) -> Volume {
        Volume { mm3: energy.millijoules() / self.mj_per_mm3 }
    }
}

/// The volume of a storage.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Volume {
    /// The volume in cubic millimetres.
    pub mm3: f64,
}

impl Volume {
    /// The area of a cube of this volume, in square millimetres (section VI).
    pub fn footprint_mm2(self) -> f64 {
        self.mm3.cbrt().powi(2)
    }
}
