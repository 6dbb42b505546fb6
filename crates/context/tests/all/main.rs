//! Integration tests of the context unit, in one program.

mod checks;
mod common;
mod oracle;
#[cfg(feature = "planted-bugs")]
mod planted;
mod refused;
mod sealed;
