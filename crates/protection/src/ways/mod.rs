//! The ways to run a scheme. Each implements the verbs; none knows a part.

mod at_once;
mod engines;
mod explained;
mod functional;
mod timed;
mod windows;

pub use at_once::AtOnce;
pub use engines::{Engine, Engines};
pub use explained::{Explained, Operation, Watch};
pub use functional::{Functional, run_now};
pub use timed::{Receiver, Timed, TimedCounters, TimedMemory};
pub use windows::WindowCounters;
