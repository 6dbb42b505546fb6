//! The simulated chip: cores with their feeds, the last-level cache and its way to memory, and the program's bytes on
//! the chip.
//!
//! A [`feed`] translates a program's accesses and keeps its content ([`shadow`]). [`Chip`] joins cores, coherence and
//! the last-level cache. The [`uncore`] has the readers and writers that run a scheme's text over a [`memory`]. Between
//! the windows of a sampled run, [`warm`] updates the same tables without time. [`waits`] counts the time that cores
//! lose, by cause.

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
