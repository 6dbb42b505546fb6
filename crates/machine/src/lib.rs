//! The unprotected machine: a core with its private caches, and memory.
//!
//! This crate does not know that memory can be protected. Requests for lines leave the private caches; the crate that
//! assembles the machine inserts the protection between them and the memory channel.

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
