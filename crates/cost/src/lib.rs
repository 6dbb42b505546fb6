//! Size of the battery of a persistent design: the energy to complete the work that a loss of power interrupts.
//!
//! [`Operations`] describe the work of a drain, from a closed form ([`closed_form`]) or from a machine that drains
//! ([`counted`]). The function [`Profile::energy`] computes the energy of these operations, and [`Storage::volume`] the
//! volume of a battery or capacitor for that energy. A file, the profile, contains all assumptions. Source: "SecPB:
//! Architectures for Secure Non-Volatile Memory with Battery-Backed Persist Buffers", sections IV to VI.

mod battery;
pub mod caches;
pub mod closed_form;
pub mod counted;
mod differences;
mod energy;
mod geometry;
mod operations;
pub mod overflowing;
mod printed;
mod profile;
mod scheme;
pub mod tally;

pub use battery::{
    Account, BatteryEstimate, BatteryRow, Counted, DrainSelection, Question, QuestionError, Size, battery,
};
pub use differences::Difference;
pub use energy::{Energy, Storage, Volume};
pub use geometry::{MemoryGeometry, SharedLines, design};
pub use operations::{DrainTraffic, Operations};
pub use profile::{CacheSizes, CoreArea, EntryBits, Prices, Profile, TreeProfile, profile};
pub use scheme::{Accounting, SecPbScheme, Step, System};
