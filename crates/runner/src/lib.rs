//! Runs a program on a machine under a design.
//!
//! [`run()`] returns one [`record::Record`] with the statistics of the run and the result of the check of every line
//! that was read from memory. [`session()`] runs several designs on one execution of the program, and [`record_trace`]
//! stores an execution. [`explain`] gives the timeline of a single access. [`bus`] records the lines that cross the
//! pins of memory, and [`excerpt`] the work of every unit in a window of time.

pub mod bus;
pub mod check_latency;
mod core_task;
mod endable;
pub mod excerpt;
pub mod explain;
mod footprint;
mod not_compared;
mod pace;
mod process_switch;
pub mod record;
mod recording;
mod request_task;
mod run;
pub mod sampling;
mod session;
mod start;
pub mod validate;
mod whole_file;
mod window;

pub use chip::feed::{FeedCounts, FeedError};
pub use chip::load_values::{LoadValues, Verdict as ValuesVerdict, WrongLoad};
pub use chip::predictability::{Predicted, check_tables};
pub use chip::word_counts::FrequentWord;
pub use not_compared::{NoValues, NotCompared};
pub use protection::counter::StartingAge;
pub use record::{CoreTime, Interval, ReadTimes, Record};
pub use recording::record_trace;
pub use run::power_loss;
pub use run::{
    RunControl, RunError, RunOptions, Unfinished, check_fits, check_interval, check_persistent, check_requests,
    check_untimed, check_warm_up, run, run_planted, run_together,
};
pub use session::{Command, Outcome, Progress, Results, SessionError, session, session_together};
pub use start::StartState;
pub use whole_file::{Unwritten, check_file};
pub use window::{Accesses, Window, WindowError, WindowExtent, measure_window};
