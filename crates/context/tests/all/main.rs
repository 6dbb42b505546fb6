//! What the context unit promises, from outside. All of it is one program.

mod checks;
mod common;
mod oracle;
#[cfg(feature = "planted-bugs")]
mod planted;
mod refused;
mod sealed;
