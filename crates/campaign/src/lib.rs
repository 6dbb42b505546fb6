//! Campaigns: attacks on designs, their ends, and a comparison with the claims of the designs.
//!
//! A campaign proves no security. It reports the ends of these attacks, by this attacker, with these seeds. Its value
//! depends on the independence of its parts:
//!
//! * [`victim`]: a small memory under a design, with a past.
//! * [`attacker`]: the attacks on memory at rest, written against [`bus`], which contains only the reach of an attacker. [`own_bits`] finds
//!   the bits of a counter line that belong to one data line.
//! * [`scenes`]: the attacks in which the victim also acts, some of them through [`tap`], a device on the bus.
//! * [`system`]: a processor with an operating system that loads records and may be malicious.
//! * [`processor`]: contexts of processes that leave the chip and return.
//! * [`frequent`]: the content of a victim's lines for attacks on designs that predict content.
//! * [`oracle`]: the expected content of the memory, from a plain list of versions.
//! * [`campaign`]: many trials of each attack, compared with the design's claims.
//! * [`mod@exhaustive`]: the flip of every single stored bit.
//! * [`mod@honest`]: ordinary runs without an attacker.
//! * [`mod@ageing`]: runs without an attacker, with counters just before their ends.
//! * [`mod@crash`]: losses of power, and the recovered memory.
//!
//! With the feature `planted-bugs` schemes can be built with a deliberate weakness. The tests require that the
//! campaigns catch each weakness.
//!
//! # What is not modelled
//! See `docs/THREATS.md`: address patterns in shared caches, timing except that of one read, analogue side channels,
//! faults in the chip, and software above memory.

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
pub use report::{AttackOutcome, Counts, DesignReport, Example, ExhaustiveReport, ExhaustiveRow, Histogram};
