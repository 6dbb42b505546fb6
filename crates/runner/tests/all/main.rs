//! Whole runs, explanations and validations, from outside, as one program.

mod beats;
mod common;
mod core_time;
mod cores;
mod dependent;
mod emcc;
mod emcc_inclusive;
mod emcc_runs;
mod epochs;
mod explain;
mod footprint;
mod intervals;
mod latencies;
mod machines;
mod mapped;
mod ocb3;
mod power_loss;
mod reads;
mod requests;
mod runs;
mod sampling;
mod secpb;
mod speculation;
mod threads;
mod validation;
mod warm_up;
