//! The unprotected machine: a core with its private caches, and memory.
//!
//! Nothing here knows that memory can be protected. What leaves the private caches is a request for a line; what
//! assembles the machine decides what stands between it and the memory channel.

mod bits;
pub mod cache;
pub mod channel;
pub mod coherence;
pub mod dram;
pub mod llc;
pub mod look_ahead;
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
mod rule;
pub mod sparse;

#[cfg(test)]
mod testing;
