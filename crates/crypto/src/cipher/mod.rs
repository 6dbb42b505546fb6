//! Modes of encryption over one line.

mod cbc;
mod counter;
mod ecb;
mod gcm;
mod ocb3;
mod ocb_chunks;
mod xts;

pub use cbc::Cbc;
pub use counter::CounterMode;
pub use ecb::Ecb;
pub use gcm::Gcm;
pub use ocb_chunks::{ChunkText, OcbChunks};
pub use ocb3::Ocb3;
pub use xts::Xts;

use crate::{BLOCK_BYTES, Nonce};
use aes::cipher::BlockSizeUser;
use units::Line;

/// A mode of encryption over one line.
///
/// # Contract
/// `open(n, seal(n, x)) == x` for every nonce and line. The file of a mode describes the parts of the nonce that it
/// uses.
pub trait LineCipher {
    /// Encrypts a line under a nonce.
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line;
    /// Decrypts a line under a nonce, without any check.
    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line;
    /// Returns the uses of the block cipher that sealing a line takes, or opening it. Uses for keys and for constants
    /// that stay the same do not count.
    fn uses(&self) -> Uses;
}

/// A block cipher, by its hardware engine: keys of all lengths use the same engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BlockCipher {
    /// The Advanced Encryption Standard: blocks of 128 bits.
    Aes,
    /// Triple-DES: blocks of 64 bits.
    Tdes,
}

impl BlockCipher {
    /// Returns the cipher with blocks of this length.
    pub(crate) fn of<C: BlockSizeUser>() -> BlockCipher {
        if C::block_size() == BLOCK_BYTES { BlockCipher::Aes } else { BlockCipher::Tdes }
    }
}

/// Block cipher operations that encrypt or decrypt a line in a mode, or that compute a tag, and their dependences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uses {
    /// Block cipher that is used.
    pub cipher: BlockCipher,
    /// Number of operations that need only the nonce: for tweaks, initial vectors, first offsets.
    pub of_nonce: u32,
    /// True if each operation in `of_nonce` waits for the one before it.
    pub nonce_chained: bool,
    /// Number of later operations: in a mode one for each block, for a code as many as it needs.
    pub of_line: u32,
    /// Order of the operations in `of_line`.
    pub order: BlockOrder,
}

/// Order in which the blocks of a line pass through the block cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockOrder {
    /// Before the text is available: the output is XOR-ed with the text, to seal and to open alike.
    Early,
    /// Each separately, when the text is available; to open, through the inverse cipher.
    Parallel,
    /// To seal, or for a tag, each after the one before it; to open, each separately through the inverse cipher.
    Chained,
    /// For a tag: forward, with the sum of the plaintext's blocks as input. To seal, side by side with the mode's
    /// blocks; to open, after the last of these has left the cipher.
    Summed,
}

impl Uses {
    /// Length of a block in bytes.
    pub fn block_bytes(&self) -> usize {
        match self.cipher {
            BlockCipher::Aes => BLOCK_BYTES,
            BlockCipher::Tdes => BLOCK_BYTES / 2,
        }
    }

    /// Number of all block operations.
    pub fn blocks(&self) -> u32 {
        self.of_nonce + self.of_line
    }
}
