//! Campaigns: attacks on designs, what came of them, and whether that is what the designs claim.
//!
//! A campaign proves no security. It says: under this attacker, with these seeds, these attacks ran, and ended so. It is
//! worth as much as its parts are independent of each other:
//!
//! * [`victim`]: a small memory under a design, with a past.
//! * [`attacker`]: the attacks on memory at rest, written against [`bus`], which holds what an attacker can reach and
//!   nothing else; [`own_bits`] says which bits of a line of counters are one line's.
//! * [`scenes`]: the attacks in which the victim acts too, some of them through [`tap`], which sits on the bus.
//! * [`system`]: a processor whose operating system brings records, and may lie.
//! * [`processor`]: contexts of processes, which go out and come back.
//! * [`frequent`]: what a victim's lines hold where they are to be predictable.
//! * [`oracle`]: what the memory should have said, from a plain list of versions.
//! * [`campaign`]: many trials of each attack, compared with the design's claims.
//! * [`mod@exhaustive`]: the flip of every single stored bit.
//! * [`mod@honest`]: no attacker at all.
//! * [`mod@ageing`]: no attacker either, but counters just before their ends.
//! * [`mod@crash`]: losses of power, and what comes back.
//!
//! With the feature `planted-bugs` schemes can be built with a deliberate weakness; each must be caught, or the campaigns
//! are worth nothing.
//!
//! # What is not modelled
//! See `docs/THREATS.md`: address patterns, timing but for that of one read, analogue side channels, faults in the chip, and anything above memory.

pub mod ageing;
pub mod attacker;
pub mod bus;
pub mod campaign;
pub mod crash;
pub mod exhaustive;
pub mod frequent;
pub mod honest;
pub mod logged;
pub mod oracle;
pub mod own_bits;
pub mod processor;
pub mod report;
pub mod scenes;
pub mod system;
pub mod tally;
pub mod tap;
pub mod victim;

pub use ageing::{AgeingReport, ageing};
pub use campaign::{Options, attack, attack_all, attack_design, attack_rows, tallies};
pub use crash::programs::{ProgramOptions, ProgramReport, survive};
pub use crash::{CrashOptions, CrashReport, CrashRow, crash};
pub use exhaustive::{exhaustive, exhaustive_with};
pub use honest::{Finding, honest, overflow, tamper_before_overflow};
pub use logged::{LogError, LoggedProgress, LoggedReport, Plan, run_logged};
pub use report::{Counts, DesignReport, Example, ExhaustiveReport, ExhaustiveRow, Histogram, Outcome};
