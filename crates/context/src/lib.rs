//! Hardware contexts of CryptoPage, as state on the chip without time.
//!
//! Source: Duc and Keryell, "CryptoPage: an efficient secure architecture with memory encryption, integrity and information
//! leakage protection", ACSAC 2006, section 2.6.

mod registers;

pub use registers::{REGISTER_FILE_BYTES, Register, RegisterFile, RegisterSet};
