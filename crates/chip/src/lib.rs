//! The simulated chip: cores with their feeds, the last-level cache and its path to memory, and the plaintext of lines
//! on the chip.
//!
//! A [`feed`] translates the accesses of a program and passes its content to the [`shadow`]. [`Chip`] connects cores,
//! coherence and the last-level cache. The [`uncore`] contains the readers and writers that execute the operations of a
//! scheme on a [`memory`]. Between the windows of a sampled run, [`warm`] updates caches and predictors without
//! simulated time. [`waits`] counts the time that cores lose, by cause.

mod chip;
pub mod content;
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
pub mod word_counts;
pub mod written;

pub use chip::{Chip, LlcCounts};
pub use distances::Distances;
