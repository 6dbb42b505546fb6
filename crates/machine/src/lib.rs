//! The unprotected machine: a core with its private caches, and memory.
//!
//! This crate contains no memory protection. Requests for lines leave the private caches. The crate that assembles the
//! machine inserts the protection between the private caches and the memory channel.
//!
//! # Example
//!
//! The first read opens a row of DRAM, and the read of the next line hits the open row:
//!
//! ```
//! use casemate_machine::dram::{Dram, DramConfig, Kind, RowOutcome};
//! use units::{LineAddr, Time};
//!
//! let mut channel = Dram::new(DramConfig::ddr4_3200());
//! let mut completions = Vec::new();
//! for line in 0..2 {
//!     channel.submit(Time::ZERO, LineAddr(line), Kind::Read, line as u32);
//! }
//! let mut now = Time::ZERO;
//! while let Some(next) = channel.advance(now, &mut completions) {
//!     now = next;
//! }
//! assert_eq!(completions[0].outcome, RowOutcome::Closed);
//! assert_eq!(completions[1].outcome, RowOutcome::Hit);
//! assert!(completions[0].at < completions[1].at);
//! ```

mod bits;
pub mod cache;
pub mod channel;
pub mod coherence;
pub mod dram;
pub mod llc;
pub mod lookups;
pub mod memory;
pub mod miss_prediction;
pub mod noc;
pub mod node;
pub mod observer;
pub mod paging;
pub mod pcm;
pub mod persist;
mod pool;
pub mod prefetch_host;
mod rule;
pub mod sparse;

#[cfg(test)]
mod testing;
