//! Simulated time, and tasks that wait for it.
//!
//! Hardware that does one thing after another is written as `async` text; the text waits by `.await`, and the clock
//! jumps from one event to the next. Hardware that *is* a machine (a pipeline, a bank, a queue) stays an explicit
//! machine, in [`pipe`], and answers with the time at which it will be done.
//!
//! # Order and determinism
//!
//! * One thread runs one simulation. Many simulations run side by side.
//! * Events are ordered totally: by time, and at one time by the order in which they were asked for. Nothing else
//!   (addresses of memory, hash order, the wall clock) can influence a run.
//! * [`Clock::event_hash`] condenses every event of a run into one number. Same configuration and seed, same number.
//!
//! # Waking
//!
//! A task is a number. What keeps a task waiting remembers the number and calls [`Clock::wake_at`]; the wakers of
//! `std` are not used. A woken task looks again at what it waits for, so waking once too often is harmless.

mod executor;
mod join;
pub mod lock;
mod once;
pub mod permits;
pub mod pipe;
mod queue;
pub mod resource;
pub mod span;

pub use executor::{Clock, Executor, Sleep, TaskId};
pub use join::{Going, join_all, join_pinned, race};
pub use once::Once;
