//! Checks of a context unit with or without a planted bug. Each check tests one property, called a promise.
//!
//! A check returns the reason why the promise does not hold. Without a bug every check passes; `planted.rs` runs each
//! bug against its check.

mod roots;
mod seen;
mod signals;
mod transfers;

use context::ContextError;
use context::planted::PlantedContextBug;
use std::fmt::Debug;

/// Why a promise does not hold.
#[derive(Debug)]
pub struct Broken(pub String);

impl From<ContextError> for Broken {
    fn from(error: ContextError) -> Broken {
        Broken(format!("refused: {error}"))
    }
}

/// A check of one promise.
pub type Check = fn(PlantedContextBug) -> Result<(), Broken>;

/// Every check, by name.
pub const CHECKS: &[(&str, Check)] = &[
    ("hidden registers are blanked", seen::hidden_registers_are_blanked),
    ("visibility ends with its interrupt", seen::visibility_ends_with_its_interrupt),
    ("visible registers take the system's values", seen::visible_registers_take_the_systems_values),
    ("hidden registers ignore the system's values", seen::hidden_registers_ignore_the_systems_values),
    ("a process returns from a signal", signals::a_process_returns_from_a_signal),
    ("a second signal waits", signals::a_second_signal_waits),
    ("a root leaves and returns", roots::a_root_leaves_and_returns),
    ("a forced permutation changes a root in a buffer", roots::a_forced_permutation_changes_a_root_in_a_buffer),
    ("locked lines keep a context", transfers::locked_lines_keep_a_context),
    ("an exported context leaves its buffer", transfers::an_exported_context_leaves_its_buffer),
    ("a forgotten context stays outside", transfers::a_forgotten_context_stays_outside),
    ("a context comes back once", transfers::a_context_comes_back_once),
    ("an import takes its own number", transfers::an_import_takes_its_own_number),
    ("a full table keeps its numbers", transfers::a_full_table_keeps_its_numbers),
    ("a number is never used again", transfers::a_number_is_never_used_again),
    ("a reset ends every context outside", transfers::a_reset_ends_every_context_outside),
    ("an interrupt always finds a buffer", transfers::an_interrupt_always_finds_a_buffer),
    ("process numbers differ", transfers::process_numbers_differ),
];

/// Fails with a reason if a condition does not hold.
fn must(holds: bool, reason: impl Into<String>) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(reason.into())) }
}

/// Fails if an operation ends otherwise than expected.
fn ends<T: PartialEq + Debug>(found: Result<T, ContextError>, expected: Result<T, ContextError>) -> Result<(), Broken> {
    must(found == expected, format!("{found:?}, expected {expected:?}"))
}

#[test]
fn every_check_passes_on_a_context_unit_without_planted_bugs() {
    for (name, check) in CHECKS {
        assert!(check(PlantedContextBug::NONE).is_ok(), "{name}: {:?}", check(PlantedContextBug::NONE));
    }
}
