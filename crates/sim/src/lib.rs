//! Simulated time, and tasks that wait for it.
//!
//! Hardware that performs one step after another is written as `async` functions; these functions wait by `.await`, and
//! the clock advances from one event to the next. Hardware that is a state machine (a pipeline, a bank, a queue) is an
//! explicit state machine, in [`pipe`], and returns the time at which it will be done.
//!
//! # Order and determinism
//!
//! * One thread runs one simulation. Many simulations run in parallel.
//! * Events are totally ordered: by time, and at one time by the order of their requests. No other input (addresses of
//!   memory, hash order, the wall clock) can influence a run.
//! * [`Clock::event_hash`] condenses every event of a run into one number. Runs with the same configuration and seed
//!   have the same number.
//!
//! # Waking
//!
//! A task is a number. A resource that makes a task wait stores this number and calls [`Clock::wake_at`]; the wakers of
//! `std` are not used. A woken task checks its condition again, so an extra wake-up is harmless.

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
