//! Ciphers and message authentication over memory lines: a thin layer over RustCrypto.
//!
//! This crate contains no cipher and no hash function. The crates of RustCrypto compute them, with the processor's
//! instructions where it has them. This crate defines how the inputs of these ciphers are formed from a 64-byte line,
//! its address and its counter, and the limits of these inputs. Tests compare every mode with published vectors.
//!
//! A mode of encryption is a [`LineCipher`], a code is a [`LineMac`]. One file holds one mode.
//!
//! # Example
//!
//! A new counter gives the same line a new ciphertext, and the tag refuses the ciphertext of the old counter:
//!
//! ```
//! use casemate_crypto::{Aes128, Gcm, Key, LineCipher, LineMac, Nonce};
//!
//! let gcm = Gcm::<Aes128>::new(&Key([7; 16]));
//! let (old, new) = (Nonce::new(0x40, 1), Nonce::new(0x40, 2));
//! let line = [0x5a; 64];
//!
//! let sealed = gcm.seal(&old, &line);
//! assert_eq!(gcm.open(&old, &sealed), line);
//! assert_ne!(gcm.seal(&new, &line), sealed);
//! assert_ne!(gcm.tag(&old, &sealed, 64), gcm.tag(&new, &sealed, 64));
//! ```

pub mod batch;
mod blocks;
mod cipher;
mod digest;
mod key;
mod mac;
mod nonce;
mod page_chunk;
mod seed;
#[cfg(test)]
mod tests;

pub use aes::{Aes128, Aes192, Aes256};
pub use cipher::*;
pub use des::TdesEde3;
pub use digest::{SHA1_BYTES, sha1_of_pair, sha1_steps};
pub use key::Key;
pub use mac::*;
pub use nonce::{COUNTER_BITS, Domain, LINE_NUMBER_BITS, Nonce};
pub use page_chunk::{PAGE_CHUNK_LINE_BLOCKS, PAGE_CHUNK_LINE_BYTES, PageChunkCipher};
pub use seed::{PageSeed, Seed};

/// Bytes in one block of AES, and in every seed and nonce.
pub const BLOCK_BYTES: usize = 16;
