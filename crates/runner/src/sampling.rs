//! Sampling: a few short stretches of a long program in detail, the rest without time, and figures with an interval.
//!
//! This is SMARTS (R. Wunderlich, T. Wenisch, B. Falsafi and J. Hoe, "SMARTS: accelerating microarchitecture simulation via
//! rigorous statistical sampling", ISCA 2003). Units of a fixed number of instructions are measured at regular distances.
//! Before each, some instructions run in detail without being measured, so that queues and buffers fill; between them,
//! caches, TLBs, predictors, metadata and ciphertext are kept warm functionally.
//!
//! | file | part |
//! |---|---|
//! | `schedule.rs` | where the units are, and thinning them out |
//! | `sampler.rs` | what the core does next: lead in, measure, come to rest, warm |
//! | `estimate.rs` | from units to figures with intervals |
//! | `report.rs` | what a record says about all this |
//!
//! The intervals are about the choice of the units. What they do not cover is the small error of a window that begins with
//! empty queues.

mod estimate;
mod report;
mod sampler;
mod schedule;

pub use estimate::{Estimate, ratio};
pub use report::{Sampling, Series};
pub use sampler::{Sampler, Turn};

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// How much of a run is in detail.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Every instruction.
    #[default]
    All,
    /// Some units; the others are warmed.
    Sampled(SamplingOptions),
}

/// A figure of a sampled run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Instructions per cycle.
    #[default]
    Ipc,
    /// Reads and writes of memory, in bytes per instruction.
    Traffic,
    /// The mean time from the last-level cache's miss to the released line.
    Latency,
}

/// How to sample. All lengths are numbers of instructions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingOptions {
    /// Measured in each window.
    pub unit: u64,
    /// In detail before each unit, not measured.
    pub lead_in: u64,
    /// From one unit to the next to begin with. As soon as a sample half as dense would be accurate enough, every other
    /// unit is given up and the distance doubles.
    pub period: u64,
    /// The figure whose accuracy is aimed at.
    pub aim: Aim,
    /// The accuracy to aim at: half of the 95 % interval of that figure, as a part of its value.
    pub error: f64,
    /// Seeds where units start, if not the run's own seed does.
    pub start: Option<u64>,
}

impl Default for SamplingOptions {
    /// Units of 2000 instructions after a lead-in of 4000, about what SMARTS found best (section 4), one in every 20 000 to
    /// begin with, for an error of 3 %.
    fn default() -> SamplingOptions {
        SamplingOptions { unit: 2_000, lead_in: 4_000, period: 20_000, aim: Aim::Ipc, error: 0.03, start: None }
    }
}

/// Below this distance of units there is no room for warming between two windows.
const WARMED_BETWEEN_MIN: u64 = 4 * 1024;

impl SamplingOptions {
    /// Refuses what cannot be done.
    ///
    /// # Errors
    /// The rule that is broken, in words.
    pub fn check(&self) -> Result<(), String> {
        let SamplingOptions { unit, lead_in, period, error, .. } = *self;
        if unit == 0 {
            return Err("sampling: a unit of 0 instructions measures nothing".to_owned());
        }
        if !(error > 0.0 && error < 1.0) {
            return Err(format!("sampling: an error of {error} is asked for: expected more than 0 and less than 1"));
        }
        let least = unit.saturating_add(lead_in).saturating_add(WARMED_BETWEEN_MIN);
        if period < least {
            return Err(format!(
                "sampling: a unit of {unit} and its lead-in of {lead_in} instructions every {period}: the period must be \
                 at least {least}"
            ));
        }
        Ok(())
    }
}
