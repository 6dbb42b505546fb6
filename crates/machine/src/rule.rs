//! How a configuration is refused.

/// Turns a condition that must hold into a refusal when it does not.
pub(crate) fn rule(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
