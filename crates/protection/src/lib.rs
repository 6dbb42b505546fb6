//! Memory protection: the verbs, the parts, and the text that composes them.
//!
//! A protection scheme is written once, in [`scheme`], as straight-line `async` text over the verbs of [`verbs`]. The
//! text does not name a runner; [`execution`] does not name a part:
//!
//! * [`execution::Functional`]: every verb is ready at once. Campaigns attack this runner.
//! * [`execution::Timed`]: the verbs wait for real resources on a simulated clock, and still move the real bytes.
//! * [`execution::Explained`]: a wrapper around either, which records the operations with their times.
//!
//! The parts are folders: [`cipher`], [`counter`], [`mac`], [`tree`]; a [`design`] picks one of each.

mod bitmaps;
mod buffer;
pub mod cipher;
mod codec;
#[cfg(test)]
mod conformance;
pub mod counter;
pub mod design;
pub mod domain;
pub mod execution;
mod keystream;
pub mod kind;
pub mod layout;
pub mod ledger;
pub mod mac;
pub mod media;
pub mod meetings;
mod memo;
mod metadata;
pub mod moving;
pub mod on_chip;
pub mod ownership;
pub mod persistence;
pub mod placement;
pub mod planted;
pub mod probe;
pub mod record;
pub mod release;
pub mod scheme;
pub mod slot;
pub mod speculation;
mod spilled;
mod stages;
pub mod tree;
mod untimed;
pub mod verbs;
#[cfg(test)]
mod work_done;
