//! Ciphers and message authentication over memory lines: thin, on RustCrypto.
//!
//! No cipher and no hash function is written here. The crates of RustCrypto do the work, with the processor's own
//! instructions where it has them; this crate says how a 64-byte line, its place and its counter become their inputs, and
//! where the limits lie. Every mode is tied to published vectors by test.
//!
//! A mode of encryption is a [`LineCipher`], a code is a [`LineMac`]. One file holds one mode.

pub mod batch;
mod blocks;
mod chunk;
mod cipher;
mod digest;
mod key;
mod mac;
mod nonce;
mod seed;
#[cfg(test)]
mod tests;

pub use aes::{Aes128, Aes192, Aes256};
pub use chunk::{CHUNK_LINE_BLOCKS, CHUNK_LINE_BYTES, ChunkCipher};
pub use cipher::*;
pub use des::TdesEde3;
pub use digest::{SHA1_BYTES, sha1_of_pair, sha1_steps};
pub use key::Key;
pub use mac::*;
pub use nonce::{COUNTER_BITS, Domain, Nonce, PLACE_BITS};
pub use seed::{PageSeed, Seed};

/// Bytes in one block of AES, and in every seed and nonce.
pub const BLOCK_BYTES: usize = 16;
