//! Programs in the form in which the simulated machine executes them: executed instructions, accessed addresses and
//! their bytes.
//!
//! Every source of work yields [`Batch`](stream::Batch)s, so the machine cannot distinguish a live recording, a stored
//! trace and a built-in kernel.

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
mod partial_file;
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
pub use partial_file::PartialFile;
pub use source::{Finish, Medium, Origin, Persistent, RequestPace, Source, Stretch, Supplier, Supply, Suspect, Values};
