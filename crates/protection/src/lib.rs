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
//!
//! # Example
//!
//! An attacker restores the ciphertext of an old write, and the controller refuses the line:
//!
//! ```
//! use casemate_protection::design::*;
//! use casemate_protection::execution::{Functional, Untimed, run_now};
//! use casemate_protection::{ownership::Ownership, scheme::Release, verbs::Fault};
//! use units::LineAddr;
//!
//! let parts = Parts {
//!     cipher: CipherChoice::Aes128Counter,
//!     counters: CounterChoice::Sc64,
//!     mac: MacDesign { code: MacChoice::Gmac, ..MacDesign::default() },
//!     tree: TreeKind::Bonsai.into(),
//!     ownership: Ownership::None,
//!     caches: CacheDesign::default(),
//!     persistence: Persistence::default(),
//!     release: Release::Verified,
//!     speculation: SpeculationDesign::default(),
//!     permutation: None,
//! };
//! let scheme = parts.build(1 << 10, 1)?;
//! let memory = Functional::new(scheme.layout().total_lines());
//! let line = LineAddr(3);
//!
//! run_now(scheme.write(&memory.verbs(), line, &[1; 64]));
//! let slot = scheme.layout().data_slot(line).slot();
//! let old = memory.media.borrow().read(slot);
//! run_now(scheme.write(&memory.verbs(), line, &[2; 64]));
//! memory.media.borrow_mut().store(slot, old);
//! run_now(scheme.read(&memory.verbs(), line));
//! assert_eq!(memory.take_fault(), Some(Fault::Tag(line)));
//! # Ok::<(), String>(())
//! ```

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
mod lock_name;
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
