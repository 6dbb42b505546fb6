//! The ways to run a scheme. Each implements the verbs; none knows a part.

mod at_once;
mod explained;
mod functional;
mod timed;

pub use at_once::AtOnce;
pub use explained::{Explained, Operation, Watch};
pub use functional::{Functional, run_now};
pub use timed::{Engine, Engines, Receiver, Timed, TimedCounters, TimedMemory};
