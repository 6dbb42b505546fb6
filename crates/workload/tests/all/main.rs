//! Tests of the crate's interface, in one executable: live programs, stored traces and walkers.

mod common;
mod decode;
mod durability;
mod durable;
mod encoding;
mod live;
mod skim;
mod trace;
mod walker;
