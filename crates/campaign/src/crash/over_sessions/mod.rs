//! Histories over several sessions: the attacker acts while the machine runs, while its battery works, and while power is off.
//!
//! * [`step`]: the steps of a history.
//! * [`machine`]: the machine that carries out the steps.
//! * `program`: the stores of the program, and the judge of its reads.
//! * `recordings`: the memories that the attacker remembers.
//! * [`drawn`]: histories that are drawn at random, for a row of the table.
//! * [`search`]: all histories up to a number of steps.
//!
//! The other rows attack one loss of power of a short workload. Here overflows, stopped re-encryptions and lost lines of one
//! session meet the losses and the attacks of the next. The machine has no time: a step ends before the next begins, so power
//! fails within a step only where a step says so.

pub mod drawn;
pub mod machine;
mod program;
mod recordings;
pub mod search;
pub mod step;

pub use search::{SearchLimits, SearchReport, search};
pub use step::HistoryStep;
