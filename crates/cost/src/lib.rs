//! Costs of a design other than time: the battery that finishes the work that a loss of power interrupts.
//!
//! [`Operations`] describe the work of a drain, from a closed form ([`closed_form`]) or from a machine that drains ([`counted`]). The
//! function [`Profile::energy`] prices both, and [`Storage::volume`] gives the volume of a storage for that energy. A file, the profile,
//! contains all assumptions. Source: "SecPB: Architectures for Secure Non-Volatile Memory with Battery-Backed Persist Buffers", sections IV
//! to VI.

mod battery;
pub mod caches;
pub mod closed_form;
pub mod counted;
mod differences;
mod energy;
mod geometry;
mod operations;
pub mod overflowing;
mod printed;
mod profile;
mod scheme;
pub mod tally;

pub use battery::{Account, Battery, Counted, Counting, Question, QuestionError, Row, Size, battery};
pub use differences::Difference;
pub use energy::{Energy, Storage, Volume};
pub use geometry::{Geometry, Shared, design};
pub use operations::{Moved, Operations};
pub use profile::{Caches, Core, Entry, Prices, Profile, Tree, profile};
pub use scheme::{Accounting, Scheme, Step, System};
