//! Hardware contexts of secure processes, as in CryptoPage: state on the chip, without simulated time.
//!
//! The operating system schedules secure processes without seeing or changing them. An interrupt saves the context of a
//! process to a buffer inside the processor and blanks the registers. Contexts leave the chip encrypted, and each
//! exported context can return once. A program starts from a context that its vendor sealed to the processor's public
//! key. Source: Duc and Keryell, "CryptoPage: an efficient secure architecture with memory encryption, integrity and
//! information leakage protection", ACSAC 2006, section 2.6.

mod context;
mod envelope;
mod error;
mod identity;
mod initial;
mod outside;
pub mod planted;
mod process;
mod registers;
mod transfer;
mod unit;

pub use context::{CONTEXT_BYTES, Context, InitialContext, ProcessKeys, Root};
pub use envelope::{EXPORTED_BYTES, context_number};
pub use error::ContextError;
pub use initial::{ProcessorKey, PublicKey, SEALED_INITIAL_BYTES, seal_initial};
pub use process::ProcessNumber;
pub use registers::{REGISTER_FILE_BYTES, Register, RegisterFile, RegisterSet};
pub use unit::{ContextConfig, ContextUnit, InterruptFrame, Location};
