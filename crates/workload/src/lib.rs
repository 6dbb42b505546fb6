//! Programs as the machine sees them: what was executed, where it touched memory, and with which bytes.
//!
//! Every source of work speaks one language, the [`Chunk`](stream::Chunk): a live recording, a stored trace and a
//! built-in kernel cannot be distinguished by the machine that runs them.

mod assemble;
pub mod broadcast;
pub mod champsim;
pub mod deal;
pub mod decode;
mod drawn;
mod error;
pub mod kernels;
pub mod live;
mod packed;
pub mod requests;
pub mod shadow;
mod source;
pub mod stored;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod walker;

pub use error::WorkloadError;
pub use source::{Finish, Medium, Origin, Pace, Persistent, Source, Stretch, Supplier, Supply, Suspect, Values};
