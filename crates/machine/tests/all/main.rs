//! Tests of the DRAM model through its public interface, in one program.

mod dram_reference;
mod dram_scheduling;
