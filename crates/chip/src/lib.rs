//! The chip that is simulated: cores with what feeds them, the last-level cache and its way to memory, and what of the program's
//! bytes is on it.
//!
//! A [`feed`] translates a program's accesses and keeps its content ([`shadow`]); cores, coherence and the last-level cache meet
//! in [`Chip`]; the [`uncore`] has the readers and writers that run a scheme's text over a [`memory`]. Between the windows of
//! a sampled run, [`warm`] goes through the same tables without the time. What cores lose meanwhile is counted by cause ([`waits`]).

mod chip;
pub mod counts;
mod distances;
pub mod feed;
mod intensity;
pub mod last_level;
pub mod load_values;
mod locks;
pub mod memory;
pub mod persisting;
pub mod predictability;
mod second_level;
pub mod shadow;
pub mod store_log;
#[cfg(test)]
mod testing;
mod turns;
pub mod uncore;
pub mod waits;
pub mod warm;
pub mod written;

pub use chip::{Chip, LlcCounters};
pub use distances::Distances;
