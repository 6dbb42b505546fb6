//! Programs live, stored and walked, from outside, as one program.

mod common;
mod decode;
mod durability;
mod durable;
mod encoding;
mod live;
mod skim;
mod trace;
mod walker;
