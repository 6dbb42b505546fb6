//! What a design costs beside time: the battery that finishes what a loss of power interrupts.
//!
//! What a drain does are [`Operations`], whoever counts them: a closed form ([`closed_form`]) or a machine that drains ([`counted`]). One
//! function prices them all, [`Profile::energy`]; what a storage of that energy takes is [`Storage::volume`]. All that is
//! assumed is a file, the profile. Source: "SecPB: Architectures for Secure Non-Volatile Memory with Battery-Backed Persist
//! Buffers", sections IV to VI.

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
