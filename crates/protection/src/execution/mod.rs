//! The ways to run a scheme. Each implements the verbs; none knows a part.

mod at_once;
mod counters;
mod engines;
mod excerpt;
mod explained;
mod functional;
mod histogram;
mod keep;
mod operation;
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
pub use excerpt::{Attended, Clip, Clipper, Excerpt, Stops, Trip, meet};
pub use explained::{Explained, Watch};
pub use functional::{Functional, run_now};
pub use histogram::Histogram;
pub use keep::{Everything, Keep, Piece, Unit};
pub use operation::Operation;
pub use overflows::OverflowLimits;
pub use private::Patience;
pub use reads::{Parts, ReadCounters, ReadPart};
pub use receiver::Receiver;
pub use timed::{Timed, TimedMemory};
pub use untimed::{Outcomes, Untimed};
pub use windows::WindowCounters;
