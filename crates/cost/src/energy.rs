//! Energy, and the volume and footprint of a storage that holds it.

use derive_more::{Add, AddAssign};
use serde::{Deserialize, Serialize};

/// An amount of energy, in whole femtojoules: an eighth of a picojoule, which a bit takes where a byte takes one, is 125 of
/// them, so sums are exact.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Add, AddAssign)]
pub struct Energy {
    femtojoules: u128,
}

impl Energy {
    /// What this many bits take, each an eighth of a byte's.
    pub fn of_bits(bits: u64, picojoules_per_byte: u32) -> Energy {
        const FEMTOJOULES_PER_BIT: u128 = 1000 / 8;
        Energy { femtojoules: u128::from(bits) * u128::from(picojoules_per_byte) * FEMTOJOULES_PER_BIT }
    }

    /// So many femtojoules.
    pub fn of_femtojoules(femtojoules: u128) -> Energy {
        Energy { femtojoules }
    }

    /// It in femtojoules.
    pub fn femtojoules(self) -> u128 {
        self.femtojoules
    }

    /// It in nanojoules.
    pub fn nanojoules(self) -> f64 {
        self.femtojoules as f64 / 1e6
    }

    /// It in millijoules.
    pub fn millijoules(self) -> f64 {
        self.femtojoules as f64 / 1e12
    }
}

/// A kind of capacitor or battery.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// What it is called.
    pub name: String,
    /// What a cubic millimetre of it holds, in millijoules.
    pub mj_per_mm3: f64,
}

impl Storage {
    /// How large it must be to hold this.
    pub fn volume(&self, energy: Energy) -> Volume {
        Volume { mm3: energy.millijoules() / self.mj_per_mm3 }
    }
}

/// The volume of a storage.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Volume {
    /// It in cubic millimetres.
    pub mm3: f64,
}

impl Volume {
    /// The area that it covers, in square millimetres, if it is a cube (section VI).
    pub fn footprint_mm2(self) -> f64 {
        self.mm3.cbrt().powi(2)
    }
}
