//! Organisations of encryption counters, as a design file names them.

use crate::counter::{CounterOrganisation, Counters, Split};
use crate::planted::PlantedBug;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Organisation of the encryption counters, which are the versions of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum CounterChoice {
    /// No versions of lines.
    None,
    /// Eight 56-bit counters and a 56-bit MAC in each counter line.
    #[serde(rename = "mono-56")]
    Mono56,
    /// A 64-bit major and sixty-four 7-bit minors in each counter line.
    Sc64,
    /// A 64-bit major, sixty-four 6-bit minors and a 64-bit MAC in each counter line.
    Sc64Mac,
    /// A 64-bit major, 128 3-bit minors and a 64-bit MAC in each counter line.
    Sc128,
    /// A 64-bit major, 32 12-bit minors and a 64-bit MAC in each counter line.
    Vault32,
    /// A 64-bit major, 16 24-bit minors and a 64-bit MAC in each counter line.
    Vault16,
    /// 128 morphable counters and a 64-bit MAC in each counter line.
    Morphable,
    /// A page record: a random number for a page of data, and a mark for each line of the page.
    PageRecord,
    /// Eight 64-bit counters in each counter line. A counter is drawn at random when its data line is first
    /// written, and each later write of the data line adds one.
    #[serde(rename = "rv-64")]
    Rv64,
}

impl CounterChoice {
    /// Returns whether the chip must decode a counter line before it knows a counter.
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
