//! The ways to run a scheme. Each implements the verbs; none knows a part.

mod at_once;
mod counters;
mod engines;
mod explained;
mod functional;
mod histogram;
mod overflows;
mod pins;
mod private;
mod reads;
mod receiver;
mod start_up;
mod timed;
mod units;
mod untimed;
mod waits;
mod windows;

pub use at_once::AtOnce;
pub use counters::TimedCounters;
pub use engines::{CipherEngine, CounterTags, Engine, Engines};
pub use explained::{Explained, Operation, Watch};
pub use functional::{Functional, run_now};
pub use histogram::Histogram;
pub use overflows::OverflowLimits;
pub use private::Patience;
pub use reads::{Parts, ReadCounters, ReadPart};
pub use receiver::Receiver;
pub use timed::{Timed, TimedMemory};
pub use untimed::{Outcomes, Untimed};
pub use windows::WindowCounters;
