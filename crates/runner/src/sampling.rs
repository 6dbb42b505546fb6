//! Sampling: simulates a few short stretches of a long program in detail, executes the remaining instructions without
//! simulated time, and estimates the results with confidence intervals.
//!
//! This is SMARTS (R. Wunderlich, T. Wenisch, B. Falsafi and J. Hoe, "SMARTS: accelerating microarchitecture simulation
//! via rigorous statistical sampling", ISCA 2003). Units of a fixed number of instructions are measured at regular
//! distances. Before each unit, some instructions run in detail without being measured, so that queues and buffers fill
//! (lead-in). Between the units, functional execution keeps caches, TLBs, predictors, metadata and ciphertext warm.
//!
//! | file | part |
//! |---|---|
//! | `schedule.rs` | start of each unit, and thinning out |
//! | `sampler.rs` | next step of the core: lead in, measure, come to rest, warm |
//! | `estimate.rs` | estimates with confidence intervals from the units |
//! | `report.rs` | description of the sample in a record |
//!
//! The confidence intervals cover the error from the choice of the units. They do not cover the small error from
//! windows that begin with empty queues.

mod estimate;
mod report;
mod sampler;
mod schedule;

pub use estimate::{Estimate, ratio, ratio_of_units};
pub use report::{Sampling, Series};
pub use sampler::{Sampler, Turn};

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Part of a run that is simulated in detail.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Every instruction is simulated in detail.
    #[default]
    All,
    /// Only sampled units are simulated in detail; the sampler warms the caches between them.
    Sampled(SamplingOptions),
}

/// A result of a sampled run for which the user can require an accuracy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// The instructions per cycle.
    #[default]
    Ipc,
    /// Reads and writes of memory, in bytes per instruction.
    Traffic,
    /// The mean time from the last-level cache's miss to the released line.
    Latency,
}

/// Options of a sampled run. All lengths are numbers of instructions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingOptions {
    /// Instructions that each window measures.
    pub unit: u64,
    /// Instructions simulated in detail before each unit, but not measured.
    pub lead_in: u64,
    /// Initial distance from one unit to the next. When half of the units would give the required accuracy, the sampler
    /// discards every other unit and doubles the distance.
    pub period: u64,
    /// The result that must reach the accuracy.
    pub aim: Aim,
    /// The required accuracy: half the width of the 95 % confidence interval of that result, as a fraction of its
    /// value.
    pub error: f64,
    /// Seed of the positions of the units; if absent, the seed of the run is used.
    pub start: Option<u64>,
}

impl Default for SamplingOptions {
    /// Units of 2000 instructions after a lead-in of 4000, about the best values that SMARTS found (section 4). By
    /// default the sampler first measures one unit in every 20 000 instructions, and requires an error of 3 %.
    fn default() -> SamplingOptions {
        SamplingOptions { unit: 2_000, lead_in: 4_000, period: 20_000, aim: Aim::Ipc, error: 0.03, start: None }
    }
}

/// Least number of instructions to warm between two windows.
const WARMED_BETWEEN_MIN: u64 = 4 * 1024;

impl SamplingOptions {
    /// Rejects options that a run cannot satisfy.
    ///
    /// # Errors
    /// The broken rule, in words.
    pub fn check(&self) -> Result<(), String> {
        let SamplingOptions { unit, lead_in, period, error, .. } = *self;
        if unit == 0 {
            return Err("sampling: a unit has 0 instructions: expected 1 or more".to_owned());
        }
        if !(error > 0.0 && error < 1.0) {
            return Err(format!("sampling: the requested error is {error}: expected more than 0 and less than 1"));
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
