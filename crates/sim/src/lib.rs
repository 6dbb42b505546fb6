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
//!
//! # Example
//!
//! Two reads share a unit that accepts one item every 10 ns, so the second read takes 10 ns longer:
//!
//! ```
//! use casemate_sim::{Executor, pipe::Pipe};
//! use std::{cell::RefCell, rc::Rc};
//! use units::{Duration, Time};
//!
//! let mut simulation = Executor::new();
//! let unit = Rc::new(Pipe::new(1, Duration::from_ns(30), Duration::from_ns(10)));
//! let done = Rc::new(RefCell::new(Vec::new()));
//! for _ in 0..2 {
//!     let (clock, unit, done) = (simulation.clock().clone(), unit.clone(), done.clone());
//!     simulation.clock().spawn(async move {
//!         let passage = unit.pass(clock.now(), 1);
//!         clock.sleep_until(passage.done).await;
//!         done.borrow_mut().push(clock.now());
//!     });
//! }
//! simulation.run();
//! let after = |ns| Time::ZERO + Duration::from_ns(ns);
//! assert_eq!(*done.borrow(), [after(30), after(40)]);
//! ```

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
