//! The DRAM model, from outside, as one program.

mod dram_reference;
mod dram_scheduling;
