//! Checks of configuration rules.

/// Returns the error if a required condition does not hold.
pub(crate) fn rule(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
