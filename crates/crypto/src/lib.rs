//! Ciphers and message authentication over memory lines: thin, on RustCrypto.
//!
//! Nothing cryptographic is written here. The crates of RustCrypto do the work, with the processor's own instructions
//! where it has them; this crate says how a 64-byte line, its place and its counter become their inputs, and where the
//! limits lie. Every mode is tied to published vectors by test.

mod authenticate;
mod nonce;
mod pad;
mod tweak;

pub use authenticate::{Cmac, Gmac};
pub use nonce::{COUNTER_BITS, Domain, LINE_NUMBER_BITS, Nonce};
pub use pad::PadCipher;
pub use tweak::Xts;

/// Bits of a key.
pub const KEY_BITS: usize = 128;
/// Bytes in one block of AES.
pub const BLOCK_BYTES: usize = 16;
/// Blocks of AES in one line.
pub const BLOCKS_PER_LINE: usize = units::LINE_BYTES / BLOCK_BYTES;

/// An AES-128 key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(pub [u8; KEY_BITS / 8]);

impl Key {
    /// The key for one purpose of a machine whose boot drew `seed`: as hardware draws its keys at power-on.
    ///
    /// Expanded by AES under the seed, so that different purposes get unrelated keys.
    pub fn for_purpose(seed: u64, purpose: u64) -> Key {
        let mut root = [0; 16];
        root[..8].copy_from_slice(&seed.to_le_bytes());
        let mut block = [0; 16];
        block[..8].copy_from_slice(&purpose.to_le_bytes());
        Key(PadCipher::new(&Key(root)).encrypt_block(block))
    }
}
