//! The unprotected machine: a core with its private caches, and memory.
//!
//! This crate contains no memory protection. Requests for lines leave the private caches. The crate that assembles the
//! machine inserts the protection between the private caches and the memory channel.

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
