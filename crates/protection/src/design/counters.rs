//! Organisations of versions, as a design file names them.

use crate::counter::{CounterOrganisation, Counters, Split};
use crate::planted::PlantedBug;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Organisation of the versions of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum CounterChoice {
    /// No versions of lines.
    None,
    /// Eight 56-bit counters and a 56-bit MAC to a line.
    #[serde(rename = "mono-56")]
    Mono56,
    /// A 64-bit major and sixty-four 7-bit minors to a line.
    Sc64,
    /// A 64-bit major, sixty-four 6-bit minors and a 64-bit MAC to a line.
    Sc64Mac,
    /// A 64-bit major, 128 3-bit minors and a 64-bit MAC to a line.
    Sc128,
    /// A 64-bit major, 32 12-bit minors and a 64-bit MAC to a line.
    Vault32,
    /// A 64-bit major, 16 24-bit minors and a 64-bit MAC to a line.
    Vault16,
    /// 128 morphable counters and a 64-bit MAC to a line.
    Morphable,
    /// A random number and a mark for each line of a page.
    PageRecord,
    /// Eight 64-bit values to a line. A value is random when its line is first written, and each later write adds one.
    #[serde(rename = "rv-64")]
    Rv64,
}

impl CounterChoice {
    /// Returns whether a counter must be decoded before it is known.
    pub fn are_coded(self) -> bool {
        Counters::new(self.organisation(), PlantedBug::NONE).are_coded()
    }

    pub(crate) fn organisation(self) -> CounterOrganisation {
        match self {
            CounterChoice::None => CounterOrganisation::None,
            CounterChoice::Mono56 => CounterOrganisation::Monolithic,
            CounterChoice::Sc64 => CounterOrganisation::Split(Split::SC64),
            CounterChoice::Sc64Mac => CounterOrganisation::Split(Split::SC64_MAC),
            CounterChoice::Sc128 => CounterOrganisation::Split(Split::SC128),
            CounterChoice::Vault32 => CounterOrganisation::Split(Split::VAULT32),
            CounterChoice::Vault16 => CounterOrganisation::Split(Split::VAULT16),
            CounterChoice::Morphable => CounterOrganisation::Morphable,
            CounterChoice::PageRecord => CounterOrganisation::Page,
            CounterChoice::Rv64 => CounterOrganisation::Random,
        }
    }
}
