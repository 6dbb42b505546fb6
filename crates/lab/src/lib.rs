//! The laboratory: a program, a machine and a design, put together and run.
//!
//! [`run()`] gives one [`record::Record`]: what it cost, and whether every line that came back was the line that had been
//! written. [`explain`] gives the timeline of a single access.

mod chip;
mod core_task;
pub mod explain;
mod feed;
pub mod record;
mod run;
mod uncore;

pub use feed::{FeedCounters, FeedError};
pub use record::Record;
pub use run::{Control, RunError, RunOptions, run};
